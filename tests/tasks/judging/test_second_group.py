"""A part of a study judged again by other people."""

import csv
import io
from collections import Counter
from collections.abc import Callable

import pytest
from django.test import Client
from django.utils import timezone

from tests.asking import ANSWERS, LIKENESS, LIKERT, SCALES, SSA, asking, judge_all, judging_both
from tests.conftest import MakeContexts, MakeQueue, MakeRun, MakeStudy
from tests.desks import begin, judge
from tests.planted import talked
from tests.studies.test_rest import called
from turnwise.accounts.models import User
from turnwise.judging.items import subjects
from turnwise.judging.models import Item
from turnwise.judging.readers import second_group
from turnwise.studies.asks import UNDER_EACH_REPLY, About, AskSpec, Moment
from turnwise.studies.models import PrimaryAnalysis, Study
from turnwise.studies.services import set_state

pytestmark = pytest.mark.django_db

SignIn = Callable[[User], Client]
YES, NO = {"sensible": True, "specific": True}, {"sensible": False}


@pytest.fixture
def judged(make_queue: MakeQueue, make_contexts: MakeContexts, make_run: MakeRun) -> Study:
    """Two raters find what Alpha says sensible, and what Beta says not."""
    study, contexts = make_queue(raters=2), make_contexts(4)
    for system in ("Alpha", "Beta"):
        subjects.add_responses(study, make_run(contexts, system))
    for _ in range(2):
        judge(study, _by_system)
    return study


def _by_system(item: Item) -> dict[str, bool]:
    assert item.response
    return YES if item.response.run.system == "Alpha" else NO


def _contexts(study: Study) -> set[str]:
    return set(study.items.values_list("response__context__key", flat=True))


def draw(browser: Client, study: Study, **chosen: object) -> Study:
    sent = {"number": 2, "raters": 2, "seed": 1} | chosen
    answer = browser.post(f"/studies/{study.pk}/second-group/", sent)
    assert answer.status_code == 302, answer.content.decode()
    return Study.objects.latest("pk")


def test_the_same_contexts_are_judged_again_and_both_groups_stand_beside_each_other(
    judged: Study, rex: User, sign_in: SignIn
) -> None:
    browser, address = sign_in(rex), f"/studies/{judged.pk}/second-group/"

    again = draw(browser, judged)

    # Whole contexts, with the responses of both systems.
    assert (again.state, again.question_set, again.judging.raters_per_item) == ("draft", "ssa", 2)
    assert again.items.count() == 4
    assert len(_contexts(again)) == 2
    assert "Nothing to compare yet." in browser.get(f"{address}{again.pk}/").content.decode()

    again = set_state(again.pk, Study.State.OPEN)
    for answer in (YES, NO):
        judge(again, lambda item, answer=answer: answer)  # type: ignore[misc]
    assert f'href="{address}{again.pk}/"' in browser.get(address).content.decode()
    (of_both,) = second_group.compare_groups(judged, again)
    alpha, beta = of_both.systems
    assert (alpha["system"], alpha["items"]) == ("Alpha", 2)
    for system, first in ((alpha, 100), (beta, 0)):
        sensible = system["scores"][0]
        assert sensible["first"]["value"] == first
        assert sensible["second"]["value"] == 50
        assert sensible["difference"]["value"] == first - 50
    page = browser.get(f"{address}{again.pk}/").content.decode()
    assert (of_both.number, of_both.questions.key) == (0, "ssa")
    assert "+50.0" in page
    assert "2 items of both" in page
    assert "Sensibleness: the first group" in page
    rows = list(csv.DictReader(io.StringIO(browser.get(f"{address}{again.pk}/groups.csv").content.decode())))
    assert [(row["system"], row["first"], row["second"], row["items"]) for row in rows[:3]] == [
        ("Alpha", "100.0", "50.0", "2")
    ] * 3
    assert float(rows[0]["difference"]) == 50
    assert (rows[0]["score"], rows[2]["score"], rows[3]["system"]) == ("Sensibleness", "SSA", "Beta")


