"""Every address of the URL configuration, as everyone who may come there: a page without a rule fails."""

import functools
import inspect
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from http.cookies import SimpleCookie
from io import BytesIO
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from asgiref.testing import ApplicationCommunicator
from channels.routing import URLRouter
from django.core.cache import cache
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, resolve, reverse
from django.utils import timezone

from tests.arenas import come, make_arena
from tests.conftest import (
    PATIENCE,
    MakePairs,
    MakeQueue,
    MakeRun,
    MakeStudy,
    MakeVersion,
    MakeWriting,
    enter,
    start_dialogue,
)
from tests.knowledge.bases import make_base
from tests.project.study_roles import TO_SEE, TO_SEND
from tests.questions.conftest import TONE
from turnwise.accounts import colleagues, credentials
from turnwise.accounts.audit_actions import AUDIT_ACTIONS
from turnwise.accounts.audit_log import LEFT_OUT
from turnwise.accounts.models import ApiToken, User
from turnwise.audits.services import start
from turnwise.bots.hosting import resident_bots
from turnwise.bots.models import Bot
from turnwise.bots.services import register_bot, version_of
from turnwise.crowd.entry.sessions import COOKIE, signed
from turnwise.crowd.models import PanelAct, Participation, Redaction, StudyPanel, Waiting
from turnwise.crowd.places.assignment import admit, assign
from turnwise.dialogues.models import Picture, Turn
from turnwise.dialogues.pictures import address_for
from turnwise.experts import invitations
from turnwise.groups.models import Membership
from turnwise.groups.services import create_group
from turnwise.groups.services import invite as invite_to_group
from turnwise.judges import services as judges
from turnwise.judging.models import Anchor, AnchorPack, Item
from turnwise.judging.queue import services as judging
from turnwise.labels.models import Label
from turnwise.languages.services import add_language
from turnwise.project.api import api
from turnwise.project.rest.description import operation_at, operations, path_of
from turnwise.project.sockets import websocket_urlpatterns
from turnwise.publications.models import Publication
from turnwise.quality.decisions import decide
from turnwise.quality.models import Check, MessageTemplate, Qualification
from turnwise.questions.services import create_set
from turnwise.responses.models import Sweep
from turnwise.studies.asks import UNDER_EACH_REPLY, About, AskSpec, Moment
from turnwise.studies.models import Share, Study
from turnwise.studies.sharing.permissions import Permission, granted_by
from turnwise.studies.sharing.services import share_with_person
from turnwise.tasks.two_people.models import TwoPeoplePlan
from turnwise.tasks.writing import services as writing
from turnwise.transcripts import importing, relaying
from turnwise.webhooks import services as webhooks

PUBLIC, SIGNED_IN, OWNER, TOKEN, ADMIN = "public", "signed in", "owner", "token", "admin"

# Calls of the API about a study with a queue.
OF_QUEUES = (
    "items", "add_items", "remove_items", "one_item", "declare_gold", "undeclare_gold", "judging_plan",
    "change_judging_plan", "battery", "change_battery", "delete_battery", "judges", "start_judge",
    "one_judge", "cancel_judge", "continue_judge", "set_judge_budget", "judge_checks", "watch_judge",
    "remove_judge", "form_judge_panel", "draws_of_items", "draw_items", "undo_item_draw",
    "anchors_in_queue", "add_anchors", "delete_anchors", "make_anchor_pack",
    "invited_experts", "invite_expert", "change_expert", "replace_expert_link",
    "revoke_expert", "erase_expert", "adjudication", "declare_adjudication",
    "disputed_items", "disputed_item", "decide_about_item", "undo_item_decision", "gold_of_decisions",
)  # fmt: skip
TOKENS_ALONE = ("rex's token", "mallory's token")
WAYS_TO_CALL = ("get", "post", "put", "patch", "delete")
READ_BY_ALL = (
    "api-1:language_texts",
    "api-1:save_language_texts",
)  # as its page: everybody who signs in may read translations
STRANGERS = ("mallory", "mallory's token")

