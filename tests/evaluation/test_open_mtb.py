import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from evaluation.open_mtb import (
    CANARY,
    CATEGORIES,
    KEYS_PATH,
    NEAR_DUPLICATE_OVERLAP,
    PATH,
    PATH_ZH,
    VERSION,
    ConsistencyKey,
    StaticContext,
    columns,
    find_faults,
    find_key_faults,
    find_translation_faults,
    fingerprint,
    read_keys,
    read_open_mtb,
)
from evaluation.texts.similarity import near_duplicates

CARD = PATH.with_name("open_mtb.croissant.json")
FILES = [PATH, KEYS_PATH, PATH_ZH]


@pytest.fixture(scope="module")
def contexts() -> list[StaticContext]:
    return read_open_mtb()


@pytest.fixture(scope="module")
def keys() -> dict[str, ConsistencyKey]:
    return read_keys()


def faults_after(contexts: list[StaticContext], position: int, **changed: object) -> list[str]:
    """Break one field of one context and say what is found."""
    spoiled = list(contexts)
    spoiled[position] = replace(contexts[position], **changed)  # type: ignore[arg-type]
    return find_faults(spoiled)


def first_with(contexts: list[StaticContext], turns: int) -> int:
    return next(i for i, context in enumerate(contexts) if len(context.turns) == turns)


def test_the_shipped_set_has_no_faults(contexts: list[StaticContext]) -> None:
    assert find_faults(contexts) == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_line_carries_the_canary(path: Path) -> None:
    assert {json.loads(line)["canary"] for line in path.read_text(encoding="utf-8").splitlines()} == {CANARY}


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


def test_the_data_card_states_the_counts(contexts: list[StaticContext]) -> None:
    card = PATH.with_name("README.md").read_text(encoding="utf-8")

    for category in (*CATEGORIES, "all"):
        chosen = [context for context in contexts if category in (context.category, "all")]
        by_turns = [sum(len(context.turns) == n for context in chosen) for n in (1, 2, 3)]
        flags = [sum(c.consistency for c in chosen), sum(c.identity for c in chosen)]
        row = [category, *by_turns, len(chosen), *flags]
        assert f"| {' | '.join(map(str, row))} |" in card


def test_the_shipped_keys_have_no_faults(
    contexts: list[StaticContext], keys: dict[str, ConsistencyKey]
) -> None:
    assert find_key_faults(contexts, keys) == []


def test_a_constant_answer_is_right_for_half_of_the_yes_or_no_probes(keys: dict[str, ConsistencyKey]) -> None:
    wanted = Counter(key.answer for key in keys.values())

    assert wanted["yes"] == wanted["no"] == 77


def test_few_last_turns_open_with_so(contexts: list[StaticContext]) -> None:
    probes = [c.turns[-1] for c in contexts if c.consistency]

    assert sum(turn.casefold().startswith("so ") for turn in probes) == 0
    assert sum(c.turns[-1].casefold().startswith("so ") for c in contexts) <= 10


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"turns": ()}, "name no earlier turn"),
        ({"turns": (3,)}, "name no earlier turn"),
        ({"turns": (2, 4)}, "name no earlier turn"),
        ({"fact": ""}, "is empty"),
        ({"answer": "maybe"}, "'maybe' is not yes or no"),
    ],
)
def test_a_broken_key_is_reported(
    contexts: list[StaticContext], keys: dict[str, ConsistencyKey], changed: dict[str, object], told: str
) -> None:
    one = next(key for key in keys.values() if key.turns == (2,) and key.answer is None)
    spoiled = keys | {one.id: replace(one, **changed)}  # type: ignore[arg-type]

    assert [told in fault for fault in find_key_faults(contexts, spoiled)] == [True]


def test_a_missing_and_a_surplus_key_are_reported(
    contexts: list[StaticContext], keys: dict[str, ConsistencyKey]
) -> None:
    one = next(iter(keys))
    others = {k: v for k, v in keys.items() if k != one} | {"hobbies-01": replace(keys[one], id="hobbies-01")}

    faults = find_key_faults(contexts, others)

    assert [fault.split(" ")[0] for fault in faults[:2]] == ["hobbies-01", one]


