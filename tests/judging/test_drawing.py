"""Responses to some contexts: drawn, the same of each system, of some categories and lengths."""

from collections import Counter
from hashlib import md5
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.conftest import MakeQueue, MakeRun
from tests.planted import SignIn
from tests.rewriting import rewriting
from turnwise.accounts.models import User
from turnwise.contexts.files import ContextRow
from turnwise.contexts.models import ContextSet, ContextSetVersion
from turnwise.contexts.services import import_version
from turnwise.judging.items import subjects
from turnwise.judging.items.item_selection import ContextSample, select_responses
from turnwise.judging.models import Item
from turnwise.judging.queue import services as judging
from turnwise.responses.models import ResponseRun
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db


@pytest.fixture
def version(rex: User) -> ContextSetVersion:
    """Twelve contexts: of two categories in turn, the last four of three turns."""
    rows = [
        ContextRow(
            n, f"c{n}", ("Hi!", "Hello.", f"Question {n}?") if n > 8 else (f"Question {n}?",),
            "hobbies" if n % 2 else "feelings", "en", False, "",
        )
        for n in range(1, 13)
    ]  # fmt: skip
    own = ContextSet.objects.create(name="twelve", title="Twelve", licence="CC0", owner=rex)
    return import_version(own, rows, origin="test")


@pytest.fixture
def runs(version: ContextSetVersion, make_run: MakeRun) -> list[ResponseRun]:
    return [make_run(version, system) for system in ("Alpha", "Beta")]


def judged(study: Study, system: str) -> set[str]:
    """The contexts to which responses of this system are judged."""
    found = Item.objects.filter(study=study, response__run__system=system)
    return {*found.values_list("response__context__key", flat=True)}


def drawn_by_hand(keys: list[str], number: int, seed: int) -> set[str]:
    """The first in the order of the digests of key and seed."""
    return {*sorted(keys, key=lambda key: md5(f"{key} {seed}".encode()).hexdigest())[:number]}


def test_every_system_is_judged_on_the_same_contexts(make_queue: MakeQueue, runs: list[ResponseRun]) -> None:
    study = make_queue()

    assert subjects.add_responses(study, *runs, contexts=ContextSample(5, seed=7)).items == 10

    expected = drawn_by_hand([f"c{n}" for n in range(1, 13)], 5, 7)
    assert judged(study, "Alpha") == judged(study, "Beta") == expected


def test_another_seed_draws_other_contexts(make_queue: MakeQueue, runs: list[ResponseRun]) -> None:
    first, second = make_queue(), make_queue()
    subjects.add_responses(first, *runs, contexts=ContextSample(5, seed=1))
    subjects.add_responses(second, *runs, contexts=ContextSample(5, seed=2))

    keys = [f"c{n}" for n in range(1, 13)]
    assert judged(first, "Alpha") == drawn_by_hand(keys, 5, 1) != drawn_by_hand(keys, 5, 2)
    assert judged(second, "Alpha") == drawn_by_hand(keys, 5, 2)


def test_a_system_added_later_gets_the_contexts_of_the_others_with_any_seed(
    make_queue: MakeQueue, runs: list[ResponseRun]
) -> None:
    study = make_queue()
    subjects.add_responses(study, runs[0], contexts=ContextSample(5, seed=1))
    subjects.add_responses(study, runs[1], contexts=ContextSample(5, seed=99))

    assert judged(study, "Alpha") == judged(study, "Beta")


def test_a_larger_draw_keeps_the_earlier_contexts(make_queue: MakeQueue, runs: list[ResponseRun]) -> None:
    study = make_queue()
    subjects.add_responses(study, *runs, contexts=ContextSample(3))
    before = judged(study, "Alpha")

    assert subjects.add_responses(study, *runs, contexts=ContextSample(5)).items == 4
    assert before < judged(study, "Alpha") == judged(study, "Beta")


def test_contexts_without_a_response_of_every_system_are_not_drawn(
    make_queue: MakeQueue, runs: list[ResponseRun]
) -> None:
    with rewriting():
        runs[1].responses.filter(context__position__gt=4).delete()
    study = make_queue()

    with pytest.raises(ValidationError, match="5 contexts are wanted, and there are 4 that fit"):
        subjects.add_responses(study, *runs, contexts=ContextSample(5))
    assert not study.items.exists()
    subjects.add_responses(study, *runs, contexts=ContextSample(4))

    assert judged(study, "Alpha") == judged(study, "Beta") == {"c1", "c2", "c3", "c4"}