# Who may come to a page: by namespace, or where its pages differ by name. "owner" is whose study, set, run or
# bot it is, or an admin; everybody else hears that there is no such thing. So they do where only admins may.
RULES = {
    "healthz": PUBLIC,
    "readyz": PUBLIC,
    "metrics": PUBLIC,  # from this machine alone: tests/project/test_metrics.py
    "system": ADMIN,
    "accounts:sign_in": PUBLIC,
    "accounts:sign_out": PUBLIC,
    "accounts": SIGNED_IN,
    "accounts:join": PUBLIC,  # to whoever has a link
    "account_login": PUBLIC,
    "account_logout": PUBLIC,
    "account_inactive": PUBLIC,
    "account_change_password": SIGNED_IN,
    "account_reauthenticate": SIGNED_IN,
    "account_email": SIGNED_IN,
    "account_email_verification_sent": PUBLIC,
    "account_confirm_email": PUBLIC,  # to whoever has a link
    "account_reset_password": PUBLIC,
    "account_reset_password_done": PUBLIC,
    "account_reset_password_from_key": PUBLIC,  # to whoever has a link
    "account_reset_password_from_key_done": PUBLIC,
    "mfa_authenticate": PUBLIC,  # after the password
    "mfa_login_webauthn": PUBLIC,  # in its place
    "mfa_index": SIGNED_IN,
    "mfa_reauthenticate": SIGNED_IN,
    "mfa_activate_totp": SIGNED_IN,
    "mfa_deactivate_totp": SIGNED_IN,
    "mfa_view_recovery_codes": SIGNED_IN,
    "mfa_generate_recovery_codes": SIGNED_IN,
    "mfa_download_recovery_codes": SIGNED_IN,
    "mfa_list_webauthn": SIGNED_IN,
    "mfa_add_webauthn": SIGNED_IN,
    "mfa_reauthenticate_webauthn": SIGNED_IN,
    "mfa_remove_webauthn": SIGNED_IN,  # one's own: tests/accounts/test_second_factor.py
    "mfa_edit_webauthn": SIGNED_IN,
    "usersessions_list": SIGNED_IN,
    "socialaccount_connections": SIGNED_IN,
    "socialaccount_signup": PUBLIC,  # nobody is known there: tests/accounts/test_single_sign_on.py
    "socialaccount_login_cancelled": PUBLIC,
    "socialaccount_login_error": PUBLIC,
    "openid_connect_login": PUBLIC,
    "openid_connect_callback": PUBLIC,
    "saml_login": PUBLIC,
    "saml_acs": PUBLIC,
    "saml_finish_acs": PUBLIC,
    "saml_metadata": PUBLIC,
    "accounts:people": ADMIN,
    "accounts:invite": ADMIN,
    "accounts:take_back_invitation": ADMIN,
    "accounts:change_person": ADMIN,
    "accounts:audit_log": ADMIN,
    "groups": OWNER,  # or a member: tests/groups
    "groups:groups": SIGNED_IN,
    "groups:join": SIGNED_IN,  # by a personal link
    "api-1:elsewhere": PUBLIC,  # says that there is nothing
    "api-1:openapi-json": PUBLIC,
    "api-1:api-root": PUBLIC,
    "api-1": TOKEN,  # whose bot may be changed: tests/bots/test_api.py
    "manual": PUBLIC,  # the documentation, which anybody has
    "bots:bot": OWNER,
    "bots:try": OWNER,
    "bots:try_reply": OWNER,
    "bots:edit": OWNER,
    "bots:set_active": OWNER,
    "bots:watch": OWNER,
    "bots:budget": OWNER,
    "bots:prices": OWNER,
    "bots": SIGNED_IN,
    "operating": OWNER,  # or who may answer in its place
    "audits": OWNER,  # or who may use the bot, who may read them
    "contexts": SIGNED_IN,
    "contexts:import": OWNER,
    "knowledge": SIGNED_IN,
    "knowledge:base": OWNER,  # or for whom it is shared
    "knowledge:version": OWNER,
    "knowledge:entity": OWNER,
    "knowledge:article": OWNER,
    "knowledge:export": OWNER,
    "knowledge:import": OWNER,
    "knowledge:share": OWNER,
    "questions": SIGNED_IN,
    "questions:set": OWNER,  # or everybody, once it is shared
    "questions:questions": OWNER,
    "questions:as_worker": OWNER,
    "questions:export": OWNER,
    "questions:edit": OWNER,
    "questions:import_version": OWNER,
    "questions:share": OWNER,
    "studies:new": SIGNED_IN,
    "studies:outlook": SIGNED_IN,
    "studies:hand_over": ADMIN,
    "front_door": PUBLIC,
    "studies": OWNER,
    "trash": SIGNED_IN,
    "trash:put_back": OWNER,  # whose it was
    "crowd:participants": OWNER,
    "crowd:act": OWNER,
    "crowd:exclude": OWNER,
    "crowd:pause": OWNER,
    "crowd:go_on": OWNER,
    "crowd:prolific": OWNER,
    "crowd:prolific_steer": OWNER,
    "crowd:prolific_bonuses": OWNER,
    "crowd:prolific_settle": OWNER,
    "crowd:write": OWNER,
    "crowd:resume_study": OWNER,
    "crowd:tell": OWNER,
    "crowd:limits": OWNER,
    "crowd:end": OWNER,
    "crowd:panels": OWNER,
    "crowd:payments": OWNER,
    "crowd:payment_file": OWNER,
    "crowd:pay": OWNER,
    "crowd:pay_chosen": OWNER,
    "crowd:change_pay": OWNER,
    "crowd:invite": OWNER,
    "crowd:invitations_csv": OWNER,
    "crowd:preview": OWNER,
    "crowd:preview_page": OWNER,
    "crowd:participants_csv": OWNER,
    "crowd": PUBLIC,
    "questionnaires": PUBLIC,
    "questionnaires:preview": OWNER,
    "conversation": PUBLIC,
    "judging_task": PUBLIC,
    "judging_task:second_groups": OWNER,
    "judging_task:both_groups": OWNER,
    "judging_task:contexts": OWNER,
    "judging_task:context": OWNER,
    "judging_task:context_file": OWNER,
    "judging_task:both_groups_csv": OWNER,
    "arena": PUBLIC,
    "pairs": PUBLIC,
    "pairs:add": OWNER,
    "two_people": PUBLIC,
    "writing": PUBLIC,
    "responses": SIGNED_IN,
    "responses:cancel": OWNER,
    "responses:retry": OWNER,
    "labels": OWNER,
    "dialogues:upload": PUBLIC,  # by a participant's cookie
    "dialogues:picture": PUBLIC,  # by a signed address and a participant's cookie
    "dialogues:staff_picture": OWNER,
    "conversation:preview_upload": OWNER,
    "conversation:preview_picture": OWNER,
    "transcripts": OWNER,
    "acceptance": OWNER,
    "experts": OWNER,  # or an invited adjudicator: tests/experts
    "experts:enter": PUBLIC,  # by a personal link
    "judges": OWNER,
    "judging": OWNER,
    "judging:packs": SIGNED_IN,
    "judging:bot": SIGNED_IN,  # shows what is in one's own studies
    "privacy": OWNER,
    "privacy:find": SIGNED_IN,  # finds people of one's own studies alone
    "privacy:mine": PUBLIC,  # by a signed link
    "privacy:file": PUBLIC,
    "privacy:withdraw": PUBLIC,
    "quality": OWNER,
    "quality:qualify": PUBLIC,
    "quality:qualifications": SIGNED_IN,
    "quality:new": SIGNED_IN,
    "quality:messages": SIGNED_IN,
    "workspace": SIGNED_IN,
    "workspace:overview": OWNER,
    "reports": OWNER,
    "languages": SIGNED_IN,
    "languages:settings": OWNER,
    "languages:upload": OWNER,  # or their translators
    "webhooks": OWNER,
    "webhooks:webhooks": SIGNED_IN,
    "webhooks:mail_choice": SIGNED_IN,
    "webhooks:end_mails": PUBLIC,  # by a signed link
    "monitoring": OWNER,
    "exports": OWNER,
    "comparisons": SIGNED_IN,
    "comparisons:bot": OWNER,
    "comparisons:bot_chart": OWNER,
    "comparisons:bot_perplexity": OWNER,
    "comparisons:sweeps": OWNER,  # or who may use the bot
    "comparisons:sweep": OWNER,
    "comparisons:sweep_chart": OWNER,
    "comparisons:sweep_csv": OWNER,
    "comparisons:sweep_stamp": OWNER,
    "comparisons:stop_sweep": OWNER,
    "comparisons:continue_sweep": OWNER,
    "comparisons:judge_sweep": OWNER,
    "publications": PUBLIC,  # what an owner has published: tests/publications
    "publications:publish": OWNER,  # whoever may share the study
    "publications:change_listing": OWNER,
    "publications:revoke": OWNER,
    "rehearsals": OWNER,
    "self_play": OWNER,
}

