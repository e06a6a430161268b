"""Conversion of the bundle rows of judging studies (items or pairs) to the input of their reports."""

import json
import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from evaluation.protocols.facts import Design
from evaluation.questions import QuestionSet
from evaluation.report.adjudication import Decisions
from evaluation.report.answers import answer_of, answer_times, coded_columns, label_days, text_columns
from evaluation.report.bundles.tables import of_side
from evaluation.report.item_draws import DrawnItems
from evaluation.report.label_columns import Judged
from evaluation.report.studies.battery import Battery
from evaluation.report.studies.contexts import ContextFacts
from evaluation.report.studies.judging import JudgedItems
from evaluation.report.studies.pairs import JudgedPairs, name_of
from evaluation.report.studies.replies import ReplyFacts, facts_of, judged_prices_of
from evaluation.statistics.labels import IntArray
from evaluation.texts.markdown_style import Style, style_of, texts_of_speaker
from evaluation.texts.uninformative_contexts import Contexts, word_count

Row = dict[str, Any]


def judged_items(
    about: Mapping[str, Any],
    questions: QuestionSet,
    items: Iterable[Row],
    judgments: Iterable[Row],
    design: Design,
    lines: Sequence[int],
    in_conversations: Iterable[Row] = (),
    adjudications: Iterable[Row] = (),
    drawn: DrawnItems | None = None,
) -> JudgedItems:
    """Build the input of `judging_figures`.

    Args:
        about: content of study.json.
        questions: the question set.
        items: rows of the table `items`.
        judgments: rows of the table `judgments`, in its order.
        design: protocol and asks of the study.
        lines: lines of these judgments in the table.
        in_conversations: rows of the table `conversation_replies`; older bundles have none.
        adjudications: rows of the table `adjudications` about this ask; answers by question key.
        drawn: items that were drawn for people; None: none were.

    Raises:
        ValueError: a judgment of an unknown item; names both.
    """
    by_key = {row["item"]: row for row in items}
    rows = list(judgments)
    of = items_of(rows, by_key, "data/items.jsonl")
    judged = judged_rows(
        questions,
        rows,
        of,
        numbers_of(by_key.values()),
        systems=[item["system"] for item in of],
        latencies=[_number(item["latency_ms"]) for item in of],
    )
    # Older bundles have no such columns, and no such figure.
    judged_once = {item["item"]: item for item in of if item.get("outcome")}.values()
    replies: dict[str, list[ReplyFacts]] = {}
    for item in judged_once:
        facts = facts_of(item, item.get("given_at"), bot=item.get("bot") or "")
        replies.setdefault(item["system"], []).append(facts)
    _add_replies(replies, in_conversations, _whole_conversations(of))
    if drawn:
        judged = replace(judged, weight=1.0 / drawn.of(item["item"] for item in of))
    return JudgedItems(
        judged=judged,
        repetition=np.array([item["repetition"] for item in of], dtype=np.int64),
        # Older bundles have neither occasions nor batteries.
        occasion=np.array([row.get("occasion") or 1 for row in rows], dtype=np.int64),
        given=np.array(lines, dtype=np.int64),
        battery=Battery.from_json(battery) if (battery := about["judging"].get("battery")) else None,
        raters_wanted=about["judging"]["raters_per_item"],
        items=len(by_key),
        languages=about["languages"],
        replies=replies,
        prices=judged_prices_of(about),
        contexts=_contexts(by_key.values()),
        contexts_of=_of_systems(by_key.values(), of_contexts=True),
        conversations_of=_of_systems(by_key.values(), of_contexts=False),
        design=design,
        items_per_worker=about["judging"]["batch_size"],
        third_rater=about["judging"]["third_rater"],
        decisions=_decisions(about, questions, rows, adjudications),
        drawn=drawn.facts if drawn else None,
    )


def _decisions(
    about: Mapping[str, Any], questions: QuestionSet, judgments: Sequence[Row], adjudications: Iterable[Row]
) -> Decisions | None:
    """Decisions in force about the items of these judgments; None for a study without adjudication."""
    steps = about["judging"].get("adjudication_steps")  # older bundles have none
    if not steps:
        return None
    in_force = {row["item"]: row for row in adjudications if row["in_force"]}
    decided = {
        item: {key: answer_of(questions.question(key), row) for key in json.loads(row["decided_questions"])}
        for item, row in in_force.items()
    }
    return Decisions.of(questions, steps, [decided.get(row["item"]) for row in judgments])


