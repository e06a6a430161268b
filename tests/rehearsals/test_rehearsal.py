"""A rehearsal through the real pages and the real socket, against the injected effects."""

from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from evaluation.questions import SSA
from evaluation.report.bundles.recomputation import recompute
from tests.conftest import MakeStudy, start_dialogue
from tests.planted import SignIn, figures, talked
from tests.rehearsals.conftest import rehearsed, rows
from turnwise.accounts.models import User
from turnwise.crowd.models import Participation, Worker
from turnwise.rehearsals.expected_results import expected_means
from turnwise.rehearsals.findings import Outcome, findings
from turnwise.rehearsals.injected_effects import HONEST, Kind, Plan, mix
from turnwise.rehearsals.services import delete_rehearsal, enough_workers, make_rehearsal
from turnwise.rehearsals.simulation import Work
from turnwise.studies.asks import About, AskSpec, Moment
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.usefixtures("_same_database")
def test_the_report_recovers_the_injected_effects_and_the_study_is_unchanged(
    make_study: MakeStudy, rex: User, sign_in: SignIn, tmp_path: Path
) -> None:
    study = make_study({"scripty": 3, "another": 3}, min_turns=6, max_turns=8)
    talked(study, [(True, True), (False, False), (True, False)])
    Study.objects.filter(pk=study.pk).update(results_version=7)
    before = rows()

    said = rehearsed(study, "--workers", "40")

    rehearsal = study.rehearsal
    assert "40 of 40 workers are done." in said
    assert "The report recovers the injected effects: 16 of 16 findings hold." in said, said
    assert "there is no alpha to recover" in said
    study.refresh_from_db()
    assert (study.results_version, study.state, rehearsal.state) == (7, "open", "closed")
    assert [each.target for each in study.study_bots.all()] == [3, 3]
    course = figures(rehearsal.reports.first())["course"]["bots"]
    assert sum(bot["under_way"] for bot in course) == mix(40).count(Kind.LEAVING) == 4
    aside = Participation.objects.filter(excluded_at__isnull=False)
    assert Counter(aside.values_list("excluded_reason", flat=True)) == {
        "Rehearsal: careless": 4,
        "Rehearsal: straight-lining": 4,
    }

    # Every reply has a label, and the bundle gives the report again.
    stored = figures(rehearsal.reports.first())
    call_command("bundle", str(rehearsal.pk), output=tmp_path / "bundle.zip")
    again = recompute(tmp_path / "bundle.zip")
    assert "Replies without a label" not in " ".join(stored["deviations"])
    assert (again.report, again.differences) == (stored, [])

    client = sign_in(rex)
    assert "Rehearsal of" not in client.get("/studies/").content.decode()
    for page in ("", "report/", "dialogues/"):
        assert "This is a rehearsal." in client.get(f"/studies/{rehearsal.pk}/{page}").content.decode()
    assert "This is a rehearsal." not in client.get(f"/studies/{study.pk}/report/").content.decode()

    client.post(f"/studies/{rehearsal.pk}/rehearsal/delete/")

    assert rows() == before | Counter({"BotVersion": rows()["BotVersion"]})
    assert study.dialogues.count() == 1


def test_the_suggested_number_of_workers_suffices_for_all_bots(make_study: MakeStudy) -> None:
    assert enough_workers(make_study({"scripty": 9})) == 30
    assert enough_workers(make_study(dict.fromkeys(("a", "b", "c", "d"), 9) | {"idle": 0})) == 60


@pytest.mark.usefixtures("_same_database")
def test_a_bot_that_fails_ends_conversations_and_not_the_rehearsal(make_study: MakeStudy) -> None:
    script = {"replies": ["Yes."], "fail_on": [1], "fail_times": 3}
    study = make_study({"broken": 9}, script=script, min_turns=2, max_turns=4)

    with pytest.raises(CommandError, match="Use more workers"):
        rehearsed(study, "--workers", "3", "--at-once", "1")

    course = figures(study.rehearsal.reports.first())["course"]["bots"][0]
    assert (course["finished"], course["bot_failed"]) == (2, 1)
    assert course["faults"] == [{"kind": "BotFailed", "times": 3}]