# What they name does not exist yet in the study of this test: a report, a version, a rater, a conversation
# that is finished, a text that was redacted, a picture of a preview.
ABSENT = {
    "privacy:undo",
    "studies:accept_transfer",  # only by the person to whom it is offered: tests/studies/test_transfers.py
    "studies:decline_transfer",
    "conversation:preview_picture",
    "acceptance:decide",
    "self_play:stamp",
    "self_play:json_lines",
    "self_play:measures_csv",
    "judging:exclude_rater",
    "reports:chart_svg",
    "reports:chart_pdf",
    "comparisons:bot_perplexity",
    "comparisons:bot_chart",
    "comparisons:sweep_chart",
}


@dataclass
class Page:
    name: str
    pattern: URLPattern

    @property
    def rule(self) -> str | None:
        return RULES.get(self.name) or RULES.get(self.name.partition(":")[0])


def pages_of(resolver: URLResolver, namespace: str = "") -> Iterator[Page]:
    for each in resolver.url_patterns:
        if isinstance(each, URLResolver):
            yield from pages_of(each, each.namespace or namespace)
        else:
            name = f"{namespace}:{each.name}" if namespace else str(each.name)
            yield Page(name, each)


# Without a name: redirects of the admin to its own pages.
PAGES = [page for page in pages_of(get_resolver()) if not page.name.endswith("None")]
OURS = [page for page in PAGES if not page.name.startswith("admin:")]


def test_every_page_has_a_rule() -> None:
    without = [page.name for page in OURS if page.rule is None]

    assert not without, f"Say in RULES who may come to {without}."


def test_no_page_of_a_study_is_for_everybody_because_its_neighbours_are() -> None:
    """Pages of workers and of researchers share namespaces; the rule of the workers' must not cover both."""
    open_to_all = [page.name for page in OURS if page.rule == PUBLIC and is_of_study(page)]

    assert open_to_all == []


def methods_of(view: Any) -> set[str]:
    """What the view answers, where a decorator says so; else it may be anything."""
    while view is not None:
        closure = inspect.getclosurevars(view).nonlocals if inspect.isfunction(view) else {}
        if methods := closure.get("request_method_list"):
            return set(methods)
        view = getattr(view, "__wrapped__", None)
    return {"GET", "POST"}


