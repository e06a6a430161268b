"""Which pairs are made, how they are shown, and who may judge them."""

import json
from collections import Counter
from typing import Any
from uuid import UUID

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection
from django.test import Client
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as some

from evaluation.texts.uninformative_contexts import Contexts
from tests.conftest import MakeContexts, MakePairs, MakeQueue, MakeRun, MakeStudy, MakeVersion
from tests.desks import begin
from tests.planted import talked
from tests.rewriting import rewriting
from turnwise.accounts import credentials
from turnwise.accounts.models import User
from turnwise.crowd.models import Participation
from turnwise.judging.items import pair_sampling, pairs, subjects
from turnwise.judging.items.pair_sampling import Side
from turnwise.judging.items.pairs import PairSource
from turnwise.judging.models import Item, Slot
from turnwise.judging.queue import services as judging
from turnwise.judging.queue.rater_session import RaterSession
from turnwise.labels.models import Label, Pair
from turnwise.live.frames import RefusedError
from turnwise.responses.models import Response, ResponseRun
from turnwise.studies.models import Study
from turnwise.tasks.judging import results

pytestmark = pytest.mark.django_db


def sides(system: str, *names: str, at: int = 0) -> list[Side]:
    return [Side(at + n, name, f"{system} {name}") for n, name in enumerate(names)]


# --- the draw ----------------------------------------------------------------------------------------