def test_excluded_workers_count_as_in_the_primary_analysis(judged: Study, rex: User, sign_in: SignIn) -> None:
    again = set_state(draw(sign_in(rex), judged).pk, Study.State.OPEN)
    for answer in (YES, NO):
        judge(again, lambda item, answer=answer: answer)  # type: ignore[misc]
    says_no = again.participations.latest("pk")
    says_no.excluded_at, says_no.excluded_reason = timezone.now(), "Careless"
    says_no.save()

    def of_second() -> float:
        (of_both,) = second_group.compare_groups(judged, again)
        alpha, _ = of_both.systems
        return float(alpha["scores"][0]["second"]["value"])

    Study.objects.filter(pk=again.pk).update(primary_analysis=PrimaryAnalysis.ALL)
    assert of_second() == 50
    Study.objects.filter(pk=again.pk).update(
        primary_analysis=PrimaryAnalysis.WITHOUT_EXCLUDED, exclusion_rules="Careless workers."
    )
    assert of_second() == 100


def test_a_seed_draws_the_same_and_another_draws_others(
    make_queue: MakeQueue, rex: User, sign_in: SignIn
) -> None:
    study, browser = make_queue(12), sign_in(rex)

    one, same, other = (draw(browser, study, number=6, seed=seed) for seed in (1, 1, 2))

    assert _contexts(one) == _contexts(same) != _contexts(other)
    assert len(_contexts(one)) == len(_contexts(other)) == 6


def test_conversations_are_drawn_alike_of_each_bot(make_study: MakeStudy, rex: User, sign_in: SignIn) -> None:
    study = make_study({"one": 3, "two": 3})
    for _ in range(6):
        talked(study, [(True, True)] * 7)
    browser = sign_in(rex)

    again = draw(browser, study, number=4)

    drawn = {item.turn.dialogue_id: item.turn.bot_version.bot.name for item in again.items.all()}  # type: ignore[union-attr]
    assert Counter(drawn.values()) == {"one": 2, "two": 2}
    assert again.items.count() == 4 * 7
    assert again.consent_versions.count() == 0  # who reads agrees to something else than who talks
    page = browser.get(f"/studies/{study.pk}/second-group/").content.decode()
    assert "Agreement of chatters and readers" in page


def test_what_cannot_be_drawn_is_said_and_makes_nothing(
    study: Study, make_queue: MakeQueue, rex: User, sign_in: SignIn
) -> None:
    browser, sent = sign_in(rex), {"number": 2, "raters": 2, "seed": 1}
    address = f"/studies/{study.pk}/second-group/"

    empty = browser.post(address, sent)
    too_many = browser.post(address, sent | {"raters": 26})

    assert (empty.status_code, too_many.status_code) == (422, 422)
    assert "has nothing finished yet" in empty.content.decode()
    assert "less than or equal to 25" in too_many.content.decode()
    assert Study.objects.count() == 1
    other = make_queue(1)
    assert browser.get(f"/studies/{other.pk}/second-group/{other.pk}/").status_code == 404


# --- several asks -----------------------------------------------------------------------------------


def test_a_second_group_is_asked_all_that_the_first_was(
    make_asking_both: Callable[[], Study], rex: User, sign_in: SignIn
) -> None:
    judged, browser = make_asking_both(), sign_in(rex)

    again = draw(browser, judged, number=2)

    assert [(ask.number, ask.question_set, ask.about) for ask in again.work_asks] == [
        (0, "ssa", "response"), (1, "likert", "dialogue"),
    ]  # fmt: skip
    drawn = {item.turn.dialogue_id if item.turn else item.dialogue_id for item in again.items.all()}
    assert len(drawn) == 2  # the same conversations, turn by turn and as wholes
    assert [ask.items.count() for ask in again.work_asks] == [4, 2]

    again = set_state(again.pk, Study.State.OPEN)
    for _ in range(2):
        judge_all(begin(again), ANSWERS | {"ssa": YES, "likert": dict.fromkeys(SCALES, 6)})
    ssa, likert = second_group.compare_groups(judged, again)

    assert [ask.questions.key for ask in (ssa, likert)] == ["ssa", "likert"]
    (of_turns,), (of_wholes,) = ssa.systems, likert.systems
    assert (of_turns["items"], of_wholes["items"]) == (4, 2)
    # By hand: the first group says sensible and not specific, and 4 throughout; the second both, and 6.
    assert [(score["first"]["value"], score["second"]["value"]) for score in of_turns["scores"]] == [
        (100, 100), (0, 100), (50, 100),
    ]  # fmt: skip
    assert [score["difference"]["value"] for score in of_wholes["scores"]] == [-2] * 5 + [-10]
    address = f"/studies/{judged.pk}/second-group/{again.pk}/"
    page = browser.get(address).content.decode()
    for ask in again.work_asks:
        assert f"{ask.title}</h2>" in page
    rows = list(csv.DictReader(io.StringIO(browser.get(f"{address}groups.csv").content.decode())))
    assert Counter((row["ask"], row["question_set"]) for row in rows) == {("0", "ssa"): 3, ("1", "likert"): 6}
    assert browser.get(f"/studies/{judged.pk}/second-group/").content.decode().count(address) == 1