def test_the_audit_trail_has_words_for_whatever_may_be_done() -> None:
    done = [
        page.name
        for page in OURS
        if page.rule in (SIGNED_IN, OWNER, ADMIN) and "POST" in methods_of(page.pattern.callback)
    ]

    assert len(done) > 80
    assert not {*done} - {*AUDIT_ACTIONS} - LEFT_OUT, (
        "Describe these actions in accounts/audit_actions.py for the audit log."
    )


@pytest.fixture
def things(
    make_study: MakeStudy,
    make_queue: MakeQueue,
    make_pairs: MakePairs,
    make_version: MakeVersion,
    make_run: MakeRun,
    rex: User,
    ada: User,
) -> dict[str, dict[str, Any]]:
    """By namespace, or name of the page: what of Rex its address may name."""
    study = make_study(title="Of Rex alone")
    Bot.objects.update(owner=rex, open_to_all=False)
    bot = Bot.objects.get()
    wizard = register_bot(name="wizard", title="Wizard", adapter="operator", owner=rex)
    dialogue = start_dialogue(study)
    version = make_version(2)
    draft = importing.upload(study, BytesIO(b"A: Hi\nB: Yes\n"), name="x.txt", by=rex)
    relay = relaying.begin(study, system="Elsewhere", by=rex)
    gone = relaying.discard(relaying.begin(study, system="Gone", by=rex).pk, by=rex)
    queue = make_queue(2)
    item = Item.objects.filter(study=queue).first()
    assert item
    assert item.response
    second_group, compared = make_queue(1).pk, make_pairs()
    rehearsal = make_study({"again": 1}, title="Rehearsal")
    Study.objects.filter(pk=rehearsal.pk).update(rehearsal_of=study)
    about_people = AskSpec("demographics", About.PERSON, Moment.BEFORE_WORK)
    asking = make_study({"asking": 1}, asks=[UNDER_EACH_REPLY, about_people])
    ApiToken.objects.create(owner=rex, title="His", digest="x")
    taking_part = dialogue.participation
    assert taking_part
    of_study = {
        "pk": study.pk,
        "participation": taking_part.pk,
        "name": bot.name,
        "public_id": dialogue.public_id,
    }
    run = make_run(version, "Alpha")
    known = make_base(owner=rex)
    picture = Picture.objects.create(
        seat=dialogue.seats.get(worker__isnull=False), sha256="0" * 64, media_type="image/png", width=1,
        height=1, content=b"x", uploaded_at=timezone.now(),
    )  # fmt: skip
    audit = start(bot, by=rex)
    judge_run = judges.start(queue.asks.get(number=0), bot, draws=1, by=rex)
    pack = AnchorPack.objects.create(
        owner=rex, title="His", number=1, question_set="ssa", common_variance={}, made_at=timezone.now()
    )
    known_value = {"ssa": {"value": 0.5, "error": 0.1, "raters": 2}}
    old = make_run(version, "Old").responses.first()
    anchor = Anchor.objects.create(pack=pack, number=1, response=old, known=known_value, language="en")
    Item.objects.create(
        study=queue, ask=item.ask, response=old, anchor=anchor, language="en", key=UUID(int=7)
    )
    expert, secret = invitations.invite(queue, "Judy", is_adjudicator=True)
    sweep = Sweep.objects.create(bot=bot, context_version=version, owner=rex, seed=1)
    asked = create_set(TONE, owner=rex)
    kept = decide(taking_part, "keep", reason="", by=rex)
    StudyPanel.objects.create(study=study, panel="prolific", token="TURNWISE_PROLIFIC_NOT_SET")
    act = PanelAct.objects.create(
        study=study, participation=taking_part, kind="approve", state="failed", next_at=timezone.now()
    )
    known_answers = [{"text": "Yes?", "choices": ["Yes", "No"], "right": [0], "why": ""}]
    qualification = Qualification.objects.create(owner=rex, title="His", questions=known_answers, pass_mark=1)
    language = add_language(
        rex, code="sw", name="Swahili", local_name="Kiswahili", plural_forms="nplurals=2; plural=(n != 1);"
    )
    webhook = webhooks.create(
        rex, address="https://lab.example.org/", events=["study.filled"], study=None, site="http://testserver"
    )
    delivery = webhooks.send_test(webhook)
    Publication.objects.create(study=study, slug="of-rex")
    group = create_group("Lab of Rex", by=rex)
    invitation, group_secret = invite_to_group(group, "Nina", is_admin=False, by=rex)
    guest = User.objects.create_user("guest")
    Membership.objects.create(group=group, person=guest)
    shared = share_with_person(study, "guest", "reader")
    return {
        "": of_study | {"code": study.code, "ending": "csv"},
        "accounts": {"pk": ApiToken.objects.get(title="His").pk},
        "accounts:change_person": {"pk": rex.pk},
        "groups": {
            "pk": group.pk,
            "invitation": invitation.pk,
            "person": guest.pk,
            "secret": group_secret,
        },
        "studies:change_share": {"share": shared.pk},
        "studies:hand_over": {"person": rex.pk},
        "accounts:join": {"secret": colleagues.invite("Nina", is_admin=False, by=ada)},
        "account_confirm_email": {"key": "none"},
        "account_reset_password_from_key": {"uidb36": "1", "key": "none"},
        "openid_connect_login": {"provider_id": "sso"},
        "openid_connect_callback": {"provider_id": "sso"},
        "saml_login": {"organization_slug": "sso"},
        "saml_acs": {"organization_slug": "sso"},
        "saml_finish_acs": {"organization_slug": "sso"},
        "saml_metadata": {"organization_slug": "sso"},
        "manual:picture": {"name": "chat.png"},
        "manual": {"name": "pairs"},
        "front_door:example": {"key": "talk"},
        "bots:new": {"adapter": "scripted"},
        "operating": {"name": wizard.name},
        "questions": {"key": asked.key, "name": asked.own_set.name},
        "api-1": {
            "key": asked.key,
            "name": bot.name,
            "pk": audit.pk,
            "person": rex.username,
            "sweep": sweep.pk,
            "worker": taking_part.pseudonym,
            "table": "turns",
            "webhook": delivery.webhook_id,
            "delivery": delivery.pk,
            "context_set": version.context_set_id,
            "number": 1,
            "version": version_of(bot, {"adapter": "scripted"}).pk,
            "run": run.pk,
            "item": item.key,
            "judge": judge_run.pk,
            "pack": pack.pk,
            "decision": kept.pk,
            "act": act.pk,
            "upload": draft.pk,
            "expert": expert.pk,
            "base": known.base_id,
            "language": language.pk,
            "dialogue": UUID(int=1),
            "qualification": qualification.pk,
            "group": group.pk,
            "invitation": invitation.pk,
            "check": Check.objects.create(
                study=study, question_set="ssa", question="sensible", right=True
            ).pk,
            "message": MessageTemplate.objects.create(owner=rex, title="His", text="His").pk,
            "redacted": Redaction.objects.create(
                study=study, text="Rex", kind="NAME", at=timezone.now(), by=rex
            ).pk,
        },
        **{f"api-1:{call}": {"code": queue.code} for call in OF_QUEUES},
        "audits": {"pk": audit.pk, "name": bot.name},
        "knowledge": {"pk": known.base_id, "number": 1, "entity": 1, "article": 1, "token": "none"},
        "contexts": {"pk": version.context_set_id, "number": 1, "token": "none", "ending": "csv"},
        "responses": {"pk": run.pk, "token": "none", "ending": "csv"},
        "privacy": {"token": taking_part.data_link.split("/")[-2]},
        "transcripts:import": {"pk": draft.pk},
        "transcripts:import_format": {"pk": draft.pk},
        "transcripts:import_columns": {"pk": draft.pk},
        "transcripts:import_stamp": {"pk": draft.pk},
        "transcripts:import_confirm": {"pk": draft.pk},
        "transcripts:import_undo": {"pk": draft.pk},
        "transcripts:relay": {"pk": relay.pk},
        "trash": {"pk": gone.pk},
        "languages": {"pk": language.pk, "ending": "csv"},
        "webhooks": {"pk": delivery.webhook_id, "delivery": delivery.pk},
        "webhooks:end_mails": {"token": "none"},
        "api-1:undo_deletion": {"pk": gone.pk},
        # Without bots: greeting one takes the test's connection along.
        "api-1:greet_bots": {"code": queue.code},
        "api-1:opening_checks": {"code": queue.code},
        "api-1:open_for_workers": {"code": queue.code},
        "transcripts:relay_turn": {"pk": relay.pk},
        "transcripts:relay_correct": {"pk": relay.pk},
        "transcripts:relay_finish": {"pk": relay.pk},
        "transcripts:relay_discard": {"pk": relay.pk},
        "experts": {"pk": queue.pk, "key": item.key, "expert": expert.pk, "secret": secret},
        "judges": {"pk": queue.pk, "run_id": judge_run.pk, "ending": "csv", "token": "none", "number": 0},
        "judging": {"pk": queue.pk, "key": item.key, "name": bot.name, "pack": pack.pk},
        "judging_task:both_groups": {"pk": queue.pk, "other": second_group},
        "judging_task:both_groups_csv": {"pk": queue.pk, "other": second_group},
        "dialogues": {"pk": picture.pk, "token": address_for(picture.pk, taking_part.pk).split("/")[-2]},
        "quality:qualification": {"pk": qualification.pk},
        "quality:delete": {"pk": qualification.pk},
        "quality:undo": {"decision": kept.pk},
        "pairs:add": {"pk": compared.pk},
        "exports:preferences.jsonl": {"pk": compared.pk},
        "judging_task:contexts": {"pk": queue.pk},
        "judging_task:context": {"pk": queue.pk, "context": item.response.context_id},
        "judging_task:context_file": {"pk": queue.pk, "context": item.response.context_id, "ending": "csv"},
        "reports:chart_svg": {"pk": study.pk, "name": "scores"},
        "reports:chart_pdf": {"pk": study.pk, "name": "scores"},
        "comparisons:compare_chart": {"page": "studies", "name": "scores", "ending": "svg"},
        **{
            f"comparisons:{page}": {"pk": sweep.pk}
            for page in ("sweep", "sweep_chart", "sweep_csv", "sweep_stamp", "stop_sweep")
        },
        **{f"comparisons:{page}": {"pk": sweep.pk} for page in ("continue_sweep", "judge_sweep")},
        "comparisons": {"name": bot.name, "pk": 0, "chart": "course", "ending": "svg"},
        "questionnaires:preview": {"pk": asking.pk, "moment": "before"},
        "studies:plan_file": {"kind": "json"},
        "publications": {"slug": "of-rex", "number": 1},
        "rehearsals": {"pk": rehearsal.pk},
        "rehearsals:rehearsal": {"pk": study.pk},
        "crowd:prolific_settle": {"act": act.pk},
        "crowd:preview_page": {"page": "consent"},
        "conversation:preview_picture": {"key": "0" * 64},
        "quality:remove_message": {
            "pk": MessageTemplate.objects.create(owner=rex, title="Thanks", text="Thanks").pk
        },
        "quality:panel_file": {"name": "prolific-approve"},
        "api-1:study_file": {"name": "turns.csv"},
        "api-1:compare_second_group": {
            "code": queue.code,
            "other": Study.objects.get(pk=second_group).code,
        },
    }


