"""LMSYS: its chats with one model, and the pairs of conversations of its arena with their winner.

{"conversation_id": "c", "model": "m", "conversation": [{"role": "user", "content": "Hi!"}, …]}
{"question_id": "q", "model_a": "m", "model_b": "n", "winner": "model_a", "conversation_a": […],
 "conversation_b": […]}
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from turnwise.transcripts.importers.formats import Conversation, Problem, Source, importer
from turnwise.transcripts.importers.json_records import first_record, has_list, records
from turnwise.transcripts.importers.message_roles import of_messages
from turnwise.transcripts.importers.wildchat import logged_conversation

SIDES = ("a", "b")
WINNERS = ("model_a", "model_b", "tie", "tie (bothbad)", "both_bad")


def _looks_like_chats(head: str) -> bool:
    return "conversation_hash" not in first_record(head) and has_list(head, "conversation", "role")


@importer(
    "lmsys-chat",
    title="LMSYS-Chat logs (JSON Lines, Parquet)",
    looks_like=_looks_like_chats,
    keys=("conversation_id", "conversation", "role", "content", "model"),
)
def read_chats(source: Source) -> Iterator[Conversation | Problem]:
    """Read one conversation per object; its model is the speaker in the assistant's place."""
    for found in records(source):
        yield found if isinstance(found, Problem) else logged_conversation(*found, "conversation_id")


def _looks_like_pairs(head: str) -> bool:
    return {"conversation_a", "conversation_b"} <= first_record(head).keys()


@importer(
    "arena",
    title="Arena: pairs of conversations with their winner (JSON Lines, Parquet)",
    looks_like=_looks_like_pairs,
    keys=("conversation_a", "conversation_b", "model_a", "model_b", "winner"),
)
def read_pairs(source: Source) -> Iterator[Conversation | Problem]:
    """Read the two conversations of each pair; a pair with a problem stays out as a whole.

    The winner is a detail of both conversations, not a judgment of the study.
    """
    for found in records(source):
        if isinstance(found, Problem):
            yield found
        else:
            yield from _pair(*found)


def _pair(line: int, record: dict[str, Any]) -> Iterator[Conversation | Problem]:
    id_ = str(
        record.get("question_id") or record.get("id") or record.get("conversation_id") or f"line {line}"
    )
    winner = record.get("winner")
    if winner is not None and winner not in WINNERS:
        yield Problem(
            line, f"winner is {json.dumps(winner)[:60]}. Write {', '.join(WINNERS[:-1])} or {WINNERS[-1]}."
        )
        return
    both = [_side(id_, line, record, side) for side in SIDES]
    wrong = next((each for each in both if isinstance(each, Problem)), None)
    if wrong:
        yield wrong
        return
    details = {"pair": id_[:190]} | ({"winner": str(winner)} if winner else {})
    for side, each in zip(SIDES, both, strict=True):
        if isinstance(each, Conversation):
            yield replace(each, details=details | {"side": side, **each.details})


def _side(id_: str, line: int, record: dict[str, Any], side: str) -> Conversation | Problem:
    model = record.get(f"model_{side}")
    if not isinstance(model, str) or not model.strip():
        return Problem(line, f"“model_{side}” names no model. Give each conversation the name of its model.")
    found = of_messages(
        f"{id_[:190]} ({side})",
        line,
        record.get(f"conversation_{side}"),
        names={"assistant": model[:120]},
        details={"model": model[:120]},
    )
    return Problem(line, f"conversation_{side}: {found.what}") if isinstance(found, Problem) else found
