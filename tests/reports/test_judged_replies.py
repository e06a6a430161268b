"""Outcomes, tokens, seconds and cost of judged replies by system, in reports of items and of pairs."""

import json
import re
import zipfile
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command

from evaluation.report.bundles.recomputation import recompute
from evaluation.report.bundles.tables import LATER_COLUMNS
from tests.conftest import MakeContexts, MakePairs, MakeQueue, MakeRun, MakeStudy
from tests.desks import begin, judge
from tests.planted import SignIn, computed, talked
from tests.rewriting import rewriting
from turnwise.accounts.models import User
from turnwise.bots.models import Bot, BotPrice, BotVersion
from turnwise.bots.services import register_bot, version_of
from turnwise.dialogues.models import Turn
from turnwise.judging.items import subjects
from turnwise.judging.items.pairs import PairSource
from turnwise.judging.items.pairs import add as add_pairs
from turnwise.judging.queue import services as judging
from turnwise.questions.question_sets import question_set
from turnwise.responses.models import Response
from turnwise.studies.asks import About, AskSpec
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db(transaction=True)

USAGE = {"prompt": 1000, "completion": 100, "cached": 200}
COST = 0.00325
"""Of one reply with `USAGE`: 800 * 2.50 + 200 * 1.25 + 100 * 10 millionths."""
NewVersion = Callable[..., BotVersion]


@pytest.fixture
def new_version(rex: User) -> NewVersion:
    """A version of a new bot, with a price if one is given."""

    def make(name: str, **price: Any) -> BotVersion:
        bot: Bot = register_bot(name=name, title=name.title(), adapter="eliza", configuration={}, owner=rex)
        if price:
            prices = {"valid_from": date(2020, 1, 1), "prompt": "2.5", "cached": "1.25", "completion": "10"}
            BotPrice.objects.create(bot=bot, **prices | price)
        return version_of(bot, {"adapter": name})

    return make


def give(responses: Any, version: BotVersion, *, latency_ms: int = 500, **generation: Any) -> None:
    """Let this version of a bot have given these responses."""
    with rewriting():
        responses.update(bot_version=version, latency_ms=latency_ms, generation=generation or None)


def bundled(study: Study, folder: Path) -> Path:
    call_command("bundle", str(study.pk), output=folder / "bundle.zip")
    return folder / "bundle.zip"


def outcomes(row: dict[str, Any]) -> dict[str, int]:
    return {each["outcome"]: each["replies"] for each in row["outcomes"] if each["replies"]}


@pytest.fixture
def queue(
    make_queue: MakeQueue, make_contexts: MakeContexts, make_run: MakeRun, new_version: NewVersion
) -> Study:
    """Responses of one bot, of two bots with one name, one of them without a price, and of a file."""
    study, contexts = make_queue(raters=2), make_contexts(3)
    for system in ("Alpha", "Both", "File"):
        subjects.add_responses(study, make_run(contexts, system))
    alpha, beta, free = (
        new_version("alpha", currency="USD"),
        new_version("beta", currency="EUR"),
        new_version("free"),
    )
    responses = Response.objects.filter(run__system="Alpha")
    give(responses, alpha, usage=USAGE, first_seconds=0.25)
    give(responses.filter(context__key="c3"), alpha, outcome="refused", latency_ms=1500)
    give(Response.objects.filter(run__system="Both", context__key="c1"), beta, usage=USAGE, outcome="cut")
    give(Response.objects.filter(run__system="Both").exclude(context__key="c1"), free, usage=USAGE)
    for _ in range(2):
        judge(study, lambda item: {"sensible": True, "specific": False})
    study.refresh_from_db()
    return study