def address(page: Page, things: dict[str, dict[str, Any]]) -> str:
    """An address of the page, naming things of Rex."""
    known = things[""] | things.get(page.name.partition(":")[0], {}) | things.get(page.name, {})
    wanted = page.pattern.pattern.regex.groupindex
    return reverse(page.name, kwargs={name: known[name] for name in wanted})


def cookies_of(client: Client) -> str:
    return client.cookies.output(header="", sep=";")


def statuses(
    client: Client, cookies: str, path: str, *, methods: Sequence[str] = ("get", "post")
) -> dict[str, tuple[int, str]]:
    """By method: what is answered and where it leads; what is done on the way is undone."""
    found = {}
    for method in methods:
        cache.clear()  # limits on attempts
        client.cookies = SimpleCookie(cookies)  # the page to sign out is among them
        with transaction.atomic():
            answer = getattr(client, method)(path)
            if answer.streaming:
                answer.getvalue()  # to the end: closed earlier it would take the test's connection along
            transaction.set_rollback(True)
        found[method] = (answer.status_code, answer.headers.get("Location", ""))
    return found


def answers_by_role(
    clients: dict[str, Client], kept: dict[str, str], path: str, methods: Sequence[str]
) -> dict[str, dict[str, tuple[int, str]]]:
    """Answers by role and method.

    If nobody and the owner are both answered 405, the page has no such method, and the others are not asked.
    """
    seen = {who: statuses(clients[who], kept[who], path, methods=methods) for who in ("nobody", "rex")}
    known = [each for each in methods if any(answers[each][0] != 405 for answers in seen.values())]
    others = [who for who in clients if who not in seen]
    return seen | {who: statuses(clients[who], kept[who], path, methods=known) for who in others}