def judged_rows(
    questions: QuestionSet,
    rows: Sequence[Row],
    of: Sequence[Row],
    numbers: Mapping[str, int],
    *,
    systems: Sequence[str],
    latencies: Sequence[float],
) -> Judged:
    """Convert judgments of items or pairs to columns.

    Args:
        questions: the question set.
        rows: the judgments.
        of: the item or pair of each judgment.
        numbers: numbers of all items or pairs, by key.
        systems: for each judgment, the system of the item, or the first system of the pair.
        latencies: for each judgment, the time to the response in milliseconds; NaN if there is none.
    """
    return Judged(
        bot=np.array(systems, dtype=object),
        dialogue=np.array([item["context"] for item in of], dtype=np.int64),
        reply=np.array([numbers[item["item"]] for item in of], dtype=np.int64),
        rater=np.array([row["rater"] for row in rows], dtype=object),
        latency_ms=np.array(latencies, dtype=np.float64),
        answer_ms=answer_times(rows),
        answers=coded_columns(questions, rows),
        texts=text_columns(questions, rows),
        day=label_days(rows),
    )


def _of_systems(items: Iterable[Row], *, of_contexts: bool) -> dict[str, int]:
    """Count by system its contexts with a response, or its conversations with an item."""
    by_system: dict[str, set[int]] = {}
    for row in items:
        counted = by_system.setdefault(row["system"], set())
        if (row.get("context_turns") is not None) == of_contexts:
            counted.add(row["context"])
    return {system: len(counted) for system, counted in by_system.items()}


def _contexts(items: Iterable[Row]) -> dict[int, ContextFacts]:
    """Facts about the contexts of responses, by number; empty for older bundles."""
    return {
        row["context"]: ContextFacts(
            name=row["name"],
            category=row["category"] or "",
            turns=row["context_turns"],
            consistency=bool(row["consistency"]),
            last=json.loads(row["said_before"])[-1],
        )
        for row in items
        if row.get("context_turns") is not None
    }


def items_of(judgments: Iterable[Row], by_key: Mapping[str, Row], file: str) -> list[Row]:
    """Look up the item of each judgment; raises `ValueError` for an item that the file lacks."""
    items = []
    for row in judgments:
        if row["item"] not in by_key:
            raise ValueError(f"a judgment of item {row['item']}, which {file} does not have.")
        items.append(by_key[row["item"]])
    return items


def numbers_of(items: Iterable[Row]) -> dict[str, int]:
    """Number the items of each context from 1; by item."""
    numbers: dict[str, int] = {}
    seen: dict[int, int] = {}
    for row in items:
        numbers[row["item"]] = seen[row["context"]] = seen.get(row["context"], 0) + 1
    return numbers


def _number(answer: float | None) -> float:
    return float("nan") if answer is None else float(answer)


_SIDES = ("first_system", "second_system")
_TEXTS = ("first_said", "second_said")
_SPEAKERS = ("first_speaker", "second_speaker")


def judged_pairs(
    about: Mapping[str, Any],
    questions: QuestionSet,
    pairs: Iterable[Row],
    judgments: Iterable[Row],
    design: Design,
    lines: Sequence[int],
    in_conversations: Iterable[Row] = (),
) -> JudgedPairs:
    """Build the input of `pair_figures`.

    Args:
        about: content of study.json.
        questions: the question set.
        pairs: rows of the table `pairs`.
        judgments: rows of the table `pair_judgments`, in its order.
        design: protocol and asks of the study.
        lines: lines of these judgments in the table.
        in_conversations: rows of the table `conversation_replies`; older bundles have none.

    Raises:
        ValueError: a judgment of an unknown pair; names both.
    """
    by_key, rows = {row["item"]: row for row in pairs}, list(judgments)
    of = items_of(rows, by_key, "data/pairs.jsonl")
    sides = [
        [pair[side] for side in (_SIDES[::-1] if row["sides_swapped"] else _SIDES)]
        for pair, row in zip(of, rows, strict=True)
    ]
    swapped = [row["sides_swapped"] for row in rows]
    texts = {key: [json.loads(pair[side]) for side in _TEXTS] for key, pair in by_key.items()}
    judged = judged_rows(
        questions,
        rows,
        of,
        numbers_of(by_key.values()),
        systems=[first for first, _ in sides],
        latencies=[math.nan] * len(rows),
    )
    replies = _replies_in_pairs(of)
    _add_replies(replies, in_conversations, _conversations_in_pairs(of))
    return JudgedPairs(
        judged=judged,
        other=np.array([second for _, second in sides], dtype=object),
        given=np.array(lines, dtype=np.int64),
        raters_wanted=about["judging"]["raters_per_item"],
        items_per_worker=about["judging"]["batch_size"],
        training_tries=about["judging"].get("training_tries", 0),
        items_of_pairs=counted(name_of(*(pair[side] for side in _SIDES)) for pair in by_key.values()),
        clusters_of_pairs=counted(
            name
            for name, _ in {
                (name_of(*(pair[side] for side in _SIDES)), pair["context"]) for pair in by_key.values()
            }
        ),
        languages=about["languages"],
        contexts=Contexts.of([json.loads(pair["said_before"]) for pair in by_key.values()]),
        words=side_word_counts(texts, [pair["item"] for pair in of], swapped),
        style=_style(by_key, texts, [pair["item"] for pair in of], swapped),
        design=design,
        noun=noun_of(any(pair["said_before"] != "[]" for pair in by_key.values())),
        replies=replies,
        prices=judged_prices_of(about),
    )


