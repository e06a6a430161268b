"""Snippets for people to judge: a context, the oracle's sentence, and each system's response.

As in section 6 of the paper, each snippet comes from another conversation, and all judges see the same turns,
sentence and number of responses. Configurations are represented in proportion to their conversations. The
output is a set of contexts with the sentence as material, and a file of responses for every system and for
the person who answered, in the format of the pages *Contexts* and *Responses*.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from chatbots.knowledge.conversations import Conversation, ConversationsError, ReadingSet
from chatbots.knowledge.corpus import Library
from chatbots.knowledge.oracle import NONE, Ranker
from chatbots.training.files import write_atomically, write_json

HUMAN = "Human"
Responses = Mapping[str, Mapping[int, str]]
"""Responses by system, then by the number of the answered turn."""


@dataclass(frozen=True, slots=True)
class Snippet:
    """A context whose responses are judged.

    Attributes:
        key: the conversation, and the place in it of the turn to respond with, from 0.
        configuration: configuration of the conversation.
        turns: the earlier turns, oldest first.
        sentence: the oracle's choice for the turn.
        responses: by system; the person's turn first.
    """

    key: str
    configuration: str
    turns: tuple[str, ...]
    sentence: str
    responses: Mapping[str, str]


def read_responses(paths: Sequence[Path], conversations: Sequence[Conversation]) -> Responses:
    """Read systems' responses from files of `evaluate`.

    Args:
        paths: JSON Lines with system, turn, response and reference.
        conversations: conversations of the part that they were evaluated on, in its order.

    Raises:
        ConversationsError: a line cannot be used, or belongs to other conversations; the message names it.
    """
    texts = [text for each in conversations for _, text in each.turns]
    by_turn: dict[str, dict[int, str]] = {}
    for path in paths:
        try:
            lines = path.read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise ConversationsError(f"{path} cannot be read: {error}.") from None
        for number, line in enumerate(lines, 1):
            try:
                row = json.loads(line)
                system, turn = str(row["system"]), int(row["turn"])
            except (ValueError, KeyError, TypeError):
                raise ConversationsError(
                    f"{path}, line {number} has no system and turn. Name a file that `evaluate` wrote."
                ) from None
            if not row.get("response"):
                continue
            if not 0 <= turn < len(texts) or row.get("reference") != texts[turn]:
                raise ConversationsError(
                    f"{path}, line {number} answers for another turn than the conversations have there. Name "
                    "the file of conversations that the corpus's part was built from."
                )
            by_turn.setdefault(system, {})[turn] = str(row["response"])
    if HUMAN in by_turn:
        raise ConversationsError(
            f"A system is called {HUMAN}, as the people are. Give it another --name in `evaluate`."
        )
    return by_turn


def draw(
    conversations: Sequence[Conversation],
    reading_sets: Mapping[str, ReadingSet],
    responses: Responses,
    *,
    number: int,
    seed: int,
) -> list[Snippet]:
    """Draw snippets, each from another conversation, configurations in proportion.

    Args:
        conversations: conversations of one part.
        reading_sets: all of them; the term weights are fitted to them.
        responses: only turns with a response of every system are drawn.
        number: number of snippets.
        seed: the same one draws the same snippets.

    Raises:
        ConversationsError: too few conversations have a turn with a sentence and all responses.
    """
    library = Library(reading_sets.values())
    texts, candidates = library.candidates(conversations)
    nearest = Ranker(library.sentences).nearest(texts, candidates).sentences.tolist()
    begins = np.cumsum([0, *(len(each.turns) for each in conversations)]).tolist()
    fit: dict[int, list[int]] = {}
    for place, conversation in enumerate(conversations):
        turns = [
            turn
            for turn in range(begins[place] + 1, begins[place] + len(conversation.turns))
            if nearest[turn] != NONE and all(turn in of for of in responses.values())
        ]
        if turns:
            fit[place] = turns
    if len(fit) < number:
        raise ConversationsError(
            f"{len(fit)} conversations have a turn with a sentence and a response of every system; {number} "
            "snippets need as many. Ask for fewer, or have `evaluate` write more --responses."
        )
    rng, sentences, snippets = np.random.default_rng(seed), library.sentences, []
    for place in _places(fit, conversations, number, rng):
        turn = int(rng.choice(fit[place]))
        conversation = conversations[place]
        within = turn - begins[place]
        snippets.append(
            Snippet(
                f"{conversation.key}-{within}",
                conversation.configuration,
                tuple(text for _, text in conversation.turns[:within]),
                sentences[nearest[turn]],
                {HUMAN: texts[turn]} | {system: of[turn] for system, of in responses.items()},
            )
        )
    return snippets


def _places(
    fit: Mapping[int, Sequence[int]],
    conversations: Sequence[Conversation],
    number: int,
    rng: np.random.Generator,
) -> list[int]:
    """Draw conversations in proportion to configurations: the largest remainders are rounded up."""
    strata: dict[str, list[int]] = {}
    for place in fit:
        strata.setdefault(conversations[place].configuration, []).append(place)
    shares = {name: number * len(places) / len(fit) for name, places in sorted(strata.items())}
    most = {name: int(share) for name, share in shares.items()}
    left = sorted(shares, key=lambda name: most[name] - shares[name])
    for name in left[: number - sum(most.values())]:
        most[name] += 1
    drawn = [int(place) for name, count in most.items() for place in rng.permutation(strata[name])[:count]]
    return sorted(drawn)


def write(snippets: Sequence[Snippet], output: Path, seed: int) -> dict[str, Any]:
    """Write the files into a folder, and return their names.

    Args:
        snippets: at least one.
        output: the folder; `contexts.jsonl`, one `responses-….jsonl` per system and `snippets.json`.
        seed: that they were drawn with.
    """
    _write_lines(
        output / "contexts.jsonl",
        [
            {
                "id": each.key,
                "turns": each.turns,
                "category": each.configuration,
                "language": "en",
                "material": [each.sentence],
            }
            for each in snippets
        ],
    )
    files = {}
    for number, system in enumerate(snippets[0].responses, 1):
        slug = re.sub(r"[^a-z0-9]+", "-", system.lower()).strip("-")
        files[system] = f"responses-{number}-{slug}.jsonl"
        rows = [{"context": each.key, "response": each.responses[system]} for each in snippets]
        _write_lines(output / files[system], rows)
    summary = {
        "snippets": len(snippets),
        "seed": seed,
        "configurations": dict(sorted(Counter(each.configuration for each in snippets).items())),
        "contexts": "contexts.jsonl",
        "responses": files,
    }
    write_json(output / "snippets.json", summary)
    return summary


def _write_lines(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    write_atomically(path, text.encode())
