"""JSON Lines: an object for each conversation, or one for each turn. Labels by rater may stand beside both.

{"id": "c1", "turns": [{"speaker": "Human", "text": "Hi!"}, {"speaker": "Bot", "text": "Hello."}]}
{"conversation": "c2", "speaker": "Human", "text": "Hi!"}
{"id": "c3", "labels": {"ann": {"likert": {"quality": 5, …}}}, "turns": […]}

Objects of JSON, one after another, member by member: each is decoded when it is reached.
"""

import json
import re
from collections.abc import Generator, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from turnwise.contexts.tables import json_fault
from turnwise.transcripts.importers.formats import (
    ByRater,
    Conversation,
    Given,
    Problem,
    ResearcherSets,
    Source,
    UnreadableError,
    Utterance,
    importer,
)

if TYPE_CHECKING:
    from evaluation.questions import Answer, QuestionSet

_SPACE = re.compile(r"\s*")
_AS_LABELS = 'Write {"RATER": {"QUESTION SET": {"QUESTION": ANSWER}}}, with keys of a question set.'
DECODER = json.JSONDecoder()

Member = tuple[int, str, Any]
"""Line within its object's own file, key, value."""


def members(text: str) -> Iterator[Member]:
    """The members of each outermost object.

    Raises:
        UnreadableError: where it is no JSON, or no object.
    """
    position = skip_space(text, 0)
    while True:
        position = yield from _members_of(text, position)
        if position >= len(text):
            return


def _members_of(text: str, begins: int) -> Generator[Member, None, int]:
    """Yield the members of the object at a position; returns the position of the next object."""
    position = after_mark(text, begins, begins, "{")
    line, counted = 1, begins
    while not text.startswith("}", position):
        line += text.count("\n", counted, position)
        counted = position
        key, position = decoded_at(text, begins, position)
        if not isinstance(key, str):
            raise UnreadableError(line, "Here the id of a conversation is missing, in quotes.")
        value, position = decoded_at(text, begins, after_mark(text, begins, skip_space(text, position), ":"))
        yield line, key, value
        position = skip_space(text, position)
        if not text.startswith("}", position):
            position = after_mark(text, begins, position, ",")
    return skip_space(text, position + 1)


def skip_space(text: str, position: int) -> int:
    """Position of the next character that is no white space; the end if there is none."""
    found = _SPACE.match(text, position)
    return found.end() if found else position


def after_mark(text: str, begins: int, position: int, mark: str, *, what: str = "a JSON object by id") -> int:
    """Position after a mark and the space behind it; `begins` is where line 1 begins.

    Raises:
        UnreadableError: something else stands there, so this is not what is named.
    """
    if not text.startswith(mark, position):
        raise UnreadableError(
            _line(text, begins, position), f"Here a “{mark}” is missing: this is not {what}."
        )
    return skip_space(text, position + 1)


def decoded_at(text: str, begins: int, position: int) -> tuple[Any, int]:
    """Decode the JSON value at a position; returns it with the position behind it.

    Raises:
        UnreadableError: it is no JSON.
    """
    try:
        return DECODER.raw_decode(text, position)
    except json.JSONDecodeError as error:
        raise UnreadableError(_line(text, begins, error.pos), f"This is not JSON: {error.msg}.") from error
    except (ValueError, RecursionError) as error:
        raise UnreadableError(
            _line(text, begins, position), f"This is not JSON: {str(error)[:200]}"
        ) from error


def _line(text: str, begins: int, position: int) -> int:
    return 1 + text.count("\n", begins, position)


def objects(source: Source) -> Iterator[tuple[int, dict[str, Any]] | Problem]:
    """Yield each line's JSON object with its line number; empty lines are skipped."""
    for number, line in source.lines():
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            yield Problem(number, f"This line is not JSON: {json_fault(error)}.")
            continue
        if isinstance(value, dict):
            yield number, value
        else:
            yield Problem(number, "This line is not a JSON object. Each line must be one, in braces.")


def parse_utterance(value: object, *, speaker: str, text: str, line: int) -> Utterance | Problem:
    """Parse an utterance from an object with these two keys."""
    if not isinstance(value, dict):
        return Problem(line, f"A turn is not an object with “{speaker}” and “{text}”.")
    for key in (speaker, text):
        if not isinstance(value.get(key), str):
            return Problem(line, f"A turn has no text under “{key}”.")
    return Utterance(value[speaker], value[text].strip(), line)


def conversation(
    id_: str, line: int, turns: list[Utterance | Problem], **details: str
) -> Conversation | Problem:
    """Build a conversation from turns, or return the first problem among them."""
    wrong = next((each for each in turns if isinstance(each, Problem)), None)
    return wrong or Conversation(
        id_, line, tuple(each for each in turns if isinstance(each, Utterance)), details
    )


