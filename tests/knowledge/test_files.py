"""Files of knowledge bases: what is wrong is named with its place, what departs from the paper is told."""

import json
from typing import Any

import pytest

from tests.knowledge.bases import article, base_file, entity
from turnwise.knowledge.building import ArticleRow, EntityRow, budgets
from turnwise.knowledge.files import as_json, content_hash, parse


def places(found: dict[str, Any] | str) -> dict[str, str]:
    built = parse(found if isinstance(found, str) else json.dumps(found))
    assert not built.may_be_imported
    return {problem.where: problem.say for problem in built.problems}


def test_a_raw_file_becomes_a_base() -> None:
    lead = f"{'First ' * 20}paragraph.\n\nSecond one.\n\n{'Thing of a third one. ' * 60}"
    built = parse(
        json.dumps(base_file() | {"entities": [entity(1, lead=lead), *base_file()["entities"][1:]]})
    )

    assert built.problems == []
    first = built.entities[0]
    assert isinstance(first, EntityRow)
    assert first.shortened == f"{'First ' * 20}paragraph.\n\nSecond one."
    assert len(first.summarized.split()) <= 150
    one = built.articles[0]
    assert isinstance(one, ArticleRow)
    assert one.named == ("Thing 2", "Thing 3", "Thing 4")
    # By hand: 6 sentences of 4 words and 99 of 8 are 816 words, 204 for each part. Parts are multiples of 8:
    # 200 and 208 are best; the first parts end earliest.
    assert [len(section.split()) for section in one.sections] == [200, 200, 208, 208]


def test_what_is_written_reads_the_same() -> None:
    built = parse(json.dumps(base_file(configurations="BCD", budgets={"Books": 1})))

    again = parse(json.dumps(as_json(built)))

    assert content_hash(again) == content_hash(built)
    assert as_json(again) == as_json(built)


@pytest.mark.parametrize(
    ("changed", "place", "why"),
    [
        ({"articles": [article(1, 1, 2)]}, "articles[0]", "names 2 of the 3 entities that a"),
        ({"entities": [entity(1, lead=" ")]}, "entities[0].lead", "“lead” is empty."),
        ({"entities": [entity(1, lead=5)]}, "entities[0].lead", "“lead” is 5, not text."),
        ({"facts": {"Thing 9": ["x"]}}, "facts.Thing 9", "is not an entity of this base"),
        ({"entities": [entity(1, facts=7)]}, "entities[0].facts", "7 of the 8 facts"),
        ({"entities": [entity(1, facts=3)], "configurations": "B"}, "entities[0].facts", "3 of the 4 facts"),
        ({"entities": [entity(1), entity(1)]}, "entities[1]", "that of entities[0], too"),
        ({"articles": [article(1, 1, 2, 3)] * 2}, "articles[1]", "is that of articles[0]"),
        ({"articles": [article(1, 1, text="Thing 1, Thing 2, Thing 3.")]}, "articles[0]", "than 4 sentences"),
        ({"entities": [entity(1) | {"facts": ["a", "a"]}]}, "entities[0].facts", "facts of “Thing 1” appear"),
        ({"entities": [entity(1) | {"facts": ["ok", ""]}]}, "entities[0].facts[1]", "It is empty."),
        ({"entities": ["Venus"]}, "entities[0]", "is not an object"),
        ({"entities": []}, "file", "There are no entities."),
        ({"configurations": "AZ"}, "configurations", "is none of A, B, C, D"),
        ({"budgets": {"Books": -1}}, "budgets", "how many entities each topic has"),
        ({"total": 99}, "total", "99 is not a number from 1 to 4"),
        ({"articles": {}}, "articles", "This is not a list."),
    ],
)  # fmt: skip
def test_each_problem_is_named_with_its_place(changed: dict[str, Any], place: str, why: str) -> None:
    assert why in places(base_file() | changed)[place]


@pytest.mark.parametrize(
    ("text", "place", "why"),
    [
        ('{"entities": [}', "line 1", "This is not JSON"),
        ("[]", "file", "There are no entities"),
        ("[" * 100_000, "file", "This is not JSON"),
        ("", "line 1", "This is not JSON"),
    ],
)
def test_a_file_that_is_none_is_told(text: str, place: str, why: str) -> None:
    assert why in places(text)[place]


