import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from evaluation.near_duplicates import near_duplicates
from evaluation.open_mtb import (
    CATEGORIES,
    NEAR_DUPLICATE_OVERLAP,
    PATH,
    StaticContext,
    find_faults,
    read_open_mtb,
)


@pytest.fixture(scope="module")
def contexts() -> list[StaticContext]:
    return read_open_mtb()


def faults_after(contexts: list[StaticContext], position: int, **changed: object) -> list[str]:
    """Break one field of one context and say what is found."""
    spoiled = list(contexts)
    spoiled[position] = replace(contexts[position], **changed)  # type: ignore[arg-type]
    return find_faults(spoiled)


def first_with(contexts: list[StaticContext], turns: int) -> int:
    return next(i for i, context in enumerate(contexts) if len(context.turns) == turns)


def test_the_shipped_set_has_no_faults(contexts: list[StaticContext]) -> None:
    assert find_faults(contexts) == []


def test_every_line_is_an_object_with_the_documented_fields() -> None:
    for line in PATH.read_text(encoding="utf-8").splitlines():
        assert set(json.loads(line)) == {"id", "turns", "category", "language", "consistency", "extends"}


def test_the_counts_are_the_papers(contexts: list[StaticContext]) -> None:
    assert Counter(len(context.turns) for context in contexts) == {1: 315, 2: 500, 3: 662}
    assert len({context.id for context in contexts}) == 1477


def test_some_contexts_have_several_continuations(contexts: list[StaticContext]) -> None:
    continuations = Counter(context.extends for context in contexts if context.extends)

    assert sum(n > 1 for n in continuations.values()) > 200


def test_every_category_is_filled(contexts: list[StaticContext]) -> None:
    per_category = Counter(context.category for context in contexts)

    assert set(per_category) == set(CATEGORIES)
    assert min(per_category.values()) >= 100


def test_at_least_150_contexts_test_consistency(contexts: list[StaticContext]) -> None:
    assert sum(context.consistency for context in contexts) >= 150
    assert {context.category for context in contexts if context.consistency} == set(CATEGORIES)


def test_no_two_contexts_end_alike(contexts: list[StaticContext]) -> None:
    last_turns = [context.turns[-1] for context in contexts]

    pairs = near_duplicates(last_turns, NEAR_DUPLICATE_OVERLAP)

    assert [(last_turns[pair.first], last_turns[pair.second]) for pair in pairs] == []


def test_no_two_dialogues_are_alike(contexts: list[StaticContext]) -> None:
    longest = [" ".join(c.turns) for c in contexts if len(c.turns) == 3]
    openings = [c.turns[0] for c in contexts if len(c.turns) == 3]

    pairs = near_duplicates(longest, NEAR_DUPLICATE_OVERLAP)

    assert [pair for pair in pairs if openings[pair.first] != openings[pair.second]] == []


def test_the_data_card_tells_the_counts(contexts: list[StaticContext]) -> None:
    card = PATH.with_name("README.md").read_text(encoding="utf-8")

    for category in (*CATEGORIES, "all"):
        chosen = [context for context in contexts if category in (context.category, "all")]
        by_turns = [sum(len(context.turns) == n for context in chosen) for n in (1, 2, 3)]
        row = [category, *by_turns, len(chosen), sum(context.consistency for context in chosen)]
        assert f"| {' | '.join(map(str, row))} |" in card


def test_a_repeated_id_is_a_fault(contexts: list[StaticContext]) -> None:
    assert any("is used 2 times" in fault for fault in find_faults([*contexts, contexts[0]]))


def test_a_continuation_must_repeat_its_parent(contexts: list[StaticContext]) -> None:
    longer = first_with(contexts, turns=2)

    assert any(
        "not the same context without its last turn" in fault
        for fault in faults_after(contexts, longer, turns=("Another opening.", "Oh?"))
    )


def test_one_turn_cannot_test_consistency(contexts: list[StaticContext]) -> None:
    opening = first_with(contexts, turns=1)

    assert any(
        "nothing was said before" in fault for fault in faults_after(contexts, opening, consistency=True)
    )


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"category": "politics"}, "'politics' is none of"),
        ({"language": "de"}, "'de' is not 'en'"),
        ({"turns": (" padded ",)}, "stray spaces"),
        ({"turns": ("",)}, "is empty"),
        ({"turns": ("a" * 301,)}, "more than 300 characters"),
        ({"extends": "hobbies-01"}, "one turn extends nothing"),
    ],
)
def test_a_broken_field_is_told(contexts: list[StaticContext], changed: dict[str, object], told: str) -> None:
    opening = first_with(contexts, turns=1)

    assert any(told in fault for fault in faults_after(contexts, opening, **changed))


def test_a_missing_context_is_told(contexts: list[StaticContext]) -> None:
    assert any("not {1: 315, 2: 500, 3: 662}" in fault for fault in find_faults(contexts[:-1]))


@pytest.mark.parametrize("line", ["not json", "[]", '{"id": "x"}', '{"id": "x", "turns": ["a"], "mood": 1}'])
def test_a_broken_line_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "set.jsonl"
    path.write_text(PATH.read_text(encoding="utf-8").splitlines()[0] + "\n" + line + "\n", encoding="utf-8")

    with pytest.raises(ValueError, match=r"set\.jsonl, line 2: "):
        read_open_mtb(path)