def _looks_like(head: str) -> bool:
    return bool(re.match(r'\{.*"(turns|speaker)"\s*:', head.split("\n", 1)[0]))


@importer("jsonl", title="JSON Lines of turns", looks_like=_looks_like)
def read(source: Source) -> Iterator[Conversation | Problem]:
    """Conversations of either shape; turns of a conversation stand on lines that follow each other."""
    open_id, open_turns = "", list[Utterance | Problem]()
    sets = _Sets(source.researcher_sets)
    for found in objects(source):
        if isinstance(found, Problem):
            yield found
            continue
        line, value = found
        id_ = str(value.get("conversation", ""))[:200]
        if open_turns and id_ != open_id:
            yield conversation(open_id, open_turns[0].line, open_turns)
            open_turns = []
        if "turns" in value:
            yield _whole(value, line, sets)
        elif not id_:
            yield Problem(
                line, "This line has neither “turns” nor “conversation”, so it is not a turn of any."
            )
        else:
            open_id = id_
            open_turns.append(_turn(value, line, id_, sets))
    if open_turns:
        yield conversation(open_id, open_turns[0].line, open_turns)


class _Sets:
    """The question sets that labels may name: those of Turnwise, and researchers' own."""

    def __init__(self, own: ResearcherSets) -> None:
        self._own = own
        self._found: dict[str, QuestionSet] = {}

    def named(self, key: str) -> "QuestionSet":
        """The set with this key.

        Raises:
            UnknownQuestionSetError: there is none; the message lists the keys that there are.
        """
        from evaluation.questions import question_set  # takes longer than reading a file

        if key not in self._found:
            self._found[key] = question_set(key, self._declared, self._own.keys)
        return self._found[key]

    def _declared(self, key: str) -> "QuestionSet | None":
        from evaluation.questions import QuestionSet

        declaration = self._own.declarations.get(key)
        return QuestionSet.from_json(dict(declaration)) if declaration else None


def _whole(value: dict[str, Any], line: int, sets: _Sets) -> Conversation | Problem:
    turns = value["turns"]
    if not isinstance(turns, list):
        return Problem(line, "“turns” is not a list.")
    id_ = str(value.get("id", f"line {line}"))[:200]
    labels = _labels(value, line, id_, "dialogue", sets)
    if isinstance(labels, Problem):
        return labels
    found = conversation(id_, line, [_turn(each, line, id_, sets) for each in turns])
    return replace(found, by_rater=labels) if isinstance(found, Conversation) else found


def _turn(value: object, line: int, id_: str, sets: _Sets) -> Utterance | Problem:
    found = parse_utterance(value, speaker="speaker", text="text", line=line)
    if isinstance(found, Problem) or not isinstance(value, dict):
        return found
    labels = _labels(value, line, id_, "turn", sets)
    return labels if isinstance(labels, Problem) else replace(found, by_rater=labels)


def _labels(value: dict[str, Any], line: int, id_: str, subject: str, sets: _Sets) -> ByRater | Problem:
    """Labels of a conversation or a turn: by rater, by key of the question set, answers by question."""
    given = value.get("labels") or {}
    if not isinstance(given, dict):
        return Problem(line, f"“labels” in conversation “{id_}” is not an object of raters. {_AS_LABELS}")
    found: dict[str, Given] = {}
    for rater, by_set in given.items():
        if not rater.strip() or not isinstance(by_set, dict):
            return Problem(line, f"Labels in conversation “{id_}” cannot be read. {_AS_LABELS}")
        answers = {key: _answers(key, each, subject, sets) for key, each in by_set.items()}
        for each in answers.values():
            if isinstance(each, str):
                return Problem(line, f"Labels of “{rater}” in conversation “{id_}”: {each}")
        found[rater] = {key: each for key, each in answers.items() if not isinstance(each, str)}
    return found


def _answers(key: str, answers: object, subject: str, sets: _Sets) -> "dict[str, Answer] | str":
    """Answers to a question set as they are stored; a sentence that says why they are none."""
    from evaluation.questions import AnswersError, Subject, UnknownQuestionSetError
    from evaluation.questions.answers import checked  # takes longer than reading a file

    try:
        questions = sets.named(key)
        if Subject(subject) not in questions.subjects:
            about = {"dialogue": "whole conversations", "turn": "turns"}[subject]
            return f"the questions “{key}” are not about {about}."
        if not isinstance(answers, dict):
            return f"the answers to “{key}” are no object. {_AS_LABELS}"
        return checked(questions.questions, answers)
    except (AnswersError, UnknownQuestionSetError) as error:
        return str(error)
