"""Preview of a comparison for the study's team: scripted replies on both sides; nothing is stored."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

from typing_extensions import override

from evaluation.questions import AnswersError
from turnwise.crowd.worker_task import EXAMPLE_CODE, FrameAnswers, WorkPreview
from turnwise.dialogues.services import checked_text
from turnwise.judging.asks import asks_of_readers, questions_by_ask_number
from turnwise.judging.models import JudgingPlan
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
        plan = JudgingPlan.objects.filter(study=self.study).first()
        self.sets = {ask.number: ask.question_set for ask in asks_of_readers(self.study)}
        self.battle = 1
        self.turns: list[dict[str, Any]] = []
        self.votes_each = bool(plan and plan.judges_each_exchange)
        self.voted: dict[int, dict[int, dict[str, Any]]] = {}
        """Answers by the number of messages that they are about, and of their ask."""
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
    def _is_long_enough(self) -> bool:
        return bool(self.turns) and len(self.turns) * 2 >= self.study.min_turns

    @property
    def _may_vote(self) -> bool:
        return self._is_long_enough and self.voted.get(len(self.turns), {}).keys() != self.sets.keys()

    @property
    def _may_send(self) -> bool:
        has_to_vote = self._may_vote if self.votes_each else bool(self.voted)
        return not (self._is_full or has_to_vote)

    @property
    def _may_begin_anew(self) -> bool:
        return self.votes_each and bool(self.voted) and not self._may_vote

    def _begin_anew(self) -> None:
        self.battle, self.turns, self.voted = self.battle + 1, [], {}

    def _state(self) -> Frame:
        done = self.battle - 1
        progress = {"done": done, "size": BATTLES, "may_finish": done >= BATTLES}
        finished = self.then if self.is_over else None
        if done >= BATTLES:
            return {"type": "state", "battle": None, "progress": progress, "finished": finished}
        saved = [
            {"battle": self.battle, "exchange": exchange, "ask": ask, "answers": answers}
            for exchange, given in self.voted.items()
            for ask, answers in given.items()
        ]
        return {
            "type": "state",
            "battle": self.battle,
            "exchange": len(self.turns),
            "turns": self.turns,
            "thinking": False,
            "may_send": self._may_send,
            "is_full": self._is_full,
            "may_vote": self._may_vote,
            "may_begin_anew": self._may_begin_anew,
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
        return {"turn": self.turn, "vote": self.vote, "anew": self.anew, "finish": self.finish}

    async def turn(self, frame: Frame) -> AsyncIterator[Frame]:
        text, key = (
            checked_text(field(frame, "text", str), self.study.message_limit),
            uuid_field(frame, "key"),
        )
        if not self._may_send:
            raise RefusedError("turn_limit" if self._is_full else "label_first")
        replies = [{"text": text, "html": None} for text in SCRIPTED]
        self.turns.append({"key": str(key), "text": text, "replies": replies})
        yield self._state()

    async def vote(self, frame: Frame) -> AsyncIterator[Frame]:
        number = field(frame, "ask", int)
        if (key := self.sets.get(number)) is None:
            raise RefusedError("no_such_ask")
        if not self._is_long_enough:
            raise refusal("vote_early")
        questions = await question_set_async(key)
        try:
            answers = questions.check(field(frame, "answers", dict))
        except AnswersError as error:
            raise RefusedError(error.code, describe_answers_error(error)) from error
        if (field(frame, "battle", int), field(frame, "exchange", int)) == (self.battle, len(self.turns)):
            self.voted.setdefault(len(self.turns), {})[number] = answers
            if not self._may_vote and (self._is_full or not self.votes_each):
                self._begin_anew()
        yield self._state()

    async def anew(self, frame: Frame) -> AsyncIterator[Frame]:
        if not self._may_begin_anew:
            raise refusal("unvoted")
        self._begin_anew()
        yield self._state()

    async def finish(self, frame: Frame) -> AsyncIterator[Frame]:
        if self.battle <= BATTLES:
            raise refusal("unvoted")
        self.is_over = True
        yield self._state()
