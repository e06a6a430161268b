"""Every rule of the configurations, for any base; beside it what the published reading sets hold to."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.knowledge.reading_sets import (
    FACTS_NEEDED,
    Configuration,
    KnownEntity,
    ReadableArticle,
    Section,
    TooLittleKnownError,
    reading_sets,
)

SECTIONS = ("One.", "Two.", "Three.", "Four.")


def entity(name: str, facts: int) -> KnownEntity:
    return KnownEntity(name, f"{name} short.", f"{name} summary.", tuple(f"{name} {n}" for n in range(facts)))


def article(facts: tuple[int, int, int]) -> ReadableArticle:
    names = zip("XYZ", facts, strict=True)
    return ReadableArticle("Headline", SECTIONS, tuple(entity(name, n) for name, n in names))


def by_key(sections: list[Section]) -> dict[str, Section]:
    return {section.key: section for section in sections}


FACTS = st.tuples(*[st.integers(8, 12)] * 3)
FEW_FACTS = st.tuples(*[st.integers(4, 12)] * 3)
SEEDS = st.integers(0, 2**31)


@given(FACTS, SEEDS)
def test_in_a_facts_differ_and_all_else_is_the_same(facts: tuple[int, int, int], seed: int) -> None:
    first, second = map(by_key, reading_sets(article(facts), Configuration.A, Random(seed)))

    for rank, known in enumerate(facts, start=1):
        one, other = first[f"FS{rank}"], second[f"FS{rank}"]
        assert not set(one.points) & set(other.points)
        assert len(one.points) == len(other.points) == (5 if known >= 10 else 4)
        assert (one.heading, one.text, one.variant) == (other.heading, other.text, "shortened")
    assert [first[f"AS{n}"] for n in range(1, 5)] == [second[f"AS{n}"] for n in range(1, 5)]


@given(FEW_FACTS, SEEDS)
def test_in_b_one_of_the_two_reads_summaries(facts: tuple[int, int, int], seed: int) -> None:
    first, second = map(by_key, reading_sets(article(facts), Configuration.B, Random(seed)))

    variants = {first["FS1"].variant, second["FS1"].variant}
    assert variants == {"shortened", "summarized"}
    for rank, name in enumerate("XYZ", start=1):
        for each in (first, second):
            section = each[f"FS{rank}"]
            assert section.variant == each["FS1"].variant
            ending = "summary" if section.variant == "summarized" else "short"
            assert (section.heading, section.text) == (name, f"{name} {ending}.")
        assert first[f"FS{rank}"].points == second[f"FS{rank}"].points
    assert first["AS4"] == second["AS4"] == Section("AS4", "Article Section 4", "Four.")


@given(FEW_FACTS, SEEDS, st.sampled_from([Configuration.C, Configuration.D]))
def test_in_c_and_d_both_read_the_same_and_in_c_no_article(
    facts: tuple[int, int, int], seed: int, configuration: Configuration
) -> None:
    first, second = reading_sets(article(facts), configuration, Random(seed))

    assert first == second
    keys = [section.key for section in first]
    assert keys == ["FS1", "FS2", "FS3", *(f"AS{n}" for n in range(1, 5) if configuration is Configuration.D)]
    for section, known in zip(first, facts, strict=False):
        assert len(set(section.points)) == len(section.points) == min(5, known)


@given(FACTS, SEEDS, st.sampled_from(list(Configuration)))
def test_facts_keep_the_order_of_the_base_and_the_seed_decides(
    facts: tuple[int, int, int], seed: int, configuration: Configuration
) -> None:
    made = reading_sets(article(facts), configuration, Random(seed))

    assert made == reading_sets(article(facts), configuration, Random(seed))
    for section in (*made[0], *made[1]):
        numbers = [int(point.split()[1]) for point in section.points]
        assert numbers == sorted(numbers)


def test_both_seats_get_the_summaries_now_and_then() -> None:
    drawn = [reading_sets(article((8, 8, 8)), Configuration.B, Random(seed)) for seed in range(20)]

    assert {first[0].variant for first, _ in drawn} == {"shortened", "summarized"}


@pytest.mark.parametrize("configuration", list(Configuration))
def test_too_few_facts_are_named(configuration: Configuration) -> None:
    needed = FACTS_NEEDED[configuration]
    reading_sets(article((needed, needed, needed)), configuration, Random(1))

    why = f"“Y” has {needed - 1} facts; configuration {configuration} needs {needed}."
    with pytest.raises(TooLittleKnownError, match=why):
        reading_sets(article((needed, needed - 1, needed)), configuration, Random(1))


def test_an_article_of_two_entities_is_refused() -> None:
    short = ReadableArticle("Two", SECTIONS, (entity("X", 8), entity("Y", 8)))

    with pytest.raises(TooLittleKnownError, match="“Two” has 2 entities and 4 sections"):
        reading_sets(short, Configuration.D, Random(1))
