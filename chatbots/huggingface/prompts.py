"""Convert turns to the model's input tokens.

Whole turns are dropped if they do not fit, the oldest first. The newest turn always stays; if it alone does
not fit, its end is kept.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from chatbots.base import Turn
from chatbots.instruction_prompts import Message, alternating_messages_of, messages_of


def joined_by_end(tokenizer: Any, turns: Sequence[Turn], room: int) -> list[int]:
    """Join the turns, each followed by the end-of-text token, as DialoGPT was trained.

    Args:
        tokenizer: tokenizer of `transformers`.
        turns: oldest first.
        room: most tokens.
    """
    tokens: list[int] = []
    for turn in reversed(turns):
        encoded = _plain(tokenizer, turn.text)[-(room - 1) :] if not tokens else _plain(tokenizer, turn.text)
        if len(encoded) + 1 + len(tokens) > room:
            break
        tokens = [*encoded, tokenizer.eos_token_id, *tokens]
    return tokens


def joined_by_text(tokenizer: Any, turns: Sequence[Turn], room: int, *, separator: str) -> list[int]:
    """Join the turns to one text for an encoder.

    Args:
        tokenizer: tokenizer of `transformers`, truncating on the left, with its usual special tokens.
        turns: oldest first.
        room: most tokens, at least as many as the tokenizer adds and one more.
        separator: between two turns.
    """

    def tokens_of(newest: Sequence[Turn]) -> list[int]:
        text = separator.join(turn.text for turn in newest)
        is_last_try = len(newest) == 1
        limit = {"truncation": True, "max_length": room} if is_last_try else {}
        return list(tokenizer(text, split_special_tokens=True, **limit)["input_ids"])

    return _fitting(tokens_of, turns, room)


def through_template(tokenizer: Any, turns: Sequence[Turn], room: int, *, system: str) -> list[int]:
    """Write the turns by the model's chat template, ready for the reply.

    If a template refuses two turns of one speaker in a row, or an opening of the bot, it gets
    `alternating_messages_of`; if it knows no system prompt, the prompt goes before the first turn. The
    model's special tokens are taken out of what people wrote.

    Args:
        tokenizer: tokenizer of `transformers`, with a chat template.
        turns: oldest first.
        room: most tokens.
        system: the system prompt; may be empty.

    Raises:
        jinja2.TemplateError: the template refuses the dialogue in every form.
    """
    special = re.compile("|".join(map(re.escape, tokenizer.all_special_tokens)))
    harmless = [Turn(turn.speaker, _without(special, turn.text)) for turn in turns]
    return _fitting(lambda newest: _templated(tokenizer, newest, system), harmless, room)[-room:]


def _templated(tokenizer: Any, turns: Sequence[Turn], system: str) -> list[int]:
    from jinja2 import TemplateError

    strict = alternating_messages_of(turns, system)
    forms = [messages_of(turns, system), strict, _system_in_first(strict)]
    for place, messages in enumerate(forms):
        try:
            rendered = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        except TemplateError:
            if place == len(forms) - 1:
                raise
        else:
            return list(tokenizer(rendered, add_special_tokens=False)["input_ids"])
    raise AssertionError("the last form either returns or raises")


def _without(special: re.Pattern[str], text: str) -> str:
    """Remove all matches, including those that appear when others are removed."""
    while (shorter := special.sub("", text)) != text:
        text = shorter
    return text


def _system_in_first(messages: Sequence[Message]) -> list[Message]:
    """Write the system prompt before the first user turn."""
    if messages[0]["role"] != "system":
        return list(messages)
    system, first, *rest = messages
    return [{"role": "user", "content": f"{system['content']}\n\n{first['content']}"}, *rest]


def _fitting(tokens_of: Callable[[Sequence[Turn]], list[int]], turns: Sequence[Turn], room: int) -> list[int]:
    """Tokens of as many newest turns as fit; of the newest alone if even that does not fit."""
    for first in range(len(turns)):
        tokens = tokens_of(turns[first:])
        if len(tokens) <= room:
            break
    return tokens


def _plain(tokenizer: Any, text: str) -> list[int]:
    """Tokens of a text; names of special tokens in it are plain text."""
    return list(tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"])
