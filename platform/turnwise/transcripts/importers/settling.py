"""Rules for what is no turn of two speakers: system and tool messages, empty turns, further speakers.

docs/imports.md states them for researchers. They hold for every format.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from turnwise.transcripts.importers.formats import Conversation, Read, Utterance
from turnwise.transcripts.importers.message_roles import ASSISTANT, ROLES, USER

_EMPTY = "an empty turn of the file before this one is left out"
_MAY_BE_EMPTY = {"tool_call", "refused"}
_NAMED = 5


def settled(conversation: Conversation) -> tuple[Conversation, int]:
    """Turn a conversation into turns of two speakers, as far as the rules allow.

    Returns:
        The conversation, and the number of its turns that were left out because they have no text.
    """
    turns = _with_kinds(conversation.turns)
    system = [turn for turn in turns if turn.kind == "system" and turn.text.strip()]
    spoken = _with_tools([turn for turn in turns if turn.kind != "system"])
    utterances, empty = _without_empty(spoken)
    read = dict(conversation.read)
    reader = _assistant_among(utterances)
    if system and reader and reader not in read:
        read[reader] = [_material(number, turn) for number, turn in enumerate(system, start=1)]
    return replace(conversation, turns=tuple(_of_two(utterances)), read=read), empty


def _meaning(speaker: str) -> str:
    return ROLES.get(speaker.casefold().strip(), "")


def _with_kinds(turns: Sequence[Utterance]) -> list[Utterance]:
    """Mark turns of speakers called system or tool, if two others speak beside them."""
    others = {
        turn.speaker for turn in turns if not turn.kind and _meaning(turn.speaker) not in ("system", "tool")
    }
    if len(others) < 2 and not any(turn.kind for turn in turns):
        return list(turns)
    return [
        replace(turn, kind=kind)
        if not turn.kind and (kind := _meaning(turn.speaker)) in ("system", "tool")
        else turn
        for turn in turns
    ]


def _with_tools(turns: Sequence[Utterance]) -> list[Utterance]:
    """Add the answers of tools to the assistant's next turn, or to its last one at the end."""
    found, answers = list[Utterance](), list[dict[str, str]]()
    assistant = _assistant_among([turn for turn in turns if not turn.kind])
    for turn in turns:
        if turn.kind == "tool":
            answers.append({"answer": turn.text})
        elif answers and turn.speaker == assistant:
            found.append(_with_answers(turn, answers, are_before=True))
            answers = []
        else:
            found.append(turn)
    last = next((n for n in reversed(range(len(found))) if found[n].speaker == assistant), None)
    if answers and last is not None:
        found[last] = _with_answers(found[last], answers, are_before=False)
    return found


def _with_answers(turn: Utterance, answers: list[dict[str, str]], *, are_before: bool) -> Utterance:
    tools = list(turn.generation.get("tools", ()))
    together = [*answers, *tools] if are_before else [*tools, *answers]
    return replace(turn, generation={**turn.generation, "tools": together})


def _without_empty(turns: Sequence[Utterance]) -> tuple[list[Utterance], int]:
    """Leave out turns without text, with a remark at their speaker's next turn."""
    utterances, waiting, empty = list[Utterance](), set[str](), 0
    for turn in turns:
        if says_nothing(turn) and not (turn.given or turn.own or turn.heard or turn.by_rater):
            waiting.add(turn.speaker)
            empty += 1
        elif turn.speaker in waiting:
            waiting.remove(turn.speaker)
            remarks = [*turn.generation.get("remarks", ()), _EMPTY]
            utterances.append(replace(turn, generation={**turn.generation, "remarks": remarks}))
        else:
            utterances.append(turn)
    return utterances, empty


def says_nothing(turn: Utterance) -> bool:
    """True if a turn has no text, and did not end in a way that needs none."""
    return not turn.text.strip() and turn.generation.get("outcome") not in _MAY_BE_EMPTY


def _assistant_among(turns: Sequence[Utterance]) -> str:
    """The speaker who is the assistant: by name, by having a generation, or whoever is not called a user."""
    names = list(dict.fromkeys(turn.speaker for turn in turns))
    return (
        next((name for name in names if _meaning(name) == ASSISTANT), "")
        or next((turn.speaker for turn in turns if "tools" in turn.generation), "")
        or next((name for name in reversed(names) if _meaning(name) != USER), "")
    )


def _of_two(turns: Sequence[Utterance]) -> list[Utterance]:
    """Put several people beside one assistant on one side, with their names before their texts."""
    names = {turn.speaker for turn in turns}
    assistants = {name for name in names if _meaning(name) == ASSISTANT}
    if len(names) < 3 or len(assistants) != 1:
        return list(turns)
    return [
        turn
        if turn.speaker in assistants
        else replace(turn, speaker="people", text=f"{turn.speaker}: {turn.text.strip()}")
        for turn in turns
    ]


def _material(number: int, turn: Utterance) -> Read:
    key = "system" if number == 1 else f"system-{number}"
    return Read(key, "System message" if number == 1 else f"System message {number}", "", turn.text)


def joined_generation(parts: Sequence[Mapping[str, Any]], *, has_text: bool) -> dict[str, Any]:
    """Join the generations of parts of a turn: all remarks, reasoning and tools, the last outcome."""
    joined: dict[str, Any] = {}
    for name in ("remarks", "tools"):
        if values := [value for part in parts for value in part.get(name, ())]:
            joined[name] = values
    if reasoning := [part["reasoning"] for part in parts if part.get("reasoning")]:
        joined["reasoning"] = "\n\n".join(reasoning)
    outcome = parts[-1].get("outcome", "")
    if not has_text:
        outcome = next((part["outcome"] for part in reversed(parts) if part.get("outcome")), "")
    return joined | ({"outcome": outcome} if outcome else {})


def why_not_two(given: Conversation, settled_one: Conversation) -> str:
    """Reason why a conversation has not two speakers, with the cure."""
    speakers = list(dict.fromkeys(turn.speaker for turn in settled_one.turns))
    if not speakers:
        kinds = {turn.kind or _meaning(turn.speaker) for turn in given.turns if turn.text.strip()}
        if kinds == {"system"}:
            return (
                "The conversation is only a system message. Add the turns of its two speakers, or remove it."
            )
        return "A conversation has two speakers; here nobody speaks. Add its turns, or remove it."
    names = ", ".join(f"“{_short(name)}”" for name in speakers[:_NAMED])
    silent = [turn.speaker for turn in given.turns if not turn.kind and turn.speaker not in speakers]
    if len(speakers) == 1 and silent:
        return (
            f"“{_short(silent[0])}” says nothing in this conversation, only {names}. Add texts, or remove it."
        )
    if len(speakers) == 1:
        return f"A conversation has two speakers; here speaks: {names}. Add the other's turns, or remove it."
    more = f" and {len(speakers) - _NAMED:,} more" if len(speakers) > _NAMED else ""
    return (
        f"A conversation has two speakers; here speak {len(speakers):,}: {names}{more}. Name the chatbot "
        "“assistant” in the file, and all others are put on one side; or rename speakers by their role."
    )


def _short(text: str) -> str:
    text = text.encode(errors="ignore").decode().replace("\x00", "")
    return text if len(text) <= 60 else text[:59] + "…"
