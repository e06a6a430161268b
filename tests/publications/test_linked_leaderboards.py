"""Leaderboards of studies that judged the same anchors, run to their end, against planted truth."""

import json
import math
from collections import defaultdict
from itertools import product
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext, override_settings
from django.utils import timezone
from scipy.stats import t

from tests.comparisons.test_drawing import NOWHERE
from tests.conftest import MakeContexts, MakeQueue, MakeRun, MakeStudy
from tests.desks import judge
from tests.planted import computed
from tests.publications.conftest import Publish
from turnwise.accounts.models import User
from turnwise.judging.anchors import packs, study_anchors
from turnwise.judging.anchors.packs import Choice
from turnwise.judging.items import subjects
from turnwise.judging.models import AnchorPack, Item
from turnwise.publications.leaderboards import leaderboard_page
from turnwise.publications.models import Publication, PublishedVersion
from turnwise.studies.models import Study
from turnwise.studies.services import set_state

pytestmark = pytest.mark.django_db(transaction=True)

RATERS = 8
ITEMS = 14
ANCHORS = 21
"""All items of the first study, so that the figures are the same in every run."""
QUALITY = {"Alpha": 0.5, "Beta": 0.35, "Gamma": 0.5, "Delta": 0.65, "Epsilon": 0.8}
"""Share of yes that the raters of the first study give a system, which is the planted truth."""
EQUAL = pytest.approx


def quality_of(item: Item) -> float:
    """Share of raters who say yes of an item, spread by 0.1 to both sides of its system's."""
    assert item.response
    number = int(item.response.context.key.removeprefix("c"))
    return QUALITY[item.response.run.system] + 0.2 * ((number % 7) / 6 - 0.5)


def rated_by(study: Study, *, severity: float) -> None:
    """Everybody judges everything; raters differ by 0.2 from each other, and by the severity from truth."""
    for rater in range(RATERS):
        own = severity + 0.2 * (rater / (RATERS - 1) - 0.5)

        def answer(item: Item, rater: int = rater, own: float = own) -> dict[str, object]:
            assert item.response
            number = int(item.response.context.key.removeprefix("c"))
            threshold = ((3 * rater + number) % RATERS + 0.5) / RATERS
            likes = quality_of(item) - own > threshold
            return {"sensible": True, "specific": True} if likes else {"sensible": False}

        judge(study, answer)


@pytest.fixture
def first_wave(make_queue: MakeQueue) -> Study:
    study = make_queue(ANCHORS, raters=RATERS, title="First wave")
    rated_by(study, severity=0.0)
    return set_state(study.pk, Study.State.CLOSED)


def pack_from(study: Study, owner: User, title: str = "Wave 1") -> AnchorPack:
    choice = Choice(title, "ssa", "ssa", ANCHORS)
    return packs.make_pack(study, choice, owner=owner, seed=3, now=timezone.now())


@pytest.fixture
def run_study(make_queue: MakeQueue, make_contexts: MakeContexts, make_run: MakeRun) -> Any:
    """Run a study of two systems to its end, with or without anchors, and compute its report."""

    def run(title: str, systems: tuple[str, str], severity: float, pack: AnchorPack | None) -> Study:
        study = make_queue(ITEMS, raters=RATERS, title=title, system=systems[0])
        subjects.add_responses(study, make_run(make_contexts(ITEMS), systems[1]))
        if pack:
            study_anchors.add_pack(study, pack)
        rated_by(study, severity=severity)
        study = set_state(study.pk, Study.State.CLOSED)
        computed(study)
        return study

    return run


def labels_of(study: Study, *, anchors: bool) -> dict[tuple[int, int], float]:
    """SSA in percent by the judged response and the rater."""
    found = {}
    for item in study.items.filter(anchor__isnull=not anchors):
        for slot in item.slots.select_related("label"):
            assert slot.label
            assert item.response_id
            answers = slot.label.answers
            value = 50.0 * bool(answers["sensible"]) + 50.0 * bool(answers.get("specific"))
            found[item.response_id, slot.label.rater_id] = value
    return found


