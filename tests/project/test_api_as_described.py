"""Every operation of the API, called as /api/openapi.json says and otherwise, answers as that describes."""

import re
from collections.abc import Iterator
from io import BytesIO
from itertools import cycle
from typing import Any
from uuid import UUID

import pytest
import schemathesis
from django.utils import timezone
from hypothesis import HealthCheck, Phase, given, seed
from hypothesis import settings as hypothesis_settings
from pytest_django.fixtures import Settings
from schemathesis import APIOperation, Case, GenerationMode, checks
from schemathesis.specs.openapi import checks as openapi

from tests.conftest import MakeContexts, MakePairs, MakeQueue, MakeStudy, enter
from tests.knowledge.bases import make_base
from tests.planted import talked
from tests.questions.conftest import TONE
from turnwise.accounts import credentials
from turnwise.accounts.models import User
from turnwise.audits import services as audits
from turnwise.bots.hosting import resident_bots
from turnwise.bots.models import Bot
from turnwise.crowd.models import PanelAct, Redaction, StudyPanel
from turnwise.experts.invitations import invite as invite_expert
from turnwise.exports import bundle_jobs
from turnwise.groups.models import Membership
from turnwise.groups.services import create_group
from turnwise.groups.services import invite as invite_to_group
from turnwise.judges import services as judges
from turnwise.judging.models import Anchor, AnchorPack, Battery, Item
from turnwise.languages.services import add_language
from turnwise.project.wsgi import application
from turnwise.publications.models import Publication
from turnwise.quality.decisions import decide
from turnwise.quality.models import Check, MessageTemplate, Qualification
from turnwise.questions.services import create_set
from turnwise.responses.models import Response, ResponseRun, Sweep
from turnwise.studies.models import Bundle, Study
from turnwise.studies.sharing import services
from turnwise.transcripts import importing, relaying
from turnwise.webhooks import services as webhooks
from turnwise.webhooks.models import Webhook

pytestmark = pytest.mark.django_db(transaction=True)
Operation = APIOperation[Any, Any, Any, Any]
OF_QUEUE = re.compile(
    r"/api/studies/{code}/(items|judges|battery|queue/plan|queue/draws|queue/anchors|experts|adjudication"
    r"|second-groups)"
)
PLURALS = {"plural_forms": "nplurals=2; plural=(n != 1);"}
CALLS = 10  # of each operation
CHECKS = [
    checks.not_a_server_error,
    openapi.status_code_conformance,
    openapi.content_type_conformance,
    openapi.response_schema_conformance,
]


def make_webhook(owner: User) -> Webhook:
    return webhooks.create(
        owner, address="https://lab.example.org/", events=["study.filled"], study=None, site="http://t"
    )


def make_test(owner: User) -> Qualification:
    questions = [{"text": "Yes?", "choices": ["Yes", "No"], "right": [0], "why": ""}]
    return Qualification.objects.create(owner=owner, title="Test", questions=questions, pass_mark=1)