def _replies_in_pairs(judged: Iterable[Row]) -> dict[str, list[ReplyFacts]]:
    """Facts about each response of a bot in these pairs, by system; empty for older bundles."""
    responses = {}
    for pair in judged:
        for side in ("first", "second"):
            response = of_side(side, pair)
            if response["outcome"]:
                responses[response["response"]] = pair[f"{side}_system"], response
    replies: dict[str, list[ReplyFacts]] = {}
    for system, response in responses.values():
        facts = facts_of(response, response["given_at"], bot=response["bot"] or "")
        replies.setdefault(system, []).append(facts)
    return replies


def _whole_conversations(judged: Iterable[Row]) -> dict[str, str]:
    """The systems of the whole conversations among these items, by public id."""
    return {
        row["name"]: row["system"]
        for row in judged
        if row.get("turn") is None and row.get("context_turns") is None
    }


def _conversations_in_pairs(judged: Iterable[Row]) -> dict[str, str]:
    """The systems of the conversations in these pairs, by public id."""
    return {
        pair[f"{side}_dialogue"]: pair[f"{side}_system"]
        for pair in judged
        for side in ("first", "second")
        if pair.get(f"{side}_dialogue")
    }


def _add_replies(
    replies: dict[str, list[ReplyFacts]], in_conversations: Iterable[Row], systems: Mapping[str, str]
) -> None:
    """Add facts about the replies in judged conversations; `systems` has the system of each by public id."""
    for row in in_conversations:
        if row["dialogue"] in systems:
            facts = facts_of(row, row["given_at"], bot=row["bot"])
            replies.setdefault(systems[row["dialogue"]], []).append(facts)


def side_word_counts(
    texts: Mapping[Hashable, Sequence[Sequence[str]]], items: Sequence[Hashable], swapped: Sequence[bool]
) -> IntArray:
    """Count the words of both sides of each judgment.

    Args:
        texts: by item, the texts of its two sides.
        items: (n,) the item of each judgment.
        swapped: (n,) true if the rater saw the second side first.

    Returns:
        (n, 2) words of the side that the rater saw first, and of the other side.
    """
    words = {item: [word_count(side) for side in sides] for item, sides in texts.items()}
    counts = [words[item][:: -1 if other else 1] for item, other in zip(items, swapped, strict=True)]
    return np.array(counts, dtype=np.int64).reshape(-1, 2)


def _style(
    by_key: Mapping[str, Row],
    texts: Mapping[Hashable, Sequence[Sequence[str]]],
    items: Sequence[str],
    swapped: Sequence[bool],
) -> IntArray | None:
    """Style of both sides of each judgment; None for older bundles, which do not say who speaks."""
    if not all(speaker in pair for pair in by_key.values() for speaker in _SPEAKERS):
        return None
    speakers: dict[Hashable, list[int | None]] = {
        key: [pair[speaker] for speaker in _SPEAKERS] for key, pair in by_key.items()
    }
    return side_styles(texts, speakers, items, swapped)


def side_styles(
    texts: Mapping[Hashable, Sequence[Sequence[str]]],
    speakers: Mapping[Hashable, Sequence[int | None]],
    items: Sequence[Hashable],
    swapped: Sequence[bool],
) -> IntArray:
    """Count length and Markdown of what the system says on both sides of each judgment.

    Args:
        texts: by item, the texts of its two sides.
        speakers: by item, for each side who of the two speakers is the system, as in `texts_of_speaker`.
        items: (n,) the item of each judgment.
        swapped: (n,) true if the rater saw the second side first.

    Returns:
        (n, 2, 4) `Style` of the side that the rater saw first, and of the other side.
    """
    styles = {
        item: [
            style_of(texts_of_speaker(side, speaker))
            for side, speaker in zip(sides, speakers[item], strict=True)
        ]
        for item, sides in texts.items()
    }
    found = [styles[item][:: -1 if other else 1] for item, other in zip(items, swapped, strict=True)]
    return np.array(found, dtype=np.int64).reshape(-1, 2, len(Style._fields))


def counted(names: Iterable[str]) -> dict[str, int]:
    """Count each name, in the order of the names."""
    return dict(sorted(Counter(names).items()))


def noun_of(has_contexts: bool) -> str:
    """Noun for the source of pairs: "context" or "conversation"."""
    return "context" if has_contexts else "conversation"