def test_keys_that_are_mostly_no_are_reported(
    contexts: list[StaticContext], keys: dict[str, ConsistencyKey]
) -> None:
    swayed = {k: replace(v, answer="no") if v.id.startswith("personality") else v for k, v in keys.items()}

    assert "a constant answer would do well" in find_key_faults(contexts, swayed)[-1]


@pytest.fixture(scope="module")
def chinese() -> list[StaticContext]:
    return read_open_mtb(PATH_ZH)


def test_the_chinese_version_has_the_shape_of_the_original(
    contexts: list[StaticContext], chinese: list[StaticContext]
) -> None:
    assert find_translation_faults(chinese, contexts) == []
    assert len(chinese) == 1477


def test_no_two_chinese_contexts_end_alike(chinese: list[StaticContext]) -> None:
    assert near_duplicates([context.turns[-1] for context in chinese], NEAR_DUPLICATE_OVERLAP) == []


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"language": "en"}, "'en' is not 'zh'"),
        ({"consistency": True, "turns": ("a", "b")}, "is not the original's"),
        ({"identity": True}, "is not the original's"),
        ({"turns": ("",)}, "is empty"),
        ({"id": "hobbies-99"}, "hobbies-99 is missing or unknown"),
    ],
)
def test_a_deviating_chinese_context_is_reported(
    contexts: list[StaticContext], chinese: list[StaticContext], changed: dict[str, object], told: str
) -> None:
    opening = first_with(chinese, turns=1)
    spoiled = [*chinese[:opening], replace(chinese[opening], **changed), *chinese[opening + 1 :]]  # type: ignore[arg-type]

    assert any(told in fault for fault in find_translation_faults(spoiled, contexts))


def test_the_columns_are_those_of_the_breakdowns(
    contexts: list[StaticContext], keys: dict[str, ConsistencyKey]
) -> None:
    found = columns(contexts, keys)

    assert list(found) == [context.id for context in contexts]
    assert found["hobbies-08a2"] == {
        "category": "hobbies", "turns": 3, "consistency": True, "identity": False, "answer": "yes"
    }  # fmt: skip
    assert found["personality-09"] == {
        "category": "personality", "turns": 1, "consistency": False, "identity": True, "answer": ""
    }  # fmt: skip


def test_the_machine_readable_card_describes_the_shipped_files() -> None:
    card = json.loads(CARD.read_text(encoding="utf-8"))
    fields = {one["name"]: {f["name"] for f in one["field"]} for one in card["recordSet"]}

    assert card["version"] == VERSION
    assert CANARY in card["description"]
    assert {one["contentUrl"]: one["sha256"] for one in card["distribution"]} == {
        path.name: fingerprint(path) for path in FILES
    }
    assert [one["contentSize"] for one in card["distribution"]] == [
        f"{path.stat().st_size} B" for path in FILES
    ]
    for name, path in zip(("contexts", "keys", "contexts-zh"), FILES, strict=True):
        assert fields[name] == set(json.loads(path.read_text(encoding="utf-8").splitlines()[0]))


def test_the_data_card_and_the_citation_state_the_version() -> None:
    assert f"Version {VERSION}," in PATH.with_name("README.md").read_text(encoding="utf-8")
    assert f"version: {VERSION}" in (PATH.parents[2] / "CITATION.cff").read_text(encoding="utf-8")


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
def test_a_broken_field_is_reported(
    contexts: list[StaticContext], changed: dict[str, object], told: str
) -> None:
    opening = first_with(contexts, turns=1)

    assert any(told in fault for fault in faults_after(contexts, opening, **changed))


def test_a_missing_context_is_reported(contexts: list[StaticContext]) -> None:
    assert any("not {1: 315, 2: 500, 3: 662}" in fault for fault in find_faults(contexts[:-1]))


@pytest.mark.parametrize("line", ["not json", "[]", '{"id": "x"}', '{"id": "x", "turns": ["a"], "mood": 1}'])
def test_a_broken_line_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "set.jsonl"
    path.write_text(PATH.read_text(encoding="utf-8").splitlines()[0] + "\n" + line + "\n", encoding="utf-8")

    with pytest.raises(ValueError, match=r"set\.jsonl, line 2: "):
        read_open_mtb(path)