@pytest.fixture
def named(
    make_study: MakeStudy,
    make_pairs: MakePairs,
    make_queue: MakeQueue,
    make_contexts: MakeContexts,
    rex: User,
    mallory: User,
    ada: User,
) -> Iterator[dict[str, str]]:
    """By operation's parameter, or by how its path ends or begins, what there is of Rex."""
    study = make_study()
    Bot.objects.update(owner=rex)
    asked = create_set(TONE, owner=rex)
    bot = study.study_bots.get().bot
    audit = audits.start(bot, by=rex)
    sweep = Sweep.objects.create(bot=bot, context_version=make_contexts(1), owner=rex, seed=1)
    with_queue = make_pairs().code
    judged = make_queue(3)
    with_battery = make_queue(3)
    Battery.objects.create(plan=with_battery.judging, targets=["Alpha"])
    version = make_contexts(2)
    run = ResponseRun.objects.filter(system="Alpha", context_version__size=3)[0]
    judging = judges.start(judged.asks.get(number=0), bot, draws=1, by=rex)
    taking_part = enter(study)
    StudyPanel.objects.create(study=study, panel="prolific", token="TURNWISE_PROLIFIC_X", their_study="t")
    act = PanelAct.objects.create(
        study=study, participation=taking_part, kind="approve", state="failed", next_at=timezone.now()
    )
    # Of others: an upload of Rex discards his earlier one.
    upload, second = (
        importing.upload(study, BytesIO(b"Human: Hi\nEliza: Hello\n"), name="a.txt", by=person)
        for person in (mallory, ada)
    )
    kept = decide(taking_part, "keep", reason="", by=rex)
    rehearsed = make_study({"rehearsed": 1})
    copy = make_study({"simulated": 1}, title="Rehearsal")
    Study.objects.filter(pk=copy.pk).update(rehearsal_of=rehearsed)
    bundle = bundle_jobs.request_bundle(study, by=rex)[0]
    Bundle.objects.filter(pk=bundle.pk).update(made_at=timezone.now(), begun_at=timezone.now())
    # In a study of its own: an erasure in the other one purges what was deleted there.
    relayed = relaying.begin(make_study({"relayed": 1}), system="Gone", by=rex)
    deleted = relaying.discard(relayed.pk, by=rex)
    delivery = webhooks.send_test(make_webhook(rex))
    group = create_group("Lab", by=rex)
    Membership.objects.create(group=group, person=mallory)
    invitation, _secret = invite_to_group(group, "Nina", is_admin=False, by=rex)
    pack = AnchorPack.objects.create(
        owner=rex, title="His", number=1, question_set="ssa", common_variance={}, made_at=timezone.now()
    )
    response = Response.objects.exclude(items__study=judged)[0]
    known_value = {"ssa": {"value": 0.5, "error": 0.1, "raters": 2}}
    anchor = Anchor.objects.create(pack=pack, number=1, response=response, known=known_value, language="en")
    Item.objects.create(
        study=judged, ask=judged.asks.get(number=0), response=response, anchor=anchor, language="en",
        key=UUID(int=7),
    )  # fmt: skip
    Publication.objects.create(study=study, slug="of-rex")
    check = Check.objects.create(study=study, question_set="ssa", question="sensible", right=True)
    offered = [make_study({f"offered-{n}": 1}, title=f"Offered {n}") for n in range(2)]
    Study.objects.filter(pk__in=[each.pk for each in offered]).update(owner=mallory)
    for each in offered:
        services.offer(each, rex.username, keeps_editing=True, by=mallory)
    yield {
        "pk": str(audit.pk),
        "sweep": str(sweep.pk),
        "code": study.code,
        "/pairs": with_queue,
        **dict.fromkeys(
            (
                "items",
                "judges",
                "queue/plan",
                "queue/draws",
                "queue/anchors",
                "experts",
                "adjudication",
                "second-groups",
            ),
            judged.code,
        ),
        "battery": with_battery.code,
        "context_set": str(version.context_set_id),
        "number": "1",
        "run": str(run.pk),
        "item": str(judged.items.first().key),
        "judge": str(judging.pk),
        "decision": str(kept.pk),
        "/panels": make_study({"recruited": 1}).code,
        "act": str(act.pk),
        "upload": str(upload.pk),
        "confirm": str(second.pk),  # a call deletes the first
        "expert": str(invite_expert(judged, "Ines")[0].pk),
        "base": str(make_base(rex).base_id),
        "language": str(add_language(rex, code="sw", name="Swahili", local_name="Kiswahili", **PLURALS).pk),
        "dialogue": str(talked(study, [(True, True)] * 7).public_id),
        "qualification": str(make_test(rex).pk),
        "/{qualification}": str(make_test(rex).pk),  # which a call deletes
        "/queue": with_queue,
        "/removed": with_queue,
        "/rehearsal": rehearsed.code,
        "deletions": str(deleted.pk),
        "/{webhook}": str(make_webhook(rex).pk),  # which a call deletes
        "webhook": str(delivery.webhook_id),
        "delivery": str(delivery.pk),
        "group": str(group.pk),
        "pack": str(pack.pk),
        "check": str(check.pk),
        "message": str(MessageTemplate.objects.create(owner=rex, title="Thanks", text="Thanks").pk),
        "redacted": str(
            Redaction.objects.create(study=study, text="Rex", kind="NAME", at=timezone.now(), by=rex).pk
        ),
        "/{group}": str(create_group("Other", by=rex).pk),  # which a call deletes
        "invitation": str(invitation.pk),
        "/accept": offered[0].code,
        "/decline": offered[1].code,
        "worker": taking_part.pseudonym,
        "table": "turns",
        "studies": "turns.csv",  # a file of a study
        "other": make_queue(1).code,
        "key": asked.key,
        "bots": bot.name,
        "question-sets": asked.own_set.name,
        "person": mallory.username,
    }
    resident_bots.close()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_the_api_answers_as_it_describes_itself(
    mode: GenerationMode, named: dict[str, str], rex: User, settings: Settings
) -> None:
    settings.API_RATE = "1000000/m"  # else the last operations only say that there are too many requests
    schema = schemathesis.openapi.from_wsgi("/api/openapi.json", application)
    token = credentials.create_token(rex, "walk")

    operations = [found.ok() for found in schema.get_all_operations()]
    answered = {f"{each.method} {each.path}": _statuses(each, mode, named, token) for each in operations}

    # Else nothing was shown: no operation only says that there is no such thing.
    assert not [name for name, statuses in answered.items() if statuses <= {401, 404}], answered


def _known(named: dict[str, str], parameter: str, path: str) -> str:
    """Value of a parameter of a path: by how the path ends, by its name, or by what it is about."""
    _, _, kind, *_, last = path.split("/")
    if parameter == "code" and (below := OF_QUEUE.match(path)):
        return named[below[1]]
    if parameter == "code" and last == "{group}":
        return named["code"]
    if parameter == "upload" and last == "confirm":
        return named[last]
    if kind == "deletions":
        return named[kind]
    return named.get(f"/{last}") or named.get(parameter) or named[kind]


def _statuses(operation: Operation, mode: GenerationMode, named: dict[str, str], token: str) -> set[int]:
    """Of the operation's answers, each of which is as it is described."""
    statuses = set()
    is_there = cycle([True, False])  # every second call names what there is

    @seed(1)
    @hypothesis_settings(
        max_examples=CALLS, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
    )
    @given(operation.as_strategy(generation_mode=mode))
    def call(case: Case[Any]) -> None:
        for parameter in case.path_parameters if next(is_there) else ():
            case.path_parameters[parameter] = _known(named, parameter, case.path)
        response = case.call(headers={"Authorization": f"Bearer {token}"})
        case.validate_response(response, checks=CHECKS)
        statuses.add(response.status_code)

    call()
    return statuses