@pytest.mark.usefixtures("_same_database")
def test_workers_can_follow_any_protocol(make_study: MakeStudy) -> None:
    protocols: dict[str, dict[str, object]] = {
        "greeted": {"opening_speaker": "human", "opening_text": "Hello", "min_turns": 5},
        "late, with pictures": {
            "opening_speaker": "human",
            "opening_text": "",
            "moment": Moment.BEFORE_FINISH,
            "takes_pictures": True,
        },
        "human-likeness": {"question_set": "human-likeness", "blind": False},
    }
    for name, fields in protocols.items():
        study = make_study({name: 9}, **({"min_turns": 4, "max_turns": 8} | fields))

        rehearsed(study, "--workers", "2")

        result = figures(study.rehearsal.reports.first())
        course = result["course"]["bots"][0]
        assert (course["finished"], course["under_way"], course["bot_failed"]) == (2, 0, 0), name
        # the second worker says one thing more than the protocol wants
        assert result["bots"][0]["labels"] == 2 * ((study.min_turns + 1) // 2) + 1, name
        told = [finding["words"] for finding in study.rehearsal.outcome.findings]
        pictures = [words for words in told if words.startswith("Pictures")]
        if study.takes_pictures:
            assert pictures == [
                "Pictures: the workers sent 1 with their messages, and the conversations show 1, as many."
            ]
        else:
            assert pictures == []


@pytest.mark.usefixtures("_same_database")
def test_injected_effects_of_every_ask_are_recovered(make_study: MakeStudy) -> None:
    asks = [
        AskSpec("likert", About.DIALOGUE, Moment.AT_END),
        AskSpec("votes", About.PARTNER_TURN, Moment.BEFORE_FINISH, required=False),
        AskSpec("human-likeness", About.OWN_TURN, Moment.WAITING),
    ]
    study = make_study(
        {"scripty": 9}, asks=asks, opening_speaker="human", opening_text="", min_turns=4, max_turns=8
    )

    rehearsed(study, "--workers", "20")

    result = figures(study.rehearsal.reports.first())
    told = [finding["words"] for finding in study.rehearsal.outcome.findings]
    assert [finding for finding in told if "OUTSIDE" in finding or "unknown" in finding] == []
    assert any(words.startswith("Votes for single replies. Mean vote of Scripty") for words in told)
    assert any(words.startswith("Quality of Scripty") for words in told)
    finished = result["course"]["bots"][0]["finished"]
    assert (finished, result["bots"][0]["labels"]) == (18, 18)
    votes, own = (each["bots"][0]["labels"] for each in result["beside"])
    assert votes == own > 2 * 18


def test_only_its_owner_and_admins_delete_a_rehearsal(
    study: Study, ada: User, mallory: User, sign_in: SignIn
) -> None:
    rehearsal = make_rehearsal(study, 5)
    path = f"/studies/{rehearsal.pk}/rehearsal/delete/"

    assert sign_in(mallory).post(path).status_code == 404
    assert sign_in(ada).post(f"/studies/{study.pk}/rehearsal/delete/").status_code == 404
    assert sign_in(ada).get(path).status_code == 405
    assert Study.objects.count() == 2
    assert sign_in(ada).post(path).status_code == 302
    assert Study.objects.get() == study


def test_a_study_of_people_is_never_deleted_as_a_rehearsal(study: Study) -> None:
    with pytest.raises(ValueError, match="is not a rehearsal"):
        delete_rehearsal(study)


def test_a_worker_who_also_takes_part_in_earnest_is_kept(study: Study) -> None:
    rehearsal = make_rehearsal(study, 5)
    start_dialogue(rehearsal)
    both = start_dialogue(rehearsal).seats.get(worker__isnull=False).assignment
    assert both
    consent = study.consent_versions.get()
    Participation.objects.create(worker=both.participation.worker, study=study, consent=consent)

    rehearsed(study, "--delete")

    assert Worker.objects.get() == both.participation.worker
    assert not Study.objects.exclude(pk=study.pk)


def test_the_copy_has_the_protocol_but_no_pay_and_proportional_targets(make_study: MakeStudy) -> None:
    study = make_study(
        {"scripty": 100, "another": 50, "idle": 0}, min_turns=6, max_turns=10, blind=False, pay_amount=3
    )

    copy = make_rehearsal(study, 10)

    assert (copy.min_turns, copy.max_turns, copy.blind, copy.pay_amount) == (6, 10, False, Decimal(0))
    assert copy.consent_versions.get().text == "You talk to a machine."
    # 10 workers at 100 : 50, rounded up so that everybody finds a place
    assert {each.bot.name: each.target for each in copy.study_bots.all()} == {"scripty": 7, "another": 4}


def test_a_second_rehearsal_takes_the_place_of_the_first(study: Study) -> None:
    first = make_rehearsal(study, 5)
    start_dialogue(first)

    second = make_rehearsal(study, 5)

    assert list(Study.objects.exclude(pk=study.pk)) == [second]


@pytest.mark.parametrize(
    ("fields", "said"),
    [({"task": "self_play"}, "rehearse that one"), ({"rehearsal_of": True}, "itself")],
)
def test_an_impossible_rehearsal_is_refused_with_a_message(
    study: Study, make_study: MakeStudy, fields: dict[str, object], said: str
) -> None:
    other = make_rehearsal(study, 5) if "rehearsal_of" in fields else make_study()
    if "task" in fields:
        Study.objects.filter(pk=other.pk).update(**fields)
        other.refresh_from_db()

    with pytest.raises(CommandError, match=said):
        rehearsed(other)


def test_a_study_without_a_rehearsal_has_none_to_delete(study: Study) -> None:
    with pytest.raises(CommandError, match="has no rehearsal"):
        rehearsed(study, "--delete")
    with pytest.raises(CommandError, match="There is no study '999999'"):
        call_command("rehearse", "999999")


# --- what is planted ---------------------------------------------------------------------------------


def dealt(plan: Plan, bot: str, kind: Kind, times: int) -> list[dict[str, Any]]:
    """What workers of this kind are dealt for so many replies of this bot, all in finished conversations."""
    labels = []
    for number in range(times):
        reply = f"{bot} {kind} {number}"
        plan.meet(reply, bot)
        labels.append(plan.deal(reply, kind))
        plan.note(reply, kind, labels[-1])
    return labels


def test_decks_hold_the_injected_shares() -> None:
    plan = Plan(SSA, ["first", "second"], alone=True)
    first = dealt(plan, "first", Kind.CAREFUL, 40)

    # of 20: 16 sensible; of 20 of these 0.625, so 12 or 13, specific; of the second bot 12, and half
    assert [sum(label["sensible"] is True for label in half) for half in (first[:20], first[20:])] == [16, 16]
    asked = [label["specific"] for label in first if "specific" in label]
    assert sum(asked[:20]) in (12, 13)
    second = dealt(plan, "second", Kind.CAREFUL, 30)
    assert sum(label["sensible"] is True for label in second[:20]) == 12
    dealt(plan, "second", Kind.STRAIGHT_LINING, 10)
    assert expected_means(plan, "second", HONEST) == pytest.approx(
        {"sensible": 60, "specific": 30, "ssa": 45}
    )
    # 30 labels at 60 and 30 percent and 10 at 100: (18 + 10) / 40 and (9 + 10) / 40
    assert expected_means(plan, "second") == pytest.approx({"sensible": 70, "specific": 47.5, "ssa": 58.75})
    assert len(plan.labels("second")) == 40


def result_of(low: float, high: float, *, labels: int = 20, finished: int = 1) -> dict[str, object]:
    """A report of one bot whose 20 labels are 16 times sensible and 10 times specific."""
    cells = [{"value": value, "low": value + low, "high": value + high} for value in (80.0, 50.0, 65.0)]
    return {
        "columns": [{"key": key, "title": key} for key in ("sensible", "specific", "ssa")],
        "bots": [{"bot": "First", "labels": labels, "cells": cells}],
        "primary": "all",
        "other": None,
        "course": {"bots": [{"bot": "First", "finished": finished, "under_way": 0, "bot_failed": 0}]},
        "agreement": [
            {"key": key, "replies": 0, "undefined": "No reply has labels of two workers."}
            for key in ("sensible", "specific")
        ],
    }


@pytest.mark.parametrize(
    ("result", "wrong"),
    [
        (result_of(-5, 5), 0),
        (result_of(1, 5), 3),  # every interval lies above what was planted
        (result_of(-5, 5, labels=19), 1),
        (result_of(-5, 5, finished=2), 1),
    ],
)
def test_a_report_that_differs_from_the_plan_is_detected(result: dict[str, object], wrong: int) -> None:
    plan = Plan(SSA, ["First"], alone=True)
    dealt(plan, "First", Kind.CAREFUL, 20)
    done = [Work(Kind.CAREFUL, work_id="one", system="First", finished=True)]

    found = findings(plan, done, result)

    assert [finding.holds for finding in found].count(False) == wrong
    outcome = Outcome(found, plan)
    assert outcome.holds is (wrong == 0)
    assert outcome.verdict == (
        f"{wrong} of 5 findings differ from the injected effects."
        if wrong
        else "The report recovers the injected effects: 5 of 5 findings hold."
    )
    assert "no alpha to recover" in outcome.agreement