def sums_of_squares(parts: dict[tuple[int, int], float]) -> tuple[float, float, float]:
    """Squared sums by item, by rater and by label, each times k/(k-1) for its k equal clusters."""
    by_item: dict[int, float] = defaultdict(float)
    by_rater: dict[int, float] = defaultdict(float)
    for (item, rater), part in parts.items():
        by_item[item] += part
        by_rater[rater] += part
    found = []
    for sums in (by_item, by_rater, parts):
        k = len(sums)
        found.append(k / (k - 1) * sum(each**2 for each in sums.values()))
    return found[0], found[1], found[2]


def spread_by_hand(parts: dict[tuple[int, int], float]) -> tuple[float, float]:
    """Variance over items and raters, which cross, and its degrees of freedom by Satterthwaite.

    Each of k equal clusters has k - 1 degrees of freedom.
    """
    variances = sums_of_squares(parts)
    numbers = (len({item for item, _ in parts}), len({rater for _, rater in parts}), len(parts))
    items, raters, labels = variances
    variance = max(items + raters - labels, items, raters)
    noise = sum(v**2 / (k - 1) for v, k in zip(variances, numbers, strict=True))
    return variance, max(variance**2 / noise, min(numbers[:2]) - 1)


def summed_by_hand(*parts: tuple[float, float]) -> tuple[float, float]:
    """Standard error of a sum and half its interval, from variances and degrees of freedom."""
    total = sum(variance for variance, _ in parts)
    quantile = sum(variance * t.ppf(0.975, freedom) for variance, freedom in parts) / total
    return math.sqrt(total), quantile * math.sqrt(total)


def difference_by_hand(
    own: dict[tuple[int, int], float], drift: dict[tuple[int, int], float]
) -> tuple[float, float]:
    """Variance of a score less the shift, and its degrees of freedom.

    All raters judged all items and all anchors. So the raters of the difference have 7 degrees of freedom,
    and items and labels, of which the two have none in common, those of Welch.
    """
    (items, _, labels), (anchors, _, of_anchors) = sums_of_squares(own), sums_of_squares(drift)
    by_rater: dict[int, float] = defaultdict(float)
    for parts in (own, {key: -part for key, part in drift.items()}):
        for (_, rater), part in parts.items():
            by_rater[rater] += part
    raters = RATERS / (RATERS - 1) * sum(each**2 for each in by_rater.values())

    def welch(a: float, f: float, b: float, g: float) -> float:
        return (a + b) ** 2 / (a**2 / f + b**2 / g)

    variances = (items + anchors, raters, labels + of_anchors)
    freedoms = (
        welch(items, ITEMS - 1, anchors, ANCHORS - 1),
        RATERS - 1,
        welch(labels, len(own) - 1, of_anchors, len(drift) - 1),
    )
    variance = max(variances[0] + variances[1] - variances[2], *variances[:2])
    noise = sum(v**2 / f for v, f in zip(variances, freedoms, strict=True))
    return variance, max(variance**2 / noise, min(freedoms[:2]))


def shift_by_hand(
    first: Study, second: Study
) -> tuple[float, float, float, dict[tuple[int, int], float], float]:
    """Shift over the anchors of the second study, its standard error and half its interval.

    Then the part of each answer in it, and the variance that the old raters have in common. All anchors have
    equally many raters, so the parts of the variance are plain sums of squares.
    """
    new = labels_of(second, anchors=True)
    anchors = {item for item, _rater in new}
    old = {key: value for key, value in labels_of(first, anchors=False).items() if key[0] in anchors}
    known = {item: sum(old[key] for key in old if key[0] == item) / RATERS for item in anchors}
    assert len(new) == len(old) == ANCHORS * RATERS
    drift = {key: value - known[key[0]] for key, value in new.items()}
    mean = sum(drift.values()) / len(drift)
    parts = {key: (d - mean) / len(drift) for key, d in drift.items()}
    _items, old_raters, old_labels = sums_of_squares(
        {key: (value - known[key[0]]) / len(old) for key, value in old.items()}
    )
    common = max(0.0, old_raters - old_labels)
    return mean, *summed_by_hand(spread_by_hand(parts), (common, RATERS - 1)), parts, common


