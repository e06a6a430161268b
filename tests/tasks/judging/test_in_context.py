"""Systems side by side, context by context, against counts by hand and against the report's own figures."""

import csv
import io
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from evaluation.questions import REPLY_IMPRESSION, SSA
from evaluation.texts.personal_data import Kind
from tests.asking import judging_with_two_sets
from tests.conftest import MakeContexts, MakeQueue, MakeRun, enter
from tests.desks import begin, held, item_of
from tests.planted import computed
from tests.rewriting import rewriting
from turnwise.accounts.models import User
from turnwise.contexts.models import Context
from turnwise.crowd.places.ending import exclude
from turnwise.crowd.redaction import redact
from turnwise.judging.items import subjects
from turnwise.judging.models import Slot
from turnwise.judging.queue.services import judge
from turnwise.labels.models import Label
from turnwise.labels.queries import votes_on
from turnwise.studies.asks import Party
from turnwise.studies.models import Study
from turnwise.tasks.judging import context_results
from turnwise.tasks.judging.context_results import Narrowed, Order

pytestmark = pytest.mark.django_db

SignIn = Callable[[User], Client]
YES, MEH, NO = (
    {"sensible": True, "specific": True},
    {"sensible": True, "specific": False},
    {"sensible": False, "specific": False},
)
Votes = dict[tuple[str, str], list[dict[str, Any]]]
VOTES: Votes = {
    ("Alpha", "c1"): [YES, YES, NO], ("Beta", "c1"): [YES, YES, YES],
    ("Alpha", "c2"): [NO, NO, NO], ("Beta", "c2"): [MEH, MEH, NO],
    ("Alpha", "c3"): [MEH], ("Beta", "c3"): [],
}  # fmt: skip


def vote(study: Study, votes: Votes) -> None:
    """The first rater gives the first answer to each, and so on."""
    raters = [enter(study).worker for _ in range(max(map(len, votes.values())))]
    for (system, key), answers in votes.items():
        of = study.items.get(response__run__system=system, response__context__key=key)
        for number, (rater, answer) in enumerate(zip(raters, answers, strict=False), 1):
            now = timezone.now()
            label = Label.objects.create(
                study=study, response=of.response, rater=rater, party=Party.READER, answers=answer,
                ask=study.asks.get(), question_set=study.question_set, created_at=now, changed_at=now,
            )  # fmt: skip
            Slot.objects.filter(item=of, number=number).update(label=label)


def make_judged(
    make_queue: MakeQueue, make_contexts: MakeContexts, make_run: MakeRun, votes: Votes, **of: Any
) -> Study:
    study = make_queue(raters=3, **of)
    contexts = make_contexts(len({key for _, key in votes}))
    for system in sorted({system for system, _ in votes}):
        subjects.add_responses(study, make_run(contexts, system))
    vote(study, votes)
    return study


@pytest.fixture
def judged(make_queue: MakeQueue, make_contexts: MakeContexts, make_run: MakeRun) -> Study:
    return make_judged(make_queue, make_contexts, make_run, VOTES)


def listed(study: Study, order: Order, by: Narrowed | None = None) -> list[context_results.Ranked]:
    return context_results.ranked(study.work_asks[0], order, by or Narrowed(), limit=50, offset=0)


@pytest.mark.django_db(transaction=True)
def test_the_hardest_are_those_of_the_report(judged: Study) -> None:
    report = computed(judged).result
    assert report

    found = listed(judged, Order.HARDEST)

    # c1: means of sensible and specific, 5 raters with 1 and one with 0; c2: two raters with a half of six.
    assert [(each.key, each.judgments) for each in found] == [("c2", 6), ("c1", 6), ("c3", 1)]
    assert [each.score for each in found] == pytest.approx([100 / 6, 500 / 6, 50])
    hardest = report["breakdown"]["hardest"]
    assert [(row["name"], row["labels"]) for row in hardest] == [("c2", 6), ("c1", 6)]
    assert [row["value"] for row in hardest] == pytest.approx([each.score for each in found[:2]])


def test_the_most_disputed_come_first(judged: Study) -> None:
    found = listed(judged, Order.DISPUTED)

    # Shares beside the majority. c1: Alpha 1/3 for both questions, Beta none. c2: Beta 1/3 for the first.
    assert [each.key for each in found] == ["c1", "c2", "c3"]
    assert [each.disagreement for each in found[:2]] == pytest.approx([100 / 6, 100 / 12])
    assert found[2].disagreement is None
    assert [(each.number, each.of) for each in found] == [(1, 3), (2, 3), (3, 3)]
    assert [(each.back, each.on) for each in found] == [
        (None, found[1].pk), (found[0].pk, found[2].pk), (found[1].pk, None),
    ]  # fmt: skip


def test_what_was_said_stands_side_by_side_with_its_votes(judged: Study) -> None:
    context = Context.objects.get(key="c1")

    alpha, beta = context_results.responses(judged.work_asks[0], context.pk)

    assert (alpha.system, alpha.text) == ("Alpha", "Alpha answers c1.")
    assert list(alpha.scores.values()) == pytest.approx([200 / 3, 200 / 3, 200 / 3])
    assert [votes_on(each, alpha.answers) for each in SSA.questions] == [[("Yes", 2), ("No", 1)]] * 2
    assert list(beta.scores.values()) == [100, 100, 100]


