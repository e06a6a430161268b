"""A study's report tells what its bots say of themselves, and which replies tell workers too much."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from chatbots.identity import audit as asking
from chatbots.identity.replies import Group
from chatbots.identity.rule_accuracy import held_back_accuracy
from evaluation.report.bundles.recomputation import recompute
from evaluation.report.bundles.self_descriptions import audit_figures
from tests.audits.conftest import HUMAN, MACHINE, MakeAudit, every_fourth_denies
from tests.audits.test_audits import text_of
from tests.conftest import MakeQueue, MakeStudy
from tests.planted import SignIn, computed, talked
from tests.rewriting import rewriting
from turnwise.accounts.models import User
from turnwise.audits.identity_leaks import blindness
from turnwise.audits.models import AuditedReply
from turnwise.audits.queries import answers_of
from turnwise.bots.models import Bot
from turnwise.bots.services import version_of
from turnwise.responses.models import Response
from turnwise.studies.models import Study

NAMES_ITSELF = "My name is Scripty, and I was made by Initech."
YES = (True, True)


def says_its_name_once(missing: object) -> str:
    return NAMES_ITSELF if getattr(getattr(missing, "question", None), "id", "") == "p001" else MACHINE


@pytest.mark.django_db
def test_a_reply_that_names_the_bot_is_listed_before_and_after_the_start(
    make_study: MakeStudy, make_audit: MakeAudit, rex: User, sign_in: SignIn
) -> None:
    study, browser = make_study({"scripty": 9}), sign_in(rex)
    bot = Bot.objects.get()
    Bot.objects.update(owner=rex)
    opening = f"/studies/{study.pk}/opening/"
    assert "nothing is known of their replies before the start: Scripty" in text_of(browser, opening)

    audit = make_audit(says_its_name_once, bot=bot)
    assert "My name is Scripty , and I was made by Initech. the chatbot Audit of" in text_of(browser, opening)
    found = blindness(study)
    assert found
    # At once and at turns 3 and 7 the same: it stands once.
    assert [slip.address for slip in found.slips] == [audit.get_absolute_url()]
    assert (found.said, found.unaudited) == (0, [])


@pytest.mark.django_db
def test_what_workers_heard_is_listed_with_a_link_to_the_turn(
    make_study: MakeStudy, make_audit: MakeAudit, rex: User, sign_in: SignIn
) -> None:
    study = make_study({"scripty": 9}, min_turns=2, max_turns=8)
    make_audit(every_fourth_denies, bot=Bot.objects.get())
    harmless, telling = talked(study, [YES]), talked(study, [YES, YES], text="I run on GPT-4 here.")
    computed(study)

    page = text_of(sign_in(rex), f"/studies/{study.pk}/report/")

    # The worker said the same words, which is no matter; harmless is what the bot said in the other talk.
    assert "2 of 3 replies here do." in page
    assert "I run on GPT-4 here. the chatbot Turn 3 of a conversation" in page
    assert "75 % 66 to 82 % 25 rules" in page
    found = blindness(study)
    assert found
    assert {slip.address.partition("#")[0] for slip in found.slips} == {f"/dialogues/{telling.public_id}/"}
    assert str(harmless.public_id) not in str(found.slips)


@pytest.mark.django_db(transaction=True)
def test_the_bundle_has_the_audits_and_gives_their_figures_again(
    make_study: MakeStudy, make_audit: MakeAudit, tmp_path: Path
) -> None:
    study = make_study({"scripty": 9}, min_turns=2, max_turns=8)
    audit = make_audit(every_fourth_denies, bot=Bot.objects.get())
    AuditedReply.objects.filter(audit=audit, question="p001", turn=1).update(
        text="", category="", start=0, end=0, error="It broke."
    )
    talked(study, [YES])
    archive = tmp_path / "study.zip"

    call_command("bundle", str(study.pk), output=archive)

    again = recompute(archive)
    assert again.differences == []
    (found,) = again.report["audits"]
    assert (found["bot"], found["bot_version"]) == ("scripty", audit.version.fingerprint)
    figures = asking.figures(answers_of([audit])[audit.pk])  # what the bot's own page shows
    assert {part["part"] for part in found["parts"]} == set(figures)
    for part in found["parts"]:
        theirs = figures[part["part"]]
        assert (part["questions"], part["share"]) == (theirs["questions"], theirs["confirms"]["share"])
        assert [round(part["low"], 4), round(part["high"], 4)] == theirs["confirms"]["interval"]
        assert (part["denied"], part["failed"]) == (theirs["groups"][Group.DENIAL], theirs["failed"])
    assert (found["parts"][0]["confirms"], found["parts"][0]["failed"]) == (74, 1)
    assert found["rules"]["rules_kappa"] == held_back_accuracy().confirms.value
    assert found["rules"]["rules_measured_on"] == held_back_accuracy().replies
    assert found["rules"]["rules_confirmed"] == held_back_accuracy().confirmed_by_rules
    with zipfile.ZipFile(archive) as files:
        rows = [json.loads(line) for line in files.read("data/audits.jsonl").splitlines()]
        assert "### audits" in files.read("README.md").decode()
    assert len(rows) == 450
    assert (rows[3]["question"], rows[3]["reply"], rows[3]["rules_group"]) == ("p004", HUMAN, "denial")
    assert (rows[0]["reply"], rows[0]["error"]) == (None, "It broke.")


def test_people_have_the_word_in_the_figures_of_a_bundle() -> None:
    def row(rules: str, people: str | None, **more: Any) -> dict[str, Any]:
        told = {"bot": "b", "bot_version": "v", "label": "p", "turn": 1, "error": None}
        return told | {"rules_group": rules, "people_group": people} | more

    (found,) = audit_figures(
        [
            row("denial", "confirms"),
            row("confirms", "undecided"),
            row("confirms", None),
            row("confirms", None, label="n"),
        ]
    )

    first, negative = found["parts"]
    # 2 of 3 by Wilson with z = 1.959964: centre (2/3 + z²/6) / (1 + z²/3), by hand 0.2077 to 0.9385
    assert (first["confirms"], first["judged"], first["undecided"], first["denied"]) == (2, 2, 1, 0)
    assert (first["low"], first["high"]) == pytest.approx((0.2077, 0.9385), abs=1e-4)
    assert (negative["part"], negative["confirms"]) == ("negative", 1)


@pytest.mark.django_db
def test_a_study_that_shows_the_names_promises_nothing(make_study: MakeStudy) -> None:
    assert blindness(make_study({"scripty": 9}, blind=False)) is None


@pytest.mark.django_db
def test_raters_are_not_told_either(
    make_queue: MakeQueue, make_audit: MakeAudit, scripty: Bot, rex: User
) -> None:
    study: Study = make_queue(2, system="Scripty")
    version = version_of(scripty, {"code": "1"})
    with rewriting():
        Response.objects.update(bot_version=version)
    with rewriting():
        Response.objects.filter(context__key="c1").update(text=NAMES_ITSELF)

    found = blindness(study)

    assert found
    assert [(slip.system, slip.what, slip.words, slip.where) for slip in found.slips][:1] == [
        ("Scripty", "system", "My name is Scripty", "In the queue")
    ]
    assert (found.said, found.unaudited) == (2, [])


@pytest.mark.django_db
def test_what_a_system_says_again_and_again_is_listed_once(make_queue: MakeQueue, scripty: Bot) -> None:
    study: Study = make_queue(4, system="Scripty")
    with rewriting():
        Response.objects.update(bot_version=version_of(scripty, {"code": "1"}), text=NAMES_ITSELF)
    with rewriting():
        Response.objects.filter(context__key="c4").update(text="I am Scripty.")

    found = blindness(study)

    assert found
    assert [slip.words for slip in found.slips] == ["My name is Scripty", "I am Scripty"]
    assert (found.said, found.said_slips) == (4, 4)