def plain_cells(version: PublishedVersion) -> dict[str, dict[str, float]]:
    """By system, the cell of SSA in a published block."""
    ask = json.loads(version.snapshot)["results"]["asks"][0]
    number = [column["key"] for column in ask["columns"]].index("ssa")
    return {bot["bot"]: bot["cells"][number] for bot in ask["bots"]}


def only_board() -> dict[str, Any]:
    [board] = leaderboard_page("1")["boards"]
    return board


def test_studies_with_different_raters_are_put_in_the_order_of_the_planted_truth(
    first_wave: Study, run_study: Any, rex: User, published: Publish
) -> None:
    pack = pack_from(first_wave, rex)
    mild = run_study("Mild raters", ("Beta", "Gamma"), -0.25, pack)
    harsh = run_study("Harsh raters", ("Delta", "Epsilon"), 0.3, pack)
    versions = [
        published(study, address=address, title=study.title, in_leaderboard="on")
        for study, address in ((mild, "mild"), (harsh, "harsh"))
    ]

    [table] = only_board()["linked"]

    plain = {name: cell for version in versions for name, cell in plain_cells(version).items()}
    linked = {each["bot"]: each["cell"] for each in table["systems"]}
    truth = {name: 100 * QUALITY[name] for name in linked}
    assert linked.keys() == {"Beta", "Gamma", "Delta", "Epsilon"}
    assert (table["score"], table["is_percent"], table["studies"], table["has_source"]) == (
        "SSA",
        True,
        2,
        False,
    )

    assert table["level"] == 0.95
    normal = NormalDist().inv_cdf(0.975)
    for study, names in ((mild, ("Beta", "Gamma")), (harsh, ("Delta", "Epsilon"))):
        shift, error, _, drift, common = shift_by_hand(first_wave, study)
        labels = labels_of(study, anchors=False)
        for name in names:
            of_system = [
                labels[key] for key in labels
                if study.items.filter(response=key[0], response__run__system=name).exists()
            ]  # fmt: skip
            assert len(of_system) == ITEMS * RATERS
            value = sum(of_system) / len(of_system)
            own = {
                key: (label - value) / len(of_system)
                for key, label in labels.items()
                if study.items.filter(response=key[0], response__run__system=name).exists()
            }
            total, reach = summed_by_hand(difference_by_hand(own, drift), (common, RATERS - 1))
            assert plain[name]["value"] == EQUAL(value)
            assert linked[name]["value"] == EQUAL(plain[name]["value"] - shift)
            assert linked[name]["error"] == EQUAL(total)
            assert (linked[name]["high"] - linked[name]["low"]) / 2 == EQUAL(reach)
            # Strictness that score and shift share cancels: less than the sum of both variances.
            assert total**2 < spread_by_hand(own)[0] + error**2
            assert linked[name]["low"] < truth[name] < linked[name]["high"]
            assert abs(linked[name]["value"] - truth[name]) < abs(plain[name]["value"] - truth[name]) / 2

    # Plain scores put the systems of the mild raters above the better ones of the harsh raters.
    assert sorted(plain, key=lambda name: -plain[name]["value"]) == ["Gamma", "Beta", "Epsilon", "Delta"]
    assert [each["bot"] for each in table["systems"]] == ["Epsilon", "Delta", "Gamma", "Beta"]
    ranks = {each["bot"]: each["rank"] for each in table["systems"]}
    halves = halves_within(versions)
    # For ranks, errors are those of the normal distributions with equally wide intervals.
    for_ranks = plain_with_errors(linked, normal)
    narrow, wide = ranks_by_hand(for_ranks, halves, normal)
    for name, rank in ranks.items():
        assert wide[name]["best"] <= rank["best"] <= narrow[name]["best"], name
        assert narrow[name]["worst"] <= rank["worst"] <= wide[name]["worst"], name
    # By plain scores, the best system would be sure not to be the best, and the worst not the worst.
    by_plain, _wide = ranks_by_hand(plain_with_errors(plain, normal), halves, normal)
    assert (by_plain["Epsilon"]["best"], by_plain["Beta"]["worst"]) == (2, 3)
    assert (ranks["Epsilon"]["best"], ranks["Beta"]["worst"]) == (1, 4)
    for number, name in enumerate(sorted(truth, key=lambda name: -truth[name]), 1):
        assert ranks[name]["best"] <= number <= ranks[name]["worst"]

    page = Client().get("/leaderboards/").content.decode()
    assert "On one scale by the anchors “Wave 1”, version 1" in page
    assert "not linked" not in page
    assert "study of the anchors" not in page  # it is not published
    computed(first_wave)
    published(first_wave, address="first", title="First wave", in_leaderboard="on")
    [table] = only_board()["linked"]
    [alpha] = [each for each in table["systems"] if each["is_source"]]
    assert (alpha["bot"], table["studies"], table["has_source"]) == ("Alpha", 3, True)
    given = labels_of(first_wave, anchors=False)
    assert alpha["cell"]["value"] == EQUAL(sum(given.values()) / len(given))
    assert "study of the anchors" in Client().get("/leaderboards/").content.decode()