def test_any_question_set_is_shown(
    make_queue: MakeQueue, make_contexts: MakeContexts, make_run: MakeRun
) -> None:
    keys = [question.key for question in REPLY_IMPRESSION.questions if question.choices]
    low, high = (dict.fromkeys(keys, points) for points in (2, 5))
    votes: Votes = {("Alpha", "c1"): [low, high], ("Alpha", "c2"): [high, high]}
    study = make_judged(make_queue, make_contexts, make_run, votes, question_set="reply-impression")
    main = REPLY_IMPRESSION.main_score
    assert main

    first, second = listed(study, Order.HARDEST)  # with fewer than three judgments: by score

    assert first.key == "c1"
    assert [first.score, second.score] == pytest.approx([3.5, 5])
    (said,) = context_results.responses(study.work_asks[0], first.pk)
    assert said.scores[main.key] == pytest.approx(3.5)


def test_excluded_workers_are_left_out_where_that_was_declared(judged: Study, rex: User) -> None:
    first = judged.participations.order_by("pk").first()
    assert first
    exclude(first.pk, reason="Too fast", by=rex)
    assert listed(judged, Order.HARDEST)[0].judgments == 6

    Study.objects.filter(pk=judged.pk).update(
        primary_analysis="without_excluded", exclusion_rules="Too fast."
    )
    judged = Study.objects.get(pk=judged.pk)

    found = listed(judged, Order.HARDEST)
    assert [(each.key, each.judgments) for each in found] == [("c2", 4), ("c1", 4), ("c3", 0)]
    assert found[0].score == pytest.approx(50 / 4)
    assert context_results.responses(judged.work_asks[0], found[2].pk)[0].answers == []


@pytest.mark.parametrize(
    ("by", "keys"),
    [
        (Narrowed(find="question 2"), ["c2"]),
        (Narrowed(find="c3"), ["c3"]),
        (Narrowed(category="pets"), ["c1"]),
        (Narrowed(turns=2), ["c2"]),
        (Narrowed(consistency="yes"), ["c2"]),
        (Narrowed(consistency="no", turns=1), ["c1", "c3"]),
        (Narrowed(find="%"), []),
    ],
)
def test_contexts_are_narrowed(judged: Study, by: Narrowed, keys: list[str]) -> None:
    _vary()

    assert sorted(each.key for each in listed(judged, Order.HARDEST, by)) == keys


def _vary() -> None:
    """As if they had been imported so; versions never change."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute("UPDATE contexts_context SET category = 'pets' WHERE key = 'c1'")
        cursor.execute(
            "UPDATE contexts_context SET consistency = true, turns = ARRAY['Hi', 'Question 2?']"
            " WHERE key = 'c2'"
        )
        cursor.execute("SET LOCAL session_replication_role = DEFAULT")


# --- pages ----------------------------------------------------------------------------------------


def test_the_pages_lead_from_the_list_through_the_contexts(
    judged: Study, rex: User, sign_in: SignIn, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    browser, address = sign_in(rex), f"/studies/{judged.pk}/report/contexts/"
    page = browser.get(f"{address}?order=disputed").content.decode()
    pks = dict(Context.objects.values_list("key", "pk"))
    assert page.index(f"{address}{pks['c1']}/?order=disputed") < page.index(f"{address}{pks['c2']}/?")

    with django_assert_max_num_queries(20):
        page = browser.get(f"{address}{pks['c2']}/?order=disputed").content.decode()

    assert f'rel="prev" href="{address}{pks["c1"]}/?order=disputed"' in page
    assert f'rel="next" href="{address}{pks["c3"]}/?order=disputed"' in page
    assert page.index("Alpha answers c2.") < page.index("Beta answers c2.")
    assert "<b>Yes</b> 2" in page
    assert "Number 2 of 3, the most disputed first" in page
    # A key leads straight to its context, as the links of the report's breakdown do.
    assert browser.get(f"{address}?find=c3").headers["Location"] == f"{address}{pks['c3']}/"


@pytest.mark.django_db(transaction=True)
def test_the_report_and_its_breakdown_lead_there(judged: Study, rex: User, sign_in: SignIn) -> None:
    computed(judged)

    page = sign_in(rex).get(f"/studies/{judged.pk}/report/").content.decode()

    assert f'href="/studies/{judged.pk}/report/contexts/"' in page
    assert f'href="/studies/{judged.pk}/report/contexts/?find=c2"' in page


def test_a_context_is_saved_as_files(judged: Study, rex: User, sign_in: SignIn) -> None:
    item = judged.items.get(response__run__system="Alpha", response__context__key="c2")
    assert item.response
    with rewriting():
        type(item.response).objects.filter(pk=item.response.pk).update(text="=1+1 & ask Bob Jones")
    redact(judged, [(Kind.NAME, "Bob Jones")], by=rex)
    browser, context = sign_in(rex), item.response.context_id
    address = f"/studies/{judged.pk}/report/contexts/{context}"

    rows = list(csv.DictReader(io.StringIO(browser.get(f"{address}.csv").content.decode())))
    table = browser.get(f"{address}.tex").content.decode()

    assert [row["system"] for row in rows] == ["Alpha", "Beta"]
    assert rows[0]["response"].startswith("'=1+1 & ask ")
    assert "Bob" not in rows[0]["response"] + table
    assert [rows[1][name] for name in ("sensible=true", "sensible=false", "raters")] == ["2", "1", "3"]
    assert float(rows[1][SSA.headline]) == pytest.approx(100 / 3)
    assert r"A: Question 2?} \\" in table
    assert r"=1+1 \& ask " in table
    assert r"Beta & Beta answers c2. & 66.7 & 0.0 & 33.3 & 3 \\" in table


def test_what_is_not_there_is_said(
    judged: Study, make_queue: MakeQueue, study: Study, rex: User, mallory: User, sign_in: SignIn
) -> None:
    browser, empty = sign_in(rex), make_queue()
    address = f"/studies/{judged.pk}/report/contexts/"
    strange = "?order=x&find=%25&turns=%C2%B2&category=%27&consistency=maybe&page=-1"

    assert "No response to a context" in browser.get(f"/studies/{empty.pk}/report/contexts/").content.decode()
    assert "No context matches." in browser.get(f"{address}?find=nothing").content.decode()
    assert browser.get(address + strange).status_code == 200
    other = Context.objects.get(key="c1").pk
    for missing in (f"{address}999999/", f"/studies/{empty.pk}/report/contexts/{other}/"):
        assert browser.get(missing).status_code == 404
    assert browser.get(f"{address}999999.csv").status_code == 404
    assert browser.get(f"/studies/{study.pk}/report/contexts/").status_code == 404  # of conversations
    assert sign_in(mallory).get(f"{address}{other}.csv").status_code == 404


# --- several asks -----------------------------------------------------------------------------------


@pytest.fixture
def severally(rex: User, make_contexts: MakeContexts, make_run: MakeRun) -> Study:
    """Open: two sets of questions about two systems' responses to two contexts."""
    return judging_with_two_sets(rex, make_contexts(2), make_run)