def test_a_report_of_items_has_figures_and_cost_of_replies_by_system(queue: Study) -> None:
    result = computed(queue).result
    assert result
    alpha, both = result["replies"]

    assert (alpha["bot"], both["bot"]) == ("Alpha", "Both")
    assert outcomes(alpha) == {"complete": 2, "refused": 1}
    assert outcomes(both) == {"complete": 2, "cut": 1}
    assert alpha["tokens"]["prompt"] == {"mean": 1000, "median": 1000, "replies": 2}
    assert alpha["seconds"]["first"] == {"mean": 0.25, "median": 0.25, "replies": 2}
    assert alpha["seconds"]["last"]["mean"] == pytest.approx((0.5 + 0.5 + 1.5) / 3)
    assert alpha["cost"] == {
        "amounts": [{"currency": "USD", "amount": pytest.approx(2 * COST), "replies": 2}],
        "unpriced": 1,  # of unknown tokens
    }
    assert both["cost"] == {
        "amounts": [{"currency": "EUR", "amount": pytest.approx(COST), "replies": 1}],
        "unpriced": 2,  # of the bot without a price
    }


def test_the_price_of_the_day_counts(queue: Study) -> None:
    bot = Bot.objects.get(name="alpha")
    BotPrice.objects.create(bot=bot, valid_from=date(2024, 5, 2), currency="USD", prompt="5", completion="20")
    late_evening = datetime(2024, 5, 1, 23, 59, 59, tzinfo=UTC)
    with rewriting():
        Response.objects.filter(run__system="Alpha", context__key="c1").update(created_at=late_evening)

    result = computed(queue).result

    assert result
    [amount] = result["replies"][0]["cost"]["amounts"]
    assert amount["amount"] == pytest.approx(COST + (1000 * 5 + 100 * 20) / 1e6)


def test_the_bundle_gives_the_figures_of_items_again(queue: Study, tmp_path: Path) -> None:
    stored = computed(queue).result
    assert stored

    found = recompute(bundled(queue, tmp_path))

    assert (found.report["replies"], found.differences) == (stored["replies"], [])


def test_the_reports_page_shows_the_cost(queue: Study, rex: User, sign_in: SignIn) -> None:
    computed(queue)

    page = sign_in(rex).get(f"/studies/{queue.pk}/report/").content.decode()

    text = " ".join(re.sub(r"<[^>]*>", " ", page).split())
    assert "The cost is that of the judged replies" in text
    assert re.search(r"0\.0065\sUSD 2 replies without 1 of unknown tokens or price", text)


@pytest.fixture
def pairs(make_pairs: MakePairs, new_version: NewVersion) -> Study:
    """Three systems at two contexts, so that each response stands in two pairs."""
    study: Study = make_pairs(2, ("Alpha", "Beta", "Gamma"), raters=1)
    alpha, beta = new_version("alpha", currency="USD"), new_version("beta")
    give(Response.objects.filter(run__system="Alpha"), alpha, usage=USAGE)
    give(Response.objects.filter(run__system="Beta", context__key="c1"), beta, outcome="refused")
    give(Response.objects.filter(run__system="Beta", context__key="c2"), beta, latency_ms=700)
    desk = begin(study)
    while items := judging.state(desk)["items"]:
        judging.judge(desk, key=UUID(items[0]["key"]), answers={"better": "first"})
    study.refresh_from_db()
    return study


def test_a_report_of_pairs_counts_each_response_once_by_system(pairs: Study) -> None:
    result = computed(pairs).result
    assert result
    alpha, beta = result["replies"]  # none of Gamma, whose responses came in a file

    assert (alpha["bot"], outcomes(alpha)) == ("Alpha", {"complete": 2})
    assert (beta["bot"], outcomes(beta)) == ("Beta", {"complete": 1, "refused": 1})
    assert alpha["cost"] == {
        "amounts": [{"currency": "USD", "amount": pytest.approx(2 * COST), "replies": 2}],
        "unpriced": 0,
    }
    assert beta["cost"] is None
    assert beta["seconds"]["last"] == {"mean": 0.6, "median": 0.6, "replies": 2}


def test_the_bundle_gives_the_figures_of_pairs_again(pairs: Study, tmp_path: Path) -> None:
    stored = computed(pairs).result
    assert stored

    found = recompute(bundled(pairs, tmp_path))

    assert (found.report["replies"], found.differences) == (stored["replies"], [])


def without_responses(lines: bytes) -> str:
    rows = [json.loads(line) for line in lines.splitlines()]
    kept = [{name: row[name] for name in row if name not in LATER_COLUMNS["pairs"]} for row in rows]
    assert kept != rows
    return "".join(json.dumps(row) + "\n" for row in kept)