def halves_within(versions: list[PublishedVersion]) -> dict[frozenset[str], float]:
    """By two systems of one study, half the width of the interval of their difference of SSA."""
    found = {}
    for version in versions:
        for each in json.loads(version.snapshot)["results"]["asks"][0]["comparisons"]:
            if each["score"] == "ssa":
                wider = max(each["high"] - each["difference"], each["difference"] - each["low"])
                found[frozenset((each["first"], each["second"]))] = wider
    return found


def plain_with_errors(cells: dict[str, dict[str, float]], normal: float) -> dict[str, dict[str, float]]:
    return {
        name: {"value": cell["value"], "error": (cell["high"] - cell["low"]) / 2 / normal}
        for name, cell in cells.items()
    }


def ranks_by_hand(
    cells: dict[str, dict[str, float]], halves: dict[frozenset[str], float], normal: float
) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, int]]]:
    """Rank intervals by the largest of all studentized differences, drawn anew, in steps down.

    Returns:
        Ranks with a critical value that is a little lower, and a little higher, than the drawn one: no result
        depends on the draws.
    """
    names = list(cells)
    p = len(names)
    variance = np.array(
        [
            [
                (halves[pair] / normal) ** 2
                if (pair := frozenset((first, second))) in halves
                else (cells[first]["error"] ** 2 + cells[second]["error"] ** 2) * (first != second)
                for second in names
            ]
            for first in names
        ]
    )
    own = np.array([cells[name]["error"] ** 2 for name in names])
    errors = np.random.default_rng(7).multivariate_normal(
        np.zeros(p), (own[:, None] + own[None, :] - variance) / 2, size=100_000
    )
    pairs = [(i, j) for i, j in product(range(p), range(p)) if i != j]
    drawn = {(i, j): (errors[:, i] - errors[:, j]) / variance[i, j] ** 0.5 for i, j in pairs}
    seen = {
        (i, j): (cells[names[i]]["value"] - cells[names[j]]["value"]) / variance[i, j] ** 0.5
        for i, j in pairs
    }
    found = []
    for slack in (-0.05, 0.05):
        open_pairs, better = set(pairs), set()
        while open_pairs:
            largest = np.max([drawn[pair] for pair in open_pairs], axis=0)
            critical = np.quantile(largest, 2 * NormalDist().cdf(normal) - 1) + slack
            rejected = {pair for pair in open_pairs if seen[pair] > critical}
            if not rejected:
                break
            better |= rejected
            open_pairs -= rejected
        found.append(
            {
                name: {
                    "best": 1 + sum(worse == n for _better, worse in better),
                    "worst": p - sum(first == n for first, _worse in better),
                }
                for n, name in enumerate(names)
            }
        )
    return found[0], found[1]


