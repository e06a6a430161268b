"""Prompts of instruction models.

A context becomes messages with the roles system, user and assistant; the bot's reading material is added to
the system prompt.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NotRequired, TypedDict

from pydantic import Field

from chatbots.base import Context, Passage, Speaker, Turn
from chatbots.pictures import Picture
from chatbots.prompt_variables import OF_SCENARIO, VARIABLES, filled, variables_in


class Message(TypedDict):
    """One message in the form of chat completions and chat templates.

    Messages have pictures only for callers that ask for them.
    """

    role: str
    content: str
    pictures: NotRequired[list[Picture]]


def messages_of(turns: Sequence[Turn], system: str = "", *, pictures: bool = False) -> list[Message]:
    """Convert turns to messages: the system prompt, then the bot as assistant and its partner as user.

    With `pictures`, the messages of turns with a picture have it, too.
    """
    return _with_system(system, [_message(turn, pictures=pictures) for turn in turns])


def alternating_messages_of(
    turns: Sequence[Turn], system: str = "", *, pictures: bool = False
) -> list[Message]:
    """Convert turns for models that require user and assistant in turns, the user first.

    An opening of the bot is left out; consecutive turns of one speaker become one of several lines. If only
    the bot has spoken, its last turn counts as its partner's.
    """
    messages: list[Message] = []
    for turn in turns:
        message = _message(turn, pictures=pictures)
        if messages and messages[-1]["role"] == message["role"]:
            messages[-1]["content"] += f"\n{message['content']}"
            if added := message.get("pictures"):
                messages[-1]["pictures"] = [*messages[-1].get("pictures", []), *added]
        elif messages or turn.speaker is Speaker.HUMAN:
            messages.append(message)
    if not messages:
        messages.append({"role": "user", "content": turns[-1].text})
    return _with_system(system, messages)


def newest_turns(context: Context, most: int | None) -> tuple[Turn, ...]:
    """Return the last `most` turns, at least one; all of them if `most` is None."""
    return context.turns if most is None else context.turns[-most:]


def _message(turn: Turn, *, pictures: bool) -> Message:
    role = "user" if turn.speaker is Speaker.HUMAN else "assistant"
    if pictures and turn.picture and turn.speaker is Speaker.HUMAN:
        return {"role": role, "content": turn.text, "pictures": [turn.picture]}
    return {"role": role, "content": turn.text}


def _with_system(system: str, messages: Iterable[Message]) -> list[Message]:
    return [*([Message(role="system", content=system)] if system else []), *messages]


PLACE = "{material}"
TEMPLATE = (
    "You have read the following, which your partner may not know. Draw on it where it fits the "
    f"conversation, in your own words.\n\n{PLACE}"
)


def material_field() -> Any:
    """Create the setting for the wording of the material in the prompt."""
    return Field(
        TEMPLATE,
        max_length=20_000,
        title="Prompt with material",
        description=(
            "Added to the system prompt where a study gives the bot something to read, which stands at "
            f"{PLACE}; empty to keep it from the model."
        ),
    )


def sentences_field(most: int | None) -> Any:
    """Create the setting for the number of sentences of material in the prompt."""
    return Field(
        most,
        ge=1,
        title="Sentences of material",
        description="Only so many sentences of it, those nearest to what was said last; empty for all of it.",
    )


def has_place(template: str) -> str:
    """Refuse a template without a placeholder for the material.

    Raises:
        ValueError: there is none.
    """
    if template.strip() and PLACE not in template:
        raise ValueError(f"has no {PLACE}, where the material is to stand. Write it in, or leave all empty")
    return template


def system_field() -> Any:
    """Create the setting for the system prompt."""
    names = ", ".join(f"{{{name}}}" for name in VARIABLES)
    return Field(
        "",
        max_length=20_000,
        title="System prompt",
        description=(
            f"Instructions that the model gets before the dialogue; empty for none. {names} are filled in "
            "from the study, {scenario.NAME} from the column NAME of its scenarios; write {{language}} "
            "to send the word in braces. Where {material} stands, the prompt with material is not added."
        ),
        examples=["You are a friendly chat partner. Answer in one or two sentences."],
        json_schema_extra={"format": "multiline"},
    )


def system_of(system: str, context: Context, template: str, sentences: int | None) -> str:
    """Fill in the variables of the system prompt, and append the material unless the prompt has its place.

    Args:
        system: the prompt, with variables or empty.
        context: with or without material.
        template: with `PLACE`; empty for no material, except where `system` has its place.
        sentences: most sentences; None for the whole texts under their titles.
    """
    has_place, setting = "material" in variables_in(system), context.setting
    is_given = bool(context.material) and (has_place or bool(template.strip()))
    material = _material(context, sentences) if is_given else ""
    values = {
        "language": setting.language,
        "scenario": setting.scenario,
        "persona": setting.persona,
        "material": material,
        **{f"{OF_SCENARIO}{name}": value for name, value in setting.columns},
    }
    prompt = filled(system, values)
    if has_place or not is_given:
        return prompt
    return "\n\n".join(filter(None, [prompt, template.replace(PLACE, material)]))


def _material(context: Context, sentences: int | None) -> str:
    return _whole(context.material) if sentences is None else _nearest(context, sentences)


def _whole(material: Sequence[Passage]) -> str:
    return "\n\n".join("\n".join(filter(None, [each.title, each.text])) for each in material)


def _nearest(context: Context, most: int) -> str:
    """Select the sentences nearest to the last turn; if too few share a word, add the first ones."""
    from chatbots.knowledge.oracle import (
        Ranker,  # brings scipy, which most bots do not need
        sentences_of,
    )

    candidates = list(
        dict.fromkeys(each for passage in context.material for each in sentences_of(passage.text))
    )
    order = Ranker(candidates).ranked(context.turns[-1].text)
    rest = [place for place in range(len(candidates)) if place not in set(order)]
    return "\n".join(candidates[place] for place in sorted([*order, *rest][:most]))