def leads_to_sign_in(answer: tuple[int, str]) -> bool:
    return answer[0] == 302 and answer[1].startswith("/sign-in/")


@pytest.mark.timeout(1500)  # thousands of requests, some of which start a process
@pytest.mark.django_db
def test_every_page_keeps_its_rule(
    things: dict[str, dict[str, Any]], rex: User, mallory: User, ada: User
) -> None:
    worker = Client()
    worker.cookies[COOKIE] = signed(Participation.objects.latest("pk"))
    clients = {"nobody": Client(), "worker": worker}
    for user in (rex, mallory, ada):
        clients[user.username] = Client(
            headers={"Authorization": f"Bearer {credentials.create_token(user, 'walk')}"},
            raise_request_exception=False,
        )
        clients[user.username].force_login(user)
    for user in (rex, mallory):
        clients[f"{user.username}'s token"] = Client(
            headers={"Authorization": f"Bearer {credentials.create_token(user, 'alone')}"},
            raise_request_exception=False,
        )

    kept = {who: cookies_of(client) for who, client in clients.items()}
    broken = []
    answered: dict[tuple[str, bool], dict[str, dict[str, tuple[int, str]]]] = {}
    for page in OURS:
        path = address(page, things)
        place = path, page.rule == TOKEN  # the operations of an API address are pages of their own
        if place not in answered:
            answered[place] = answers_by_role(clients, kept, path, methods_at(page, path))
        seen = answered[place]
        broken += [f"{page.name} {who}: {said}" for who, said in _breaches(page, seen)]
    resident_bots.close()

    assert not broken, "\n".join(broken)


# Without a reader who gets no bundle: a reviewer gets none, either.
ROLES: dict[str, dict[str, Any]] = {
    "reader with the bundle": {"role": "reader", "may_bundle": True},
    "reviewer": {"role": "reviewer"},
    "editor": {"role": "editor"},
    "editor with payments": {"role": "editor", "may_pay": True},
}
# Of studies, though their addresses name something else.
WITHIN_STUDIES = ("labels", "dialogues:staff_picture", "transcripts")


def is_of_study(page: Page) -> bool:
    """True if the page or call is about one study."""
    pattern = page.pattern.pattern.regex.pattern
    within = r"^studies/(?P<pk>" in pattern.replace("\\", "") or "studies/(?P<code>" in pattern
    return page.name.startswith(WITHIN_STUDIES) or within