def test_a_board_says_why_scores_are_not_linked(
    first_wave: Study, run_study: Any, make_queue: MakeQueue, rex: User, published: Publish
) -> None:
    pack = pack_from(first_wave, rex)
    other_wave = make_queue(ANCHORS, raters=RATERS, title="Other wave")
    rated_by(other_wave, severity=0.1)
    other = pack_from(set_state(other_wave.pk, Study.State.CLOSED), rex, "Other anchors")
    for title, address, of in (("One", "one", pack), ("Two", "two", other), ("<Three>", "three", None)):
        study = run_study(title, ("Beta", "Gamma"), 0.0, of)
        published(study, address=address, title=title, in_leaderboard="on")

    board = only_board()
    page = Client().get("/leaderboards/").content.decode()

    assert (board["linked"], "On one scale" in page) == ([], False)
    assert "Scores of these studies are not linked: no two of them share anchors." in page
    assert "“&lt;Three&gt;” is not linked: it judged no anchors." in page
    for title, name in (("One", "Wave 1"), ("Two", "Other anchors")):
        says = f"“{title}” judged the anchors “{name}”, version 1, which no other study here has."
        assert says in page
    computed(first_wave)
    published(first_wave, address="first", title="First wave", in_leaderboard="on")
    [table] = only_board()["linked"]
    assert {each["title"] for each in table["systems"]} == {"One", "First wave"}
    page = Client().get("/leaderboards/").content.decode()
    assert "share anchors" not in page
    assert "“One” judged" not in page
    assert "“Two” judged the anchors “Other anchors”, version 1, which no other study here has." in page
    Publication.objects.filter(slug__in=["one", "two", "first"]).update(in_leaderboard=False)
    assert only_board()["not_linked"] == []  # of a study alone


def test_studies_of_another_kind_have_a_board_of_their_own_which_says_why(
    judged: Study, make_study: MakeStudy, published: Publish
) -> None:
    """Of the same protocol and questions, once with responses and once with conversations."""
    first = published(judged, address="conversations", in_leaderboard="on")
    protocol, kind, questions = first.comparable.rsplit(":", 2)
    assert kind == "interactive"
    assert only_board()["other_kinds"] == []
    snapshot = json.loads(first.snapshot)
    snapshot["results"]["evaluation"] = "static"
    of = Publication.objects.create(study=make_study({"x": 1}), slug="responses", in_leaderboard=True)
    PublishedVersion.objects.create(
        publication=of, number=1, published_at=first.published_at, snapshot=json.dumps(snapshot),
        sha256="0" * 64, comparable=f"{protocol}:static:{questions}",
    )  # fmt: skip

    boards = {board["kind"]: board["other_kinds"] for board in leaderboard_page("1")["boards"]}
    page = " ".join(Client().get("/leaderboards/").content.decode().split())

    talks, responses = "conversations judged by those who had them", "responses to contexts"
    assert boards == {talks: [responses], responses: [talks]}
    assert f"stand on a board of their own: {responses}. Their scores are not comparable with these" in page
    assert "anchors correct for different raters" in page


def test_a_leaderboard_reads_each_snapshot_once_and_asks_equally_often_for_any_number_of_boards(
    judged: Study, make_study: MakeStudy, published: Publish
) -> None:
    """Boards of three protocols, each with several studies."""
    first = published(judged, address="first", in_leaderboard="on")

    def copies(number: int, board: str) -> None:
        for n in range(number):
            of = Publication.objects.create(
                study=make_study({"x": 1}, title=f"{board} {n}"), slug=f"{board}-{n}", in_leaderboard=True
            )
            PublishedVersion.objects.create(
                publication=of, number=1, published_at=first.published_at, snapshot=first.snapshot,
                sha256=first.sha256, comparable=f"{board}:of-others",
            )  # fmt: skip

    cache.clear()
    alone = queries()
    copies(3, "b")
    copies(4, "c")
    first_time = queries()
    again = queries()

    assert len(first_time) == len(alone)
    assert [sql for sql in first_time if '"snapshot"' in sql] != []
    assert [sql for sql in again if '"snapshot"' in sql] == []  # they are cached
    assert len(again) < len(first_time)
    with override_settings(CACHES=NOWHERE):
        assert [len(board["blocks"]) for board in leaderboard_page("1")["boards"]] == [3, 4, 1]
    published(judged, address="", in_leaderboard="on", title="Newer")  # a new version is read, too
    assert "Newer" in Client().get("/leaderboards/").content.decode()


def queries() -> list[str]:
    with CaptureQueriesContext(connection) as made:
        assert Client().get("/leaderboards/").status_code == 200
    return [each["sql"] for each in made]