def test_categories_and_lengths_filter_the_contexts(make_queue: MakeQueue, runs: list[ResponseRun]) -> None:
    hobbies, long, both = make_queue(), make_queue(), make_queue()
    subjects.add_responses(hobbies, *runs, contexts=ContextSample(categories=("hobbies",)))
    subjects.add_responses(long, *runs, contexts=ContextSample(least_turns=2, most_turns=3))
    subjects.add_responses(both, *runs, contexts=ContextSample(1, categories=("hobbies",), least_turns=3))

    assert judged(hobbies, "Beta") == {"c1", "c3", "c5", "c7", "c9", "c11"}
    assert judged(long, "Alpha") == {"c9", "c10", "c11", "c12"}
    assert judged(both, "Alpha") == judged(both, "Beta") == drawn_by_hand(["c9", "c11"], 1, 1)


def test_repetitions_of_a_drawn_context_are_all_judged(
    make_queue: MakeQueue, version: ContextSetVersion, make_run: MakeRun
) -> None:
    study, run = make_queue(), make_run(version, "Alpha", repetitions=3)

    subjects.add_responses(study, run, contexts=ContextSample(2))

    of_context = Counter(study.items.values_list("response__context__key", flat=True))
    assert sorted(of_context.values()) == [3, 3]


def test_the_preview_of_an_addition_is_exact(make_queue: MakeQueue, runs: list[ResponseRun]) -> None:
    study = make_queue()
    for contexts in (
        ContextSample(3),
        ContextSample(5),
        ContextSample(categories=("hobbies",)),
        ContextSample(),
    ):
        chosen = select_responses(study, runs, contexts)
        foreseen = chosen.count()

        assert foreseen == subjects.add_selection(chosen)
    assert study.items.count() == 24


# --- the page ------------------------------------------------------------------------------------


def sent(runs: list[ResponseRun], **values: Any) -> dict[str, Any]:
    return {"run": [run.pk for run in runs]} | values


def told(page: str) -> str:
    return " ".join(page.split())


def test_the_cost_follows_the_choice_before_it_is_made(
    make_queue: MakeQueue, runs: list[ResponseRun], sign_in: SignIn, rex: User
) -> None:
    study, client = make_queue(3, raters=2, batch=5, pay_amount=4), sign_in(rex)
    address = reverse("judging:foreseen", args=[study.pk])

    said = told(client.get(address, sent(runs, contexts=5)).text)
    # 10 responses and the 3 that are there, by 2 raters each: 26 judgments, 6 batches of 5 for 4 USD.
    assert "10 new items" in said
    assert (
        "13 items \u00d7 2 raters = 26 judgments, about 6 batches; at 4.00 USD each that is 24.00 USD."
        in said
    )
    assert study.items.count() == 3
    assert "13 contexts are wanted, and there are 12" in told(
        client.get(address, sent(runs, contexts=13)).text
    )
    assert client.get(address, sent([], contexts=5)).content == b""

    plan = {"raters_per_item": 4, "batch_size": 6, "lease_seconds": 600}
    said = told(client.get(address, plan).text)
    # 3 items by 4 raters are 12 judgments; nobody judges one twice, so that are 4 batches of 3.
    assert (
        "3 items \u00d7 4 raters = 12 judgments, about 4 batches; at 4.00 USD each that is 16.00 USD." in said
    )
    assert judging.plan_of(study).raters_per_item == 2


def test_the_page_says_what_was_drawn(
    make_queue: MakeQueue, runs: list[ResponseRun], sign_in: SignIn, rex: User
) -> None:
    study, client = make_queue(), sign_in(rex)
    address = reverse("judging:add", args=[study.pk])

    page = client.post(address, sent(runs, contexts=2, seed=3, category=["hobbies"]), follow=True).text

    assert "4 items added." in page
    assert "2 of 6 contexts were drawn with the seed 3, the same for Alpha, Beta; only of hobbies." in told(
        page
    )
    with CaptureQueriesContext(connection) as queries:
        client.get(reverse("judging:queue", args=[study.pk]))
    assert len(queries) <= 15
    refused = client.post(address, sent(runs, contexts=99))
    assert (refused.status_code, "99 contexts are wanted" in refused.text) == (422, True)
    assert client.post(address, {}).status_code == 422
