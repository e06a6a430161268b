"""Qualifications as their makers write them: a question, its choices, and why the right ones are right.

Which reply makes sense after “How are you?”
* Fine, thanks. And you?
- The train leaves at nine.
> Only the first answers the question.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

MOST_QUESTIONS = 50
MOST_CHOICES = 10
LONGEST = 1000

Written = dict[str, Any]


def read(text: str) -> list[Written]:
    """The questions of a text; an empty line ends each.

    Raises:
        ValidationError: it has none, or one that cannot be answered; names the line.
    """
    found = [_question(block) for block in _blocks(text.replace("\x00", ""))]
    if not found:
        raise ValidationError(_("Write a question with its choices."))
    if len(found) > MOST_QUESTIONS:
        raise ValidationError(
            _("These are %(n)d questions; a qualification has at most %(most)d.")
            % {"n": len(found), "most": MOST_QUESTIONS}
        )
    return found


def _blocks(text: str) -> Iterator[list[tuple[int, str]]]:
    block: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            block.append((number, line.strip()))
        elif block:
            yield block
            block = []
    if block:
        yield block


def _question(block: Sequence[tuple[int, str]]) -> Written:
    said: list[str] = []
    choices: list[tuple[str, bool]] = []
    why: list[str] = []
    for number, line in block:
        if len(line) > LONGEST:
            raise _at(number, _("It has more than %(most)d characters. Shorten it.") % {"most": LONGEST})
        mark, rest = line[0], line[1:].strip()
        if mark in "*-":
            _refuse_choice(number, mark, rest, [choice for choice, _right in choices])
            choices.append((rest, mark == "*"))
        elif mark == ">":
            why.append(rest)
        elif choices:
            raise _at(number, _("A choice begins with * or -, and a new question follows an empty line."))
        else:
            said.append(line)
    right = [number for number, (_choice, is_right) in enumerate(choices) if is_right]
    _refuse_question(block[0][0], said, len(choices), len(right))
    return {
        "text": "\n".join(said),
        "choices": [choice for choice, _right in choices],
        "right": right,
        "why": " ".join(why),
    }


def _refuse_choice(number: int, mark: str, choice: str, before: Sequence[str]) -> None:
    if not choice:
        raise _at(number, _("There is nothing after the %(mark)s.") % {"mark": mark})
    if choice in before:
        raise _at(number, _("“%(choice)s” appears twice.") % {"choice": choice})


def _refuse_question(first: int, said: Sequence[str], choices: int, right: int) -> None:
    if not said:
        raise _at(first, _("The choices have no question above them."))
    if not 2 <= choices <= MOST_CHOICES:
        raise _at(
            first,
            _("The question has %(n)d choices, and needs 2 to %(most)d.")
            % {"n": choices, "most": MOST_CHOICES},
        )
    if not right:
        raise _at(first, _("No choice is right. Begin the right one with *."))
    if right == choices:
        raise _at(first, _("Every choice is right, so the question shows nothing. Begin wrong ones with -."))


def _at(line: int, says: str) -> ValidationError:
    return ValidationError(_("Line %(line)d: %(says)s") % {"line": line, "says": says})


def written(questions: Sequence[Written]) -> str:
    """The text of which these questions were read."""
    blocks = []
    for question in questions:
        marks = ("*" if n in question["right"] else "-" for n in range(len(question["choices"])))
        lines = [question["text"]]
        lines += [f"{mark} {choice}" for mark, choice in zip(marks, question["choices"], strict=True)]
        blocks.append("\n".join([*lines, *([f"> {question['why']}"] if question["why"] else [])]))
    return "\n\n".join(blocks)