def test_facts_may_stand_apart() -> None:
    found = base_file()
    found["entities"][0]["facts"] = ["One of its own."]
    found["facts"] = {"Thing 1": [f"Apart {n}." for n in range(7)]}

    assert parse(json.dumps(found)).entities[0].facts == (
        "One of its own.",
        *(f"Apart {n}." for n in range(7)),
    )


def test_what_departs_from_the_paper_is_told_and_no_obstacle() -> None:
    found = base_file(budgets={"Books": 3}, other=1)
    found["entities"][0] |= {"facts": found["entities"][0]["facts"] + ["An eleventh."], "colour": "red"}
    found["articles"][0]["text"] = "Thing 1. Thing 2. Thing 3. You are a stupid fucking idiot."

    built = parse(json.dumps(found))

    assert built.may_be_imported
    told = {(note.where, note.say) for note in built.notes}
    assert ("file", "“other” has no meaning here and is not kept.") in told
    assert ("entities[0]", "“colour” has no meaning here and is not kept.") in told
    assert ("entities[0].facts", "11 facts; the paper has 8 to 10.") in told
    assert ("articles[0]", "12 words; the paper takes articles of 600 to 1,000.") in told
    assert ("budgets.Books", "“Books” has 1 entities and a budget of 3.") in told
    assert any(place == "articles[0]" and "profanity" in say for place, say in told)


def test_the_budgets_of_the_paper_come_from_shares() -> None:
    paper = {
        "Fashion": 20, "Politics": 25, "Books": 33, "Sports": 35, "General Entertainment": 38, "Music": 39,
        "Science & Technology": 44, "Movies": 66,
    }  # fmt: skip

    assert sum(paper.values()) == 300
    assert budgets({topic: 1000 * n for topic, n in paper.items()}, 300) == paper
    # By hand: 10 x 1/6, 2/6, 3/6 = 1.67, 3.33, 5.0; the one left goes to the largest remainder.
    assert budgets({"a": 1, "b": 2, "c": 3}, 10) == {"a": 2, "b": 3, "c": 5}
    with pytest.raises(ValueError, match="Budgets need mentions"):
        budgets({"a": 0}, 3)


def test_of_more_entities_those_talked_about_most_are_kept() -> None:
    found = base_file(entities=8, articles=0, total=4)
    for n, each in enumerate(found["entities"], start=1):
        each["mentions"] = n

    built = parse(json.dumps(found))

    # Topics have mentions 4+8, 1+5, 2+6, 3+7 of 36: shares of 4 are 1.33, .67, .89, 1.11, so one each.
    assert built.budgets == {"Music": 1, "Sports": 1, "Movies": 1, "Books": 1}
    assert [each.name for each in built.entities] == ["Thing 5", "Thing 6", "Thing 7", "Thing 8"]


@pytest.mark.parametrize(
    ("text", "say"),
    [
        ('{"budgets": {"a\\u0000": 1}, "entities": []}', '"a\\u0000" has a character that no text can have'),
        ('{"\\ud800": 1, "entities": []}', '"\\ud800" has a character that no text can have'),
        ('{"entities": [{"name": "A", "name": "B"}]}', '"name" appears twice in one object'),
    ],
    ids=["null", "half", "twice"],
)
def test_names_that_cannot_be_stored_or_would_be_lost_are_refused(text: str, say: str) -> None:
    """These three reached a page or the database, or took something away without a word."""
    assert say in places(text)["file"]


def test_numbers_are_bounded() -> None:
    huge = base_file(articles=0, budgets={"Books": 10**400})
    huge["entities"][0]["mentions"] = 10**400

    assert places(huge).keys() == {"budgets", "entities[0].mentions"}


def test_what_would_take_hours_is_refused() -> None:
    """Each two sentences of a lead are compared, and so are places at which the parts of an article end."""
    lead, text = "A b. " * 401, "Thing 1, Thing 2, Thing 3. " + "A b. " * 401
    found = places(base_file() | {"entities": [entity(1, lead=lead)], "articles": [article(1, text=text)]})

    assert found["entities[0].lead"] == "401 sentences are more than 400. Shorten it."
    assert found["articles[0].text"] == "402 sentences are more than 400. Shorten it."