def test_each_ask_has_its_order_and_its_votes(severally: Study, rex: User, sign_in: SignIn) -> None:
    # By SSA c1 is the harder, by human-likeness c2.
    for _ in range(2):
        desk = begin(severally)
        while keys := held(desk):
            item = item_of(keys[0])
            is_c1 = item.response.context.key == "c1"  # type: ignore[union-attr]
            answers = {"human_like": is_c1} if item.ask.number else (NO if is_c1 else YES)
            judge(desk, key=UUID(keys[0]), answers=answers)
    browser, address = sign_in(rex), f"/studies/{severally.pk}/report/contexts/"
    pks = dict(Context.objects.values_list("key", "pk"))

    for ask, hardest in zip(severally.work_asks, ("c1", "c2"), strict=True):
        assert context_results.ranked(ask, Order.HARDEST, Narrowed(), limit=5, offset=0)[0].key == hardest
        page = browser.get(f"{address}?ask={ask.number}").content.decode()
        first, second = sorted(pks, key=lambda key: key != hardest)
        assert page.index(f"{address}{pks[first]}/") < page.index(f"{address}{pks[second]}/")
        assert f'<option value="{ask.number}" selected>{ask.title}</option>' in page

    page = browser.get(f"{address}{pks['c1']}/?ask=1").content.decode()
    assert page.count("Alpha answers c1.") == 1  # once, with the votes of both asks
    for ask in severally.work_asks:
        assert page.count(f"{ask.title}</h4>") == 2
    assert "Number 2 of 2, the hardest first" in page
    assert f'rel="prev" href="{address}{pks["c2"]}/?ask=1"' in page


def test_its_files_have_all_that_is_asked(severally: Study, rex: User, sign_in: SignIn) -> None:
    desk = begin(severally)
    while keys := held(desk):
        answers = {"human_like": True} if item_of(keys[0]).ask.number else MEH
        judge(desk, key=UUID(keys[0]), answers=answers)
    address = f"/studies/{severally.pk}/report/contexts/{Context.objects.get(key='c1').pk}"
    browser = sign_in(rex)

    rows = list(csv.DictReader(io.StringIO(browser.get(f"{address}.csv").content.decode())))
    tables = browser.get(f"{address}.tex").content.decode()

    assert [(row["question_set"], row["system"]) for row in rows] == [
        ("ssa", "Alpha"), ("ssa", "Beta"), ("human-likeness", "Alpha"), ("human-likeness", "Beta"),
    ]  # fmt: skip
    assert [rows[0][name] for name in ("sensible=true", "specific=true", "human_like=true")] == ["1", "0", ""]
    assert [rows[2][name] for name in ("sensible=true", "human_like=true", "raters")] == ["", "1", "1"]
    assert tables.count(r"\begin{tabular}") == 2