def test_a_bundle_of_before_has_no_replies_of_pairs(pairs: Study, tmp_path: Path) -> None:
    path, older = bundled(pairs, tmp_path), tmp_path / "older.zip"
    with zipfile.ZipFile(path) as new, zipfile.ZipFile(older, "w") as old:
        for name in new.namelist():
            content = new.read(name)
            old.writestr(name, without_responses(content) if name == "data/pairs.jsonl" else content)

    found = recompute(older)

    assert found.changed_files == ["data/pairs.jsonl"]
    assert "replies" not in found.report


def test_the_page_of_a_report_of_pairs_has_the_outcomes(pairs: Study, rex: User, sign_in: SignIn) -> None:
    computed(pairs)

    page = sign_in(rex).get(f"/studies/{pairs.pk}/report/").content.decode()

    assert "How replies ended" in page
    assert '<td data-label="Refused"><strong>50.0</strong>' in page


# --- whole conversations, alone and in pairs --------------------------------------------------------


@pytest.fixture
def talks(make_study: MakeStudy) -> Study:
    """Two finished conversations with each of two bots; Ann refused once, and her replies have a price."""
    study: Study = make_study({"ann": 100, "bob": 100}, min_turns=2, max_turns=8)
    for number in range(4):
        talked(study, [(True, True)], text=f"Number {number}")
    ann = Turn.objects.filter(dialogue__study=study, bot_version__bot__name="ann")
    version = BotVersion.objects.get(bot__name="ann")
    give(ann, version, usage=USAGE, first_seconds=0.25)
    give(ann.filter(pk=ann.order_by("pk")[0].pk), version, outcome="refused", latency_ms=1500)
    prices = {"prompt": "2.5", "cached": "1.25", "completion": "10", "currency": "USD"}
    BotPrice.objects.create(bot=Bot.objects.get(name="ann"), valid_from=date(2020, 1, 1), **prices)
    return study


def compared(talks: Study, make_pairs: MakePairs) -> Study:
    study: Study = make_pairs(raters=1)
    add_pairs(study, PairSource.of_conversations([talks], language="en"))
    desk = begin(study)
    while items := judging.state(desk)["items"]:
        judging.judge(desk, key=UUID(items[0]["key"]), answers={"better": "first"})
    return study


def judged_whole(talks: Study, make_queue: MakeQueue) -> Study:
    study: Study = make_queue(raters=1, question_set="likert", asks=[AskSpec("likert", About.DIALOGUE)])
    subjects.add_dialogues(study, talks, language="en")
    keys = [question.key for question in question_set("likert").questions if question.choices]
    judge(study, lambda item: dict.fromkeys(keys, 4))
    return study


@pytest.mark.parametrize("kind", ["pairs", "items"])
def test_replies_in_judged_conversations_are_counted_and_recomputed(
    kind: str, talks: Study, make_pairs: MakePairs, make_queue: MakeQueue, tmp_path: Path
) -> None:
    study = compared(talks, make_pairs) if kind == "pairs" else judged_whole(talks, make_queue)
    study.refresh_from_db()
    result = computed(study).result
    assert result
    ann, bob = result["replies"]

    replies = Turn.objects.filter(dialogue__study=talks, bot_version__bot__name="ann").count()
    assert (ann["bot"], outcomes(ann)) == ("Ann", {"complete": replies - 1, "refused": 1})
    assert ann["seconds"]["first"]["replies"] == replies - 1
    assert ann["cost"]["amounts"][0]["amount"] == pytest.approx((replies - 1) * COST)
    assert (bob["bot"], bob["cost"]) == ("Bob", None)

    path, older = bundled(study, tmp_path), tmp_path / "older.zip"
    found = recompute(path)
    assert (found.report["replies"], found.differences) == (result["replies"], [])

    with zipfile.ZipFile(path) as new, zipfile.ZipFile(older, "w") as old:
        for name in new.namelist():
            if "conversation_replies" not in name:
                old.writestr(name, new.read(name))
    of_before = recompute(older)
    assert "replies" not in of_before.report
    assert of_before.differences == []
