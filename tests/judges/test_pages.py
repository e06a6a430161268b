"""Pages of machine judges: start, progress, judge card, files, and who may come."""

import csv
import io
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from tests.desks import judge
from tests.judges.conftest import GOOD, MakeStudyOfTwo
from tests.judges.test_runs import finished, started, work_to_the_end
from tests.planted import SignIn
from turnwise.accounts.models import User
from turnwise.bots.models import Bot, BotPrice
from turnwise.judges.models import JudgeRun
from turnwise.judging.models import Item
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db(transaction=True)

MakeJudge = Callable[..., Bot]


def page(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def test_the_queue_leads_to_the_judges_and_the_template_is_previewed(
    make_items: MakeStudyOfTwo, make_judge: MakeJudge, rex: User, sign_in: SignIn
) -> None:
    study, client = make_items(2), sign_in(rex)
    make_judge()
    address = f"/studies/{study.pk}/judges/"

    assert address in page(client, f"/studies/{study.pk}/queue/")
    shown = page(client, address)
    assert "Does it make sense?" in shown
    assert "answers c" in shown  # the first item
    assert "sent to the bot" in shown


def test_a_judge_is_started_by_the_form_and_its_page_shows_progress(
    make_items: MakeStudyOfTwo, make_judge: MakeJudge, rex: User, sign_in: SignIn
) -> None:
    study, bot, client = make_items(2), make_judge(), sign_in(rex)

    answer = client.post(f"/studies/{study.pk}/judges/start/", {"bot": bot.pk, "draws": 2})

    run = JudgeRun.objects.get()
    assert answer["Location"] == run.get_absolute_url()
    waiting = page(client, run.get_absolute_url())
    assert "Waiting to start" in waiting
    assert "0 of 8" in waiting
    assert "Labels of a machine" in waiting
    stamp = client.get(f"{run.get_absolute_url()}stamp/").json()
    work_to_the_end(run)
    assert client.get(f"{run.get_absolute_url()}stamp/").json() != stamp
    done = page(client, run.get_absolute_url())
    assert "Complete" in done
    assert "People have judged none of these items" in done


def test_a_wrong_form_says_what_is_wrong(
    make_items: MakeStudyOfTwo, make_judge: MakeJudge, rex: User, sign_in: SignIn
) -> None:
    study, bot, client = make_items(1), make_judge(), sign_in(rex)
    address = f"/studies/{study.pk}/judges/start/"

    assert client.post(address, {"bot": bot.pk, "draws": 99}).status_code == 422
    assert client.post(address, {"bot": 0, "draws": 1}).status_code == 422
    client.post(address, {"bot": bot.pk, "draws": 1})
    twice = client.post(address, {"bot": bot.pk, "draws": 1})
    assert twice.status_code == 422
    assert "is judging these items" in twice.content.decode()
    assert JudgeRun.objects.count() == 1


def test_a_run_is_cancelled_and_continued(
    make_items: MakeStudyOfTwo, make_judge: MakeJudge, rex: User, sign_in: SignIn
) -> None:
    study, client = make_items(1), sign_in(rex)
    run = started(study, make_judge())

    client.post(f"{run.get_absolute_url()}cancel/")
    assert JudgeRun.objects.get().state == JudgeRun.State.CANCELLED
    assert "Judge what is missing" in page(client, run.get_absolute_url())
    client.post(f"{run.get_absolute_url()}continue/")
    work_to_the_end(run)

    assert JudgeRun.objects.get().state == JudgeRun.State.DONE
    assert "Judge what is missing" not in page(client, run.get_absolute_url())


def answers_of_rater(rater: int) -> Callable[[Item], dict[str, bool]]:
    """Answers of a person: every third item makes no sense, whatever its system; each tenth time they err."""

    def answer(item: Item) -> dict[str, bool]:
        assert item.response
        number = int(item.response.context.key[1:])
        errs = (number + 3 * rater + ("Beta" in item.response.text)) % 10 == 0
        sensible = (number % 3 > 0) != errs
        return {"sensible": sensible, **({"specific": False} if sensible else {})}

    return answer


def _favouring(text: str) -> str:
    """A judge that agrees about Alpha and likes all of Beta."""
    number = int(text.rpartition("c")[2].rstrip(".")) if text else 1
    return GOOD if "Beta" in text or number % 3 else '{"sensible": false}'


@pytest.fixture
def judged(make_items: MakeStudyOfTwo, make_judge: MakeJudge) -> JudgeRun:
    """A run over 60 items, of which six people have judged all."""
    study = make_items(30, raters=6)
    for rater in range(6):
        judge(study, answers_of_rater(rater))
    return finished(study, make_judge(_favouring))


def test_the_judge_card_shows_agreement_favouritism_and_worth(
    judged: JudgeRun, rex: User, sign_in: SignIn
) -> None:
    prices = {"prompt": Decimal(10), "completion": Decimal(100)}
    today = timezone.now().date()
    bot = Bot.objects.get(judges=judged.judge)
    BotPrice.objects.create(bot=bot, valid_from=today, currency="USD", **prices)

    shown = page(sign_in(rex), judged.get_absolute_url())

    assert "People have judged 60 items, the machine 60." in shown
    # By hand: of Beta's 30 items people call 10 senseless, the machine none.
    assert "<td>83 %</td>" in shown  # 50 of 60 alike
    assert "<td>67 %</td>" in shown  # of Beta 20 of 30
    # Alpha's answers have 17 or 18 characters, Beta's 16 or 17: all of Beta's errors are among them.
    assert "By length of the text, in characters" in shown
    assert "By turn in the conversation" not in shown
    assert "The judge favours Beta over Alpha" in shown
    assert "by 33.3 points more" in shown
    assert "People and machine" in shown
    assert "People judged every item, so the machine has nothing to add." in shown
    assert "gave the same answer to “Is it specific?” about all 60 items" in shown
    # 60 answers of 200 + 10 tokens at 10 and 100 USD a million.
    assert "0.18 USD" in shown


def test_with_few_items_of_people_the_card_says_that_it_cannot(
    make_items: MakeStudyOfTwo, make_judge: MakeJudge, rex: User, sign_in: SignIn
) -> None:
    study = make_items(5)
    judge(study, answers_of_rater(0))
    run = finished(study, make_judge(lambda text: '{"sensible": false}' if "c2" in text else GOOD))

    assert "With fewer than 20" in page(sign_in(rex), run.get_absolute_url())


def test_labels_can_be_narrowed_by_outcome(
    make_items: MakeStudyOfTwo, make_judge: MakeJudge, rex: User, sign_in: SignIn
) -> None:
    run = finished(make_items(2), make_judge(lambda text: "<b>No idea</b>" if "Beta" in text else GOOD))

    outside = page(sign_in(rex), f"{run.get_absolute_url()}?outcome=outside")

    assert "Beta answers c1." in outside
    assert "Alpha answers c1." not in outside
    assert "&lt;b&gt;No idea&lt;/b&gt;" in outside
    assert "neither a JSON object nor one of the choices" in outside


def test_files_have_every_label_and_no_live_formula(
    make_items: MakeStudyOfTwo, make_judge: MakeJudge, rex: User, sign_in: SignIn
) -> None:
    formula = '=HYPERLINK("https://example.org")'
    run = finished(make_items(2), make_judge(lambda text: formula if "Beta" in text else GOOD))
    client = sign_in(rex)

    text = client.get(f"{run.get_absolute_url()}labels.csv").content.decode()
    lines = client.get(f"{run.get_absolute_url()}labels.jsonl").content.decode().splitlines()

    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == len(lines) == 4
    assert {row["rater"] for row in rows} == {"machine"}
    by_system: dict[str, dict[str, Any]] = {row["system"]: row for row in rows}
    assert by_system["Alpha"]["answer_sensible"] == "true"
    assert by_system["Beta"]["outcome"] == "outside"
    assert by_system["Beta"]["text"] == f"'{formula}"
    exact = {row["system"]: row for row in map(json.loads, lines)}
    assert exact["Beta"]["text"] == formula
    assert exact["Alpha"]["answer_specific"] is False
    assert exact["Alpha"]["judge_fingerprint"] == run.judge.fingerprint


def test_nobody_else_sees_or_changes_a_run(
    make_items: MakeStudyOfTwo, make_judge: MakeJudge, mallory: User, sign_in: SignIn
) -> None:
    run = finished(make_items(1), make_judge())
    client, address = sign_in(mallory), run.get_absolute_url()

    assert client.get(f"/studies/{run.study_id}/judges/").status_code == 404
    for path in ("", "stamp/", "labels.csv", "labels.jsonl"):
        assert client.get(f"{address}{path}").status_code == 404
        assert Client().get(f"{address}{path}").status_code == 302
    for path in ("cancel/", "continue/"):
        assert client.post(f"{address}{path}").status_code == 404


def test_a_run_is_not_found_under_another_study(
    make_items: MakeStudyOfTwo, make_judge: MakeJudge, rex: User, sign_in: SignIn
) -> None:
    run, other = finished(make_items(1), make_judge()), make_items(1)

    assert sign_in(rex).get(f"/studies/{other.pk}/judges/{run.pk}/").status_code == 404


def test_pairs_are_offered_with_both_sides_in_the_prompt(
    make_pairs: Callable[..., Study], rex: User, sign_in: SignIn
) -> None:
    shown = page(sign_in(rex), f"/studies/{make_pairs(1).pk}/judges/")

    assert "Start judging" in shown
    assert "Alpha answers c1." in shown
    assert "Beta answers c1." in shown
