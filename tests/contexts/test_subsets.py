"""Some of a set's contexts as a set of their own."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import md5

import pytest
from django.core.exceptions import ValidationError
from django.db import connection
from django.test import Client

from turnwise.accounts.models import User
from turnwise.contexts.files import ContextRow
from turnwise.contexts.models import ContextSet, ContextSetVersion
from turnwise.contexts.queries import Filters
from turnwise.contexts.services import draw_subset as draw
from turnwise.contexts.services import import_version

SignIn = Callable[[User], Client]
pytestmark = pytest.mark.django_db


@pytest.fixture
def version(ada: User) -> ContextSetVersion:
    """Ten contexts of two categories; the tenth continues the ninth. Of somebody else, and for everybody."""
    rows = [
        ContextRow(n, f"c{n}", (f"Question {n}?",), "hobbies" if n % 2 else "", "en", False, "")
        for n in range(1, 10)
    ]
    rows.append(ContextRow(10, "c10", ("Question 9?", "Why?", "So."), "hobbies", "en", True, "c9"))
    shipped = ContextSet.objects.create(name="ten", title="Ten", licence="CC BY 4.0", owner=None)
    return import_version(shipped, rows, origin="ten.jsonl")


def keys(version: ContextSetVersion) -> list[str]:
    return list(version.contexts.order_by("position").values_list("key", flat=True))


def test_a_subset_is_drawn_by_its_seed_and_stays_in_order(version: ContextSetVersion, rex: User) -> None:
    made = draw(version, Filters(), number=4, seed=3, owner=rex)

    first = sorted(keys(version), key=lambda key: md5(f"{key} 3".encode()).hexdigest())[:4]
    assert keys(made) == [key for key in keys(version) if key in first]
    assert (made.context_set.owner, made.context_set.licence, made.size) == (rex, "CC BY 4.0", 4)
    assert made.context_set.title == "Ten: 4 contexts"
    assert made.origin == "4 contexts of Ten, version 1; drawn of 10 with the seed 3"
    assert {*keys(made)} < {*keys(draw(version, Filters(), number=7, seed=3, owner=rex))}


def test_a_filter_takes_a_category_or_a_length(version: ContextSetVersion, rex: User) -> None:
    by = Filters(category="hobbies", turns="1")
    hobbies = draw(version, by, number=None, seed=1, owner=rex, title="Hobbies")

    assert keys(hobbies) == ["c1", "c3", "c5", "c7", "c9"]
    assert hobbies.origin == "5 contexts of Ten, version 1; turns: 1; category: hobbies"
    long = draw(version, Filters(turns="3"), number=None, seed=1, owner=rex)
    assert [(each.key, each.extends) for each in long.contexts.all()] == [
        ("c10", "")
    ]  # without what it extends


def test_what_is_made_twice_is_there_once(version: ContextSetVersion, rex: User) -> None:
    first = draw(version, Filters(), number=4, seed=3, owner=rex)

    assert draw(version, Filters(), number=4, seed=3, owner=rex) == first
    other = draw(version, Filters(), number=4, seed=4, owner=rex)
    assert other != first
    assert {*rex.context_sets.values_list("name", flat=True)} == {"ten-4-contexts", "ten-4-contexts-2"}


@pytest.mark.django_db(transaction=True)
def test_a_double_click_makes_one(version: ContextSetVersion, rex: User) -> None:
    def make(_: int) -> int:
        try:
            return draw(version, Filters(), number=4, seed=3, owner=rex).pk
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as people:
        assert len({*people.map(make, range(4))}) == 1


def test_more_than_there_are_is_refused_in_words(version: ContextSetVersion, rex: User) -> None:
    with pytest.raises(ValidationError, match="11 contexts are wanted, and 10 match"):
        draw(version, Filters(), number=11, seed=1, owner=rex)
    with pytest.raises(ValidationError, match="1 context is wanted, and 0 match"):
        draw(version, Filters(text="nowhere"), number=None, seed=1, owner=rex)
    assert not rex.context_sets.exists()


def test_the_page_makes_a_set_of_what_it_shows(
    version: ContextSetVersion, rex: User, sign_in: SignIn
) -> None:
    client, address = sign_in(rex), f"/contexts/{version.context_set_id}/versions/1/subset/"
    assert "Make a set of these contexts" in client.get(f"{version.get_absolute_url()}?category=hobbies").text

    made = client.post(f"{address}?category=hobbies", {"number": 2, "seed": 1, "title": ""}, follow=True).text

    assert "This is the new set" in made
    assert "Ten: 2 contexts, version 1" in made
    assert (
        "2 contexts of Ten, version 1; category: hobbies; drawn of 6 with the seed 1"
        in client.get(rex.context_sets.get().get_absolute_url()).text
    )
    refused = client.post(address, {"number": 99, "seed": 1})
    assert (refused.status_code, "99 contexts are wanted" in refused.text) == (422, True)
    assert client.post(address, {"number": 0, "seed": ""}).status_code == 422


def test_nobody_makes_a_set_of_what_they_may_not_see(
    version: ContextSetVersion, rex: User, ada: User, mallory: User, sign_in: SignIn
) -> None:
    made = draw(version, Filters(), number=2, seed=1, owner=rex)
    address = f"/contexts/{made.context_set_id}/versions/1/subset/"

    assert sign_in(mallory).post(address, {"number": 1, "seed": 1}).status_code == 404
