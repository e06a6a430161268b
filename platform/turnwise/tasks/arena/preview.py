"""Preview of a comparison for the study's team: scripted replies on both sides; nothing is stored."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

from typing_extensions import override

from evaluation.questions import AnswersError
from turnwise.crowd.worker_task import EXAMPLE_CODE, FrameAnswers, WorkPreview
from turnwise.dialogues.services import checked_text
from turnwise.judging.asks import asks_of_readers, questions_by_ask_number
from turnwise.live.frames import Frame, RefusedError, field, uuid_field
from turnwise.questions.question_sets import describe_answers_error, question_set_async
from turnwise.tasks.arena.battles import refusal
from turnwise.tasks.conversation.preview import SCRIPTED

BATTLES = 2
"""Comparisons of a preview: enough to see how a new one begins."""


class ArenaPreviewed(WorkPreview):
    """Preview with two short comparisons, in which no bot is asked."""

    @override
    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.sets = {ask.number: ask.question_set for ask in asks_of_readers(self.study)}
        self.battle = 1
        self.turns: list[dict[str, Any]] = []
        self.voted: dict[int, dict[str, Any]] = {}
        self.is_over = False

    @override
    def template_and_context(self) -> tuple[str, dict[str, Any]]:
        settings = {
            "socket": self.socket,
            "name": self.name,
            "asks": questions_by_ask_number(self.study, self.language),
            "max_chars": self.study.message_limit,
        }
        return "tasks/arena/talk.html", {"resume_code": EXAMPLE_CODE, "settings": settings}

    @property
    def _is_full(self) -> bool:
        return len(self.turns) * 2 + 2 > self.study.max_turns

    @property
    def _may_vote(self) -> bool:
        return bool(self.turns) and len(self.turns) * 2 >= self.study.min_turns

    def _state(self) -> Frame:
        done = self.battle - 1
        progress = {"done": done, "size": BATTLES, "may_finish": done >= BATTLES}
        finished = self.then if self.is_over else None
        if done >= BATTLES:
            return {"type": "state", "battle": None, "progress": progress, "finished": finished}
        saved = [{"position": self.battle, "ask": ask, "answers": given} for ask, given in self.voted.items()]
        return {
            "type": "state",
            "battle": self.battle,
            "turns": self.turns,
            "thinking": False,
            "may_send": not (self._is_full or self.voted),
            "is_full": self._is_full,
            "may_vote": self._may_vote,
            "fault": None,
            "annotations": saved,
            "progress": progress,
            "finished": finished,
        }

    @override
    async def begin(self) -> AsyncIterator[Frame]:
        yield self._state()

    @override
    def answers(self) -> Mapping[str, FrameAnswers]:
        return {"turn": self.turn, "vote": self.vote, "finish": self.finish}

    async def turn(self, frame: Frame) -> AsyncIterator[Frame]:
        text, key = (
            checked_text(field(frame, "text", str), self.study.message_limit),
            uuid_field(frame, "key"),
        )
        if self._is_full or self.voted:
            raise RefusedError("turn_limit")
        replies = [{"text": text, "html": None} for text in SCRIPTED]
        self.turns.append({"key": str(key), "text": text, "replies": replies})
        yield self._state()

    async def vote(self, frame: Frame) -> AsyncIterator[Frame]:
        number = field(frame, "ask", int)
        if (key := self.sets.get(number)) is None:
            raise RefusedError("no_such_ask")
        if not self._may_vote:
            raise refusal("vote_early")
        questions = await question_set_async(key)
        try:
            self.voted[number] = questions.check(field(frame, "answers", dict))
        except AnswersError as error:
            raise RefusedError(error.code, describe_answers_error(error)) from error
        if self.voted.keys() == self.sets.keys():
            self.battle, self.turns, self.voted = self.battle + 1, [], {}
        yield self._state()

    async def finish(self, frame: Frame) -> AsyncIterator[Frame]:
        if self.battle <= BATTLES:
            raise refusal("unvoted")
        self.is_over = True
        yield self._state()