@pytest.fixture
def make_asking_both(make_study: MakeStudy) -> Callable[[], Study]:
    def make() -> Study:
        talks = make_study(min_turns=4)
        for _ in range(3):
            talked(talks, [(True, True)] * 2)
        study = judging_both(talks)
        for _ in range(2):
            judge_all(begin(study))
        return study

    return make


def test_readers_are_asked_all_that_those_who_talked_were(
    make_study: MakeStudy, rex: User, sign_in: SignIn
) -> None:
    scales = AskSpec("likert", About.DIALOGUE, Moment.AT_END, required=False)
    study = make_study(asks=[UNDER_EACH_REPLY, scales])
    talked(study, [(True, True)] * 7)

    again = draw(sign_in(rex), study, number=1)

    assert [(ask.question_set, ask.about, ask.by) for ask in again.work_asks] == [
        ("ssa", "response", "readers"), ("likert", "dialogue", "readers"),
    ]  # fmt: skip
    assert [ask.items.count() for ask in again.work_asks] == [7, 1]


def test_asks_of_both_are_set_beside_each_other_in_whichever_order(
    make_asking_both: Callable[[], Study],
) -> None:
    first = make_asking_both()
    second = asking(first.owner, LIKERT, LIKENESS)
    talks = Study.objects.exclude(pk__in=[first.pk, second.pk]).get()
    subjects.add_dialogues(second, talks, language="en")
    subjects.add_turns(second, talks, language="en")
    second = set_state(second.pk, Study.State.OPEN)
    judge_all(begin(second))

    (of_both,) = second_group.compare_groups(first, second)

    assert (of_both.number, of_both.questions.key, of_both.systems[0]["items"]) == (1, "likert", 3)
    assert not second_group.have_common_asks(second, asking(first.owner, SSA))


def test_a_program_makes_a_second_group_and_reads_what_the_page_shows(
    judged: Study, rex: User, mallory: User, sign_in: SignIn
) -> None:
    path = f"/studies/{judged.code}/second-groups"

    made = called(rex, "POST", path, {"number": 2, "raters": 2})
    again = set_state(Study.objects.get(code=made.json()["code"]).pk, Study.State.OPEN)
    for _ in range(2):
        judge(again, _by_system)

    assert (made.status_code, made.json()["state"], made.json()["items"]) == (201, "draft", 4)
    assert [each["code"] for each in called(rex, "GET", path).json()] == [again.code]
    rows = called(rex, "GET", f"{path}/{again.code}").json()["rows"]
    file = sign_in(rex).get(f"/studies/{judged.pk}/second-group/{again.pk}/groups.csv").content.decode()
    shown = list(csv.DictReader(io.StringIO(file)))
    as_text = [{key: "" if value is None else str(value) for key, value in row.items()} for row in rows]
    assert as_text == shown
    assert {row["first"] for row in rows if row["system"] == "Alpha"} == {100.0}
    assert called(mallory, "GET", f"{path}/{again.code}").status_code == 404


@pytest.mark.parametrize(
    ("sent", "status"), [({"language": "tlh"}, 422), ({"number": 0}, 422), ({"people": 3}, 422)]
)
def test_a_program_is_told_what_cannot_be_drawn(
    judged: Study, rex: User, sent: dict[str, object], status: int
) -> None:
    before = Study.objects.count()

    answer = called(rex, "POST", f"/studies/{judged.code}/second-groups", sent)

    assert answer.status_code == status
    assert next(iter(sent)) in answer.content.decode()
    assert Study.objects.count() == before