@pytest.mark.timeout(1500)  # a thousand requests
@pytest.mark.django_db
def test_every_page_and_call_of_a_study_as_every_role(
    things: dict[str, dict[str, Any]], rex: User, mallory: User
) -> None:
    """Each person is refused what their role lacks, and nothing else that its owner may do."""
    clients = {}
    for user in (rex, mallory):
        clients[user.username] = Client(
            headers={"Authorization": f"Bearer {credentials.create_token(user, 'walk')}"},
            raise_request_exception=False,
        )
        clients[user.username].force_login(user)
    kept = {who: cookies_of(client) for who, client in clients.items()}
    of_study = [page for page in OURS if page.rule in (OWNER, TOKEN) and is_of_study(page)]
    places = {(address(page, things), page.rule): page for page in of_study}
    of_owner = {
        place: _answered(clients["rex"], kept["rex"], place[0], methods_at(page, place[0]))
        for place, page in places.items()
    }

    wrong, told = [], 0
    for role, given in ROLES.items():
        Share.objects.all().delete()
        Share.objects.bulk_create(
            Share(study=study, person=mallory, **given) for study in Study.objects.filter(rehearsal_of=None)
        )
        granted = granted_by(Share.objects.all()[:1])
        for place, page in places.items():
            needed = {method: needed_at(page, place[0], method) for method in of_owner[place]}
            asked = [method for method in needed if role in at_the_boundary(needed[method])]
            for method, status in statuses(
                clients["mallory"], kept["mallory"], place[0], methods=asked
            ).items():
                may = status[0] not in (403, 404)
                told += 1
                if may != (needed[method] in granted):
                    name = call_at(page, place[0], method)
                    wrong.append(f"{name} {method} {role}: {status[0]}, needs {needed[method].value}")
    resident_bots.close()

    assert told > 400
    assert not wrong, "\n".join(wrong)


def needed_at(page: Page, path: str, method: str) -> Permission:
    """Permission that the page, or the call behind the method of an API address, needs."""
    return (TO_SEE if method == "get" else TO_SEND).get(call_at(page, path, method), Permission.CHANGE)


@functools.cache
def at_the_boundary(needed: Permission) -> Sequence[str]:
    """The least role with a permission and the greatest without it; what others may follows."""
    have = [role for role, given in ROLES.items() if needed in granted_by([Share(**given)])]
    lack = [role for role in ROLES if role not in have]
    return (*have[:1], *lack[-1:])


def methods_at(page: Page, path: str) -> Sequence[str]:
    """Methods to ask at an address: those that the API describes, or both of a page's."""
    if page.rule != TOKEN:
        return ("get", "post")
    route = path_of(resolve(path).route)
    return [way for way in WAYS_TO_CALL if (route, way.upper()) in operations(api)] or WAYS_TO_CALL


def _answered(client: Client, cookies: str, path: str, methods: Sequence[str]) -> list[str]:
    """Methods at this address by whose answer the owner is told from a stranger.

    A call without a body, or with none that is JSON, is refused before anybody asks who sends it.
    """
    silent = {403, 404, 405} | ({400, 422} if path.startswith("/api/") else set())
    found = statuses(client, cookies, path, methods=methods)
    return [method for method, (status, _where) in found.items() if status not in silent]


def call_at(page: Page, path: str, method: str) -> str:
    """Name of the page, or of the call behind the method of an API address."""
    if page.rule != TOKEN:
        return page.name
    operation = operation_at(api, resolve(path).route, method.upper())
    return f"api-1:{operation.view_func.__name__}"


def _breaches(page: Page, seen: dict[str, dict[str, tuple[int, str]]]) -> Iterator[tuple[str, str]]:
    rule = page.rule
    for who, answers in seen.items():
        for method, answer in answers.items():
            if answer[0] >= 500 and answer[0] != 503:
                yield who, f"{method} {answer}"
            if rule != PUBLIC and who in ("nobody", "worker") and not _is_turned_away(answer):
                yield who, f"{method} {answer}, without signing in"
            if said := _wrong_with_token(page, who, answer):
                yield who, f"{method} {answer}, {said}"
            if rule == ADMIN and who in ("rex", "mallory") and answer[0] not in (404, 405):
                yield who, f"{method} {answer}, though it is for admins"
            if rule == OWNER and who == "mallory" and answer[0] not in (403, 404, 405):
                yield who, f"{method} {answer}, though it is another's"
    for who in ("rex", "ada") if rule == OWNER and page.name not in ABSENT else ():
        # Else the page refuses everybody, and that others are refused shows nothing.
        if all(status in (403, 404, 405) for status, _ in seen[who].values()):
            yield who, f"{seen[who]}, though it is theirs to see"


def _wrong_with_token(page: Page, who: str, answer: tuple[int, str]) -> str:
    """What is wrong with this answer to somebody with a token; empty: nothing."""
    if page.rule == TOKEN:
        if who in TOKENS_ALONE and (leads_to_sign_in(answer) or answer[0] == 401):
            return "though a token is all that the API asks for"
        names_what_is_rex_s = bool(page.pattern.pattern.regex.groupindex) and page.name not in READ_BY_ALL
        return (
            "though it is another's" if who in STRANGERS and names_what_is_rex_s and answer[0] < 400 else ""
        )
    may_open = page.rule == PUBLIC or who not in TOKENS_ALONE or _is_turned_away(answer)
    return "" if may_open else "with a token and no session"