@given(
    some.lists(some.sets(some.integers(0, 30), min_size=1), min_size=2, max_size=4),
    some.integers(1, 40),
    some.integers(0, 5),
)
def test_every_two_systems_are_paired_on_common_contexts_equally_often_if_possible(
    contexts: list[set[int]], each: int, seed: int
) -> None:
    systems = {
        f"S{n}": [Side(1000 * n + c, f"c{c}", f"S{n} says {c}") for c in sorted(mine)]
        for n, mine in enumerate(contexts)
    }

    for found in pair_sampling.draw_response_pairs(systems, set(), each=each, seed=seed):
        one, other = int(found.one[1:]), int(found.other[1:])
        assert len(found.pairs) == min(each, len(contexts[one] & contexts[other]))
        assert all(pair.first % 1000 == pair.second % 1000 for pair in found.pairs)
        assert {(pair.first // 1000, pair.second // 1000) for pair in found.pairs} <= {(one, other)}


@given(some.integers(1, 20), some.integers(1, 20), some.integers(1, 25), some.integers(0, 5))
def test_a_conversation_is_paired_with_at_most_one_of_each_system(
    many: int, few: int, each: int, seed: int
) -> None:
    systems = {
        "A": [Side(n, f"a{n}") for n in range(many)],
        "B": [Side(100 + n, f"b{n}") for n in range(few)],
    }

    (found,) = pair_sampling.draw_conversation_pairs(systems, set(), each=each, seed=seed)

    assert len(found.pairs) == min(many, few, each)
    assert max(Counter(each for pair in found.pairs for each in pair).values()) == 1


def test_a_seed_is_reproducible_and_another_seed_draws_other_pairs() -> None:
    systems = {"A": sides("A", *map(str, range(50))), "B": sides("B", *map(str, range(50)), at=100)}

    first, again, other = (
        pair_sampling.draw_response_pairs(systems, set(), each=10, seed=seed)[0] for seed in (1, 1, 2)
    )

    assert first == again
    assert first.pairs != other.pairs


def test_further_pairs_are_added_to_the_earlier_ones() -> None:
    systems = {"A": sides("A", *map(str, range(50))), "B": sides("B", *map(str, range(50)), at=100)}
    known = set(pair_sampling.draw_conversation_pairs(systems, set(), each=10, seed=1)[0].pairs)

    (more,) = pair_sampling.draw_conversation_pairs(systems, known, each=15, seed=1)

    assert (more.existing, len(more.pairs)) == (10, 5)
    used = [each for pair in (*known, *more.pairs) for each in pair]
    assert len(set(used)) == len(used)


def test_two_equal_texts_make_no_pair() -> None:
    systems = {"A": [Side(1, "c", "Yes.")], "B": [Side(2, "c", "Yes.")]}

    (found,) = pair_sampling.draw_response_pairs(systems, set(), each=None, seed=1)

    assert (found.pairs, found.identical) == ([], 1)


# --- adding them -------------------------------------------------------------------------------------


def runs_of(study: Study) -> list[ResponseRun]:
    return list(ResponseRun.objects.filter(owner=study.owner).order_by("pk"))


def test_all_pairs_of_three_systems_with_half_of_the_slots_either_way(make_pairs: MakePairs) -> None:
    study = make_pairs(20, ("Alpha", "Beta", "Gamma"), raters=4)

    assert study.items.count() == 3 * 20
    for item in study.items.all():
        assert Counter(item.slots.values_list("is_swapped", flat=True)) == {True: 2, False: 2}
    first_slots = list(Slot.objects.filter(study=study, number=1).values_list("is_swapped", flat=True))
    assert 15 < sum(first_slots) < 45  # of 60; which way an item begins is chance: 4 sigma


def test_adding_the_same_again_adds_nothing(make_pairs: MakePairs) -> None:
    study = make_pairs(5)

    assert pairs.add(study, PairSource.of_runs(runs_of(study))) == 0
    assert study.items.count() == 5


def test_the_preview_names_judgments_workers_and_pay(
    make_pairs: MakePairs, make_contexts: MakeContexts, make_run: MakeRun
) -> None:
    study = make_pairs(raters=6, batch=50, pay_amount="2.50")
    version = make_contexts(100)
    source = PairSource.of_runs([make_run(version, name) for name in ("A", "B", "C")], each=40)

    seen = pairs.preview(study, source)

    # 3 pairs of systems of 40 contexts, 6 raters each; 720 judgments are 15 batches of 50 at most
    assert (seen.items, seen.cost.judgments, seen.cost.batches, float(seen.cost.total)) == (
        120,
        720,
        15,
        37.5,
    )
    assert not study.items.exists()
    assert pairs.add(study, source) == 120


def test_a_request_for_too_many_pairs_is_refused_with_the_numbers(
    make_pairs: MakePairs, make_contexts: MakeContexts, make_run: MakeRun
) -> None:
    study, version = make_pairs(), make_contexts(12)
    runs = [make_run(version, name) for name in ("ELIZA", "GenericBot")]
    with rewriting():
        Response.objects.filter(context__key="c3").update(text="Hello.")

    with pytest.raises(ValidationError, match=r"need 20 contexts .* ELIZA and GenericBot: 11 \(1 left out"):
        pairs.add(study, PairSource.of_runs(runs, each=20))
    assert not Item.objects.exists()
    assert not Pair.objects.exists()


def test_one_system_makes_no_pairs(
    make_pairs: MakePairs, make_contexts: MakeContexts, make_run: MakeRun
) -> None:
    study, version = make_pairs(), make_contexts(3)

    with pytest.raises(ValidationError, match="only of “Alpha” in en, and a pair needs two systems"):
        pairs.preview(study, PairSource.of_runs([make_run(version, "Alpha")]))
    with pytest.raises(ValidationError, match="Two of the runs are of “Alpha”"):
        PairSource.of_runs([make_run(version, "Alpha"), make_run(version, "Alpha")])


def test_a_study_without_questions_about_pairs_takes_no_pairs(
    make_queue: MakeQueue, make_contexts: MakeContexts, make_run: MakeRun
) -> None:
    study, version = make_queue(), make_contexts(3)

    with pytest.raises(ValidationError, match="cannot be asked about pairs"):
        pairs.add(study, PairSource.of_runs([make_run(version, name) for name in ("A", "B")]))


def test_a_study_of_pairs_takes_no_single_responses(
    make_pairs: MakePairs, make_contexts: MakeContexts, make_run: MakeRun
) -> None:
    with pytest.raises(ValidationError, match="only about pairs"):
        subjects.add_responses(make_pairs(), make_run(make_contexts(1), "Alpha"))


def test_the_database_refuses_a_pair_of_different_kinds_and_one_of_the_same(
    make_contexts: MakeContexts, make_run: MakeRun
) -> None:
    one = make_run(make_contexts(1), "Alpha").responses.get()

    with pytest.raises(IntegrityError, match="pair_is_of_two_alike"):
        Pair.objects.create(first_response=one, second_response=one)


@pytest.fixture
def talks(make_study: MakeStudy) -> Study:
    """Four finished conversations with each of two bots, in turns."""
    study = make_study({"ann": 100, "bob": 100}, min_turns=2, max_turns=8)
    for number in range(8):
        talked(study, [(True, True)], text=f"Number {number}")
    return study


def test_conversations_of_two_bots_stand_side_by_side(make_pairs: MakePairs, talks: Study) -> None:
    study = make_pairs(raters=2)

    assert pairs.add(study, PairSource.of_conversations([talks], language="en", each=3)) == 3

    desk = begin(study)
    item = judging.state(desk)["items"][0]
    assert item["context"] == []
    for side in item["sides"]:
        assert side["texts"][0] == "Hi!"
        assert side["texts"][2].startswith("Number")
        assert side["speaker"] == 0  # the bot opens
    with pytest.raises(ValidationError, match=r"need 5 conversations of each .* Ann and Bob: 4"):
        pairs.add(study, PairSource.of_conversations([talks], language="en", each=5))


# --- judging them ------------------------------------------------------------------------------------


def test_a_rater_sees_the_sides_in_the_order_of_the_slot(make_pairs: MakePairs) -> None:
    study = make_pairs(6, raters=1)
    desk = begin(study)

    for shown in judging.state(desk)["items"]:
        slot = Slot.objects.get(key=shown["key"])
        pair = slot.item.pair
        assert pair
        assert pair.first_response
        assert pair.second_response
        texts = [pair.first_response.text, pair.second_response.text]
        assert [side["texts"][0] for side in shown["sides"]] == (texts[::-1] if slot.is_swapped else texts)
        assert shown["context"] == pair.first_response.context.turns
        assert "Alpha" not in json.dumps({k: v for k, v in shown.items() if k != "sides"})


def test_items_sent_with_an_answer_keep_their_sides(make_pairs: MakePairs) -> None:
    study = make_pairs(10, raters=1)
    desk = begin(study)
    first = judging.state(desk)["items"][0]

    (leased,) = judging.judge(desk, key=UUID(first["key"]), answers={"better": "first"}).leased

    again = {item["key"]: item for item in judging.state(desk)["items"]}
    assert again[leased["key"]] == leased


def test_a_label_knows_its_pair_rater_party_and_occasion(make_pairs: MakePairs) -> None:
    study = make_pairs(2)
    desk = begin(study)
    key = UUID(judging.state(desk)["items"][0]["key"])

    judging.judge(desk, key=key, answers={"better": "second"})

    label = Label.objects.get()
    assert label.pair == Item.objects.get(key=key).pair
    assert (label.study, label.party, label.occasion, label.answers) == (
        study, "reader", 1, {"better": "second"},
    )  # fmt: skip
    with pytest.raises(RefusedError):
        judging.judge(desk, key=key, answers={"better": "left"})


def test_no_worker_judges_a_pair_in_two_studies(make_pairs: MakePairs) -> None:
    first = make_pairs(3)
    second = make_pairs()
    pairs.add(second, PairSource.of_runs(runs_of(first)))
    desk = begin(first)
    judging.judge(desk, key=UUID(judging.state(desk)["items"][0]["key"]), answers={"better": "tied"})

    worker = Participation.objects.get(pk=desk.participation_id).worker
    consent = second.consent_versions.get()
    again = begin(second, Participation.objects.create(worker=worker, study=second, consent=consent))

    assert len(judging.state(again)["items"]) == 2


def test_a_chatter_does_not_compare_their_own_conversation(make_pairs: MakePairs, talks: Study) -> None:
    study = make_pairs(raters=2)
    pairs.add(study, PairSource.of_conversations([talks], language="en"))
    pair = Pair.objects.order_by("pk").first()
    assert pair
    assert pair.first_dialogue
    chatter = pair.first_dialogue.seats.get(worker__isnull=False).worker
    assert chatter
    consent = study.consent_versions.get()

    desk = begin(study, Participation.objects.create(worker=chatter, study=study, consent=consent))

    own = str(Item.objects.get(pair=pair).key)
    assert own not in offered(desk)
    assert own in offered(begin(study))


def offered(desk: RaterSession) -> list[str]:
    """All that this worker gets, one after the other."""
    keys = []
    while items := judging.state(desk)["items"]:
        keys.append(items[0]["key"])
        judging.judge(desk, key=UUID(items[0]["key"]), answers={"better": "tied"})
    return keys


def test_an_abandoned_pair_keeps_its_sides(make_pairs: MakePairs) -> None:
    study = make_pairs(1, raters=1)
    desk = begin(study)
    (before,) = judging.state(desk)["items"]
    Slot.objects.filter(study=study).update(leased_until=timezone.now())

    (after,) = judging.state(begin(study))["items"]

    assert before == after
    with pytest.raises(RefusedError, match="given to somebody else"):
        judging.judge(desk, key=UUID(before["key"]), answers={"better": "first"})


# --- what the researcher sees ------------------------------------------------------------------------


def pages(client: Any, study: Study, item: Item) -> dict[str, str]:
    paths = {"queue": "queue/", "items": "items/", "item": f"items/{item.key}/"}
    found = {name: client.get(f"/studies/{study.pk}/{path}") for name, path in paths.items()}
    assert {page.status_code for page in found.values()} == {200}
    return {name: page.content.decode() for name, page in found.items()}


def test_votes_name_the_systems_on_either_side(make_pairs: MakePairs, rex: User, sign_in: Any) -> None:
    study = make_pairs(1, raters=4)
    for _ in range(4):
        desk = begin(study)
        (shown,) = judging.state(desk)["items"]
        beta = [side["texts"][0].startswith("Beta") for side in shown["sides"]]
        judging.judge(desk, key=UUID(shown["key"]), answers={"better": "first" if beta[0] else "second"})
    assert set(Label.objects.values_list("answers__better", flat=True)) == {"first", "second"}

    seen = pages(sign_in(rex), study, study.items.get())

    assert "Alpha against Beta" in seen["queue"]
    assert '<span class="nowrap">Beta 4</span>' in seen["items"]
    assert "0&nbsp;%" in seen["items"]
    assert seen["item"].count("<td>Beta</td>") == 4


def test_the_page_previews_and_adds_pairs(
    make_pairs: MakePairs, make_contexts: MakeContexts, make_run: MakeRun, rex: User, sign_in: Any
) -> None:
    study = make_pairs(pay_amount="1.00", raters=2, batch=5)
    version, client = make_contexts(10), sign_in(rex)
    runs = [make_run(version, name).pk for name in ("Alpha", "Beta")]
    sent = {"of": "responses", "responses-runs": runs, "responses-each": "5", "responses-seed": "1"}
    address = f"/studies/{study.pk}/queue/pairs/"
    assert 'href="' + address in client.get(f"/studies/{study.pk}/queue/").content.decode()

    previewed = client.post(address, sent).content.decode()

    assert "Alpha against Beta" in previewed
    assert "2.00 USD" in previewed  # 5 pairs of 2 raters are 2 batches of 5
    assert not study.items.exists()

    refused = client.post(address, sent | {"responses-each": "11"})
    assert refused.status_code == 422
    assert "Alpha and Beta: 10" in refused.content.decode()

    assert client.post(address, sent | {"add": "1"}).headers["Location"] == f"/studies/{study.pk}/queue/"
    assert study.items.count() == 5


LONG = "Could you tell me how far it is from here to the old harbour?"
CONTEXTS = [("Hi there!",), (LONG,), ("It rains <unk> and will go on like that for most of the day.",),
            ("Hi there!", "Hello, what do you want to hear about the town?")]  # fmt: skip


@pytest.fixture
def uneven(make_pairs: MakePairs, make_version: MakeVersion, make_run: MakeRun) -> tuple[Study, list[int]]:
    """Contexts of 2, 14, 13 and 12 words, the third of them with an unknown word."""
    version = make_version(turns=CONTEXTS)
    study = make_pairs(question_set="preferences")
    return study, [make_run(version, name).pk for name in ("Alpha", "Beta")]


def test_short_contexts_and_unknown_words_are_filtered_on_request_and_reported_otherwise(
    uneven: tuple[Study, list[int]], rex: User, sign_in: Any
) -> None:
    (study, runs), client = uneven, sign_in(rex)
    address = f"/studies/{study.pk}/queue/pairs/"
    sent = {"of": "responses", "responses-runs": runs, "responses-seed": "1"}
    paper = {"responses-least_words": "11", "responses-without_unknown": "on"}
    shown = client.get(address).content.decode()
    assert 'name="responses-least_words" value="11"' in shown  # the protocol's own

    previewed = client.post(address, sent | paper).content.decode()

    assert "2 contexts are left out" in previewed
    client.post(address, sent | paper | {"add": "1"})
    assert set(study.items.values_list("pair__first_response__context__key", flat=True)) == {"c2", "c4"}
    report = results.judged_pairs(study, study.work_asks[0])
    assert report.contexts == Contexts(items=2, fewest_words=12, short=0, unknown=0)
    refused = client.post(address, sent | {"responses-least_words": "50"})
    assert (refused.status_code, "Alpha and Beta: 0" in refused.content.decode()) == (422, True)

    client.post(address, sent | {"add": "1"})
    report = results.judged_pairs(study, study.work_asks[0])
    assert report.contexts == Contexts(items=4, fewest_words=2, short=1, unknown=1)


def test_the_api_adds_pairs_by_the_same_rules(
    uneven: tuple[Study, list[int]], rex: User, mallory: User
) -> None:
    study, runs = uneven

    def post(who: User, **sent: object) -> tuple[int, dict[str, Any]]:
        answer = Client().post(
            f"/api/studies/{study.code}/pairs",
            json.dumps({"runs": runs} | sent),
            content_type="application/json",
            HTTP_AUTHORIZATION=f"Bearer {credentials.create_token(who, 'test')}",
        )
        return answer.status_code, answer.json()

    assert post(mallory)[0] == 404
    status, said = post(rex, runs=[*runs, 10**9])
    assert (status, f"There is no run {10**9}" in said["detail"]) == (422, True)
    assert post(rex, least_words="many")[0] == 422
    assert post(rex, runs=runs[:1])[0] == 422
    assert not study.items.exists()

    assert post(rex, least_words=11, without_unknown=True) == (200, {"added": 2, "unfit": 2})
    assert post(rex, least_words=11, without_unknown=True) == (200, {"added": 0, "unfit": 2})
    assert study.items.count() == 2


def test_no_obsolete_database_function_is_left() -> None:
    """`judging_shown` has one form: with the order of the sides."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_proc WHERE proname = 'judging_shown'")
        assert cursor.fetchone() == (1,)