def _is_turned_away(answer: tuple[int, str]) -> bool:
    return leads_to_sign_in(answer) or answer[0] in (401, 405)


@pytest.mark.django_db
def test_no_page_of_the_admin_opens_to_anybody_but_admins(things: dict[str, Any], rex: User) -> None:
    researcher = Client()
    researcher.force_login(rex)
    opened = []
    for page in PAGES:
        if not page.name.startswith("admin:") or page.name in ("admin:login", "admin:logout"):
            continue
        path = _filled(page)
        for client in (Client(), researcher):
            for method, (status, where) in statuses(client, cookies_of(client), path).items():
                elsewhere = where.startswith(("/admin/", "/sign-in/", "/studies/"))
                if status not in (403, 404) and not elsewhere:
                    opened.append(f"{page.name} {method}: {status} {where}")
    assert not opened, "\n".join(opened)


def _filled(page: Page) -> str:
    names = page.pattern.pattern.converters
    values = {name: "1" if name != "app_label" else "bots" for name in names}
    known = page.pattern.pattern.regex.groupindex
    return reverse(page.name, kwargs={name: values.get(name, "bots") for name in known})


# --- frames ---------------------------------------------------------------------------------------


def _sockets() -> list[Any]:
    return [each for each in websocket_urlpatterns if hasattr(each.callback, "consumer_class")]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "who", ["nobody", "another worker", "another researcher", "the study's owner", "an admin"]
)
async def test_no_frame_of_any_socket_does_anything_for_whom_it_is_not(
    who: str,
    rex: User,
    mallory: User,
    ada: User,
    study: Study,
    make_queue: MakeQueue,
    make_study: MakeStudy,
    make_writing: MakeWriting,
) -> None:
    make = sync_to_async
    writer = await make(lambda: writing.begin(enter(make_writing()).pk))()
    dialogue = await make(start_dialogue)(study)
    queue = await make(make_queue)(2)
    rater = await make(enter)(queue)
    await make(lambda: admit(rater.pk))()
    batch = await make(lambda: judging.begin(rater, language="en"))()
    other = await make(lambda: signed(assign(enter(study).pk).participation))()
    lobby = await make(make_study)({"beside": 1})
    await Study.objects.filter(pk=lobby.pk).aupdate(task="two_people")
    await TwoPeoplePlan.objects.acreate(study=lobby)
    ids = {
        "dialogues": dialogue.public_id,
        "batches": batch.public_id,
        "lobby": lobby.code,
        "arena": (await make(lambda: come(make_arena(rex)).study)()).code,
        "writing": await make(lambda: writer.participation.study.code)(),
        "operating": "wizard",
        "previews": study.pk,
    }
    rose = await make(User.objects.create_user)("rose")
    await make(register_bot)(name="wizard", title="Wizard", adapter="operator", owner=rose)
    not_yours = dict.fromkeys(ids, "not_yours") | dict.fromkeys(("arena", "writing"), "unknown_dialogue")
    not_yours |= {"operating": "no_session", "previews": "no_session"}
    staff = {"another researcher": mallory, "the study's owner": rex, "an admin": ada}
    cookies = f"{COOKIE}={other}" if who == "another worker" else ""
    if who in staff:
        client = Client()
        await make(client.force_login)(staff[who])
        cookies = cookies_of(client).strip()

    before = await Turn.objects.acount(), await Label.objects.acount()
    assert len(_sockets()) == len(ids)
    for socket in _sockets():
        kind = str(socket.pattern).split("/")[1]
        if (kind, who) == ("operating", "an admin"):
            continue  # may answer in any bot's place
        if kind == "previews" and who in ("the study's owner", "an admin"):
            continue  # they may, and nothing is stored: tests/crowd/test_preview.py
        headers = [(b"cookie", cookies.encode())] if cookies else []
        scope = {
            "type": "websocket",
            "path": f"/ws/{kind}/{ids[kind]}/",
            "headers": headers,
            "subprotocols": [],
        }
        tab = ApplicationCommunicator(URLRouter(websocket_urlpatterns), scope)
        await tab.send_input({"type": "websocket.connect"})
        assert (await tab.receive_output(timeout=PATIENCE))["type"] == "websocket.accept"
        refused = json.loads((await tab.receive_output(timeout=PATIENCE))["text"])
        expected = not_yours[kind] if who == "another worker" else "no_session"
        if kind == "operating" and who in staff:
            expected = "not_operable"
        if kind == "previews" and who in staff:
            expected = "unknown_dialogue"
        assert refused["reason"] == expected
        assert (await tab.receive_output(timeout=PATIENCE))["type"] == "websocket.close"
        for name in socket.callback.consumer_class().frame_handlers():
            await tab.send_input({"type": "websocket.receive", "text": json.dumps({"type": name})})
        assert await tab.receive_nothing(0.2)
        await tab.send_input({"type": "websocket.disconnect", "code": 1005})
        await tab.wait(timeout=PATIENCE)

    assert (await Turn.objects.acount(), await Label.objects.acount()) == before
    assert not await Waiting.objects.aexists()
