"""A conversation as who makes the study tries it, by the rules of conversations and stored nowhere."""

from collections.abc import AsyncIterator, Mapping
from typing import Any
from uuid import uuid4

from django.utils.translation import gettext as _
from typing_extensions import override

from chatbots.errors import BotBusyError, ChatbotError
from evaluation.questions import AnswersError
from turnwise.bots.hosting import client
from turnwise.bots.trial import LONGEST_SECONDS
from turnwise.crowd.worker_task import EXAMPLE_CODE, Answers, Previewed
from turnwise.dialogues.progress import WHOLE, Progress, due_at_the_end, due_with_turn
from turnwise.dialogues.queries import context_of, speaker_of
from turnwise.dialogues.seat_context import SavedTurn, Seated
from turnwise.dialogues.services import asks_of_study, checked_text
from turnwise.dialogues.turn_taking import fault_frame, idle, turn_frame
from turnwise.knowledge.reading_sets import pasted
from turnwise.live.frames import Frame, RefusedError, field, uuid_field
from turnwise.live.markdown import as_html
from turnwise.questions.question_sets import question_set_soon, why_not_taken
from turnwise.studies.asks import About
from turnwise.studies.models import Speaker, Study
from turnwise.tasks.conversation.page import Opposite, page_settings

SCRIPTED = (
    "This reply is scripted: no chatbot is asked. It is here so that you see the questions about a reply.",
    "Another scripted reply. Choose a chatbot above the page to have its own replies.",
)
ONE_AT_A_TIME = "Somebody is trying this chatbot already. Try again in a moment."
# How many previews wait for a real reply in this process: bots are there for workers.
MOST_WAITING = 4
_waiting: set[object] = set()


class TalkPreviewed(Previewed):
    """Somebody talks with a bot, whose replies are scripted unless a bot of the study is chosen."""

    with_bot = True

    @override
    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        chosen = self.study.study_bots.filter(bot=self.wishes.bot, bot__active=True).select_related("bot")
        self.bot = next((each.bot for each in chosen if not each.bot.is_operated), None)
        self.materials = pasted(self.study.material) if self.study.material else []
        self.seat = self._seated(self.study)
        self.due = due_at_the_end(self.seat.asks)
        self.said: list[SavedTurn] = []
        self.faults = 0
        self.is_over = False
        if self.study.opening_text:
            self._say(self.study.opening_text)

    def _seated(self, study: Study) -> Seated:
        nobody = 0
        return Seated(
            nobody, uuid4(), nobody, nobody, study.pk, study.code, nobody,
            bot_id=nobody if self.with_bot else None,
            number=1 if study.opening_speaker == Speaker.BOT else 0,
            opening_turns=1 if study.opening_text else 0,
            min_turns=study.min_turns,
            max_turns=study.max_turns,
            markdown=study.markdown,
            asks=tuple(asks_of_study(study, of_worker=True)),
            shown=frozenset(text.key for text in self.materials),
        )  # fmt: skip

    # --- the page ----------------------------------------------------------------------------------

    def opposite(self) -> Opposite:
        names = _("Chatbot"), _("The chatbot")
        if not self.study.blind and (first := self.bot or self._first_bot()):
            names = first.title, first.title
        return Opposite(*names)

    def _first_bot(self) -> Any:
        first = self.study.study_bots.select_related("bot").first()
        return first.bot if first else None

    @override
    def shown(self) -> tuple[str, dict[str, Any]]:
        opposite = self.opposite()
        settings = page_settings(
            self.study, self.seat.asks, opposite,
            socket=self.socket, name=self.name, language=self.language, shown=self.seat.shown,
        )  # fmt: skip
        return "tasks/conversation/chat.html", {
            "opposite": opposite,
            "resume_code": EXAMPLE_CODE,
            "materials": self.materials,
            "has_reading": bool(self.materials),
            "settings": settings,
        }

    # --- the socket --------------------------------------------------------------------------------

    @property
    def progress(self) -> Progress:
        due = tuple(self.due)
        return self.seat.progress(turns=len(self.said), due_0=due, due_1=due, ended=self.is_over)

    def _state(self) -> Frame:
        return {
            "type": "state",
            "turns": [self._told(turn) for turn in self.said],
            "annotations": [],
            "fault": None,
            "progress": self.progress.frame,
            "finished": self.then if self.is_over else None,
        }

    def _told(self, turn: SavedTurn) -> Frame:
        is_shown = self.seat.markdown and turn.speaker == "bot"
        return turn._asdict() | ({"html": as_html(turn.text)} if is_shown else {})

    def _say(self, text: str, key: str | None = None) -> SavedTurn:
        at = len(self.said)
        speaker, counted = speaker_of(self.seat, at), at >= self.seat.opening_turns
        turn = SavedTurn(at, speaker, text, counted, key)
        self.said.append(turn)
        if counted:
            self.due += [ask.due(at) for ask in due_with_turn(self.seat.asks, is_own=speaker == "human")]
        return turn

    @override
    async def begin(self) -> AsyncIterator[Frame]:
        yield self._state()
        async for frame in self._replied():
            yield frame

    @override
    def answers(self) -> Mapping[str, Answers]:
        return {
            "turn": self.turn,
            "label": self.label,
            "retry": self.retry,
            "finish": self.finish,
            "give_up": self.end,
        }

    async def turn(self, frame: Frame) -> AsyncIterator[Frame]:
        text, key = checked_text(field(frame, "text", str)), str(uuid_field(frame, "key"))
        if obstacle := self.progress.why_not_send():
            raise RefusedError(obstacle)
        saved = self._say(text, key)
        yield turn_frame("turn_saved", saved, self.progress)
        async for told in self._replied():
            yield told

    async def retry(self, frame: Frame) -> AsyncIterator[Frame]:
        async for told in self._replied():
            yield told

    async def _replied(self) -> AsyncIterator[Frame]:
        """What comes of a reply that is due, if one is."""
        if not self.progress.awaits_partner:
            return
        try:
            text = await self._reply()
        except ChatbotError as error:
            self.faults += 1
            fault = fault_frame(self.seat, self.faults) | {"say": str(error)}
            yield {"type": "bot_failed", "fault": fault, "progress": idle(self.progress)}
            return
        self.faults = 0
        saved = self._say(text)
        kind = "bot_turn" if self.with_bot else "partner_turn"
        yield turn_frame(kind, saved, self.progress) | {"turn": self._told(saved)}

    async def _reply(self) -> str:
        """Of the bot that was chosen, which is not kept for long; else a scripted one."""
        if self.bot is None:
            said_before = sum(turn.counted and turn.speaker != "human" for turn in self.said)
            return SCRIPTED[said_before % len(SCRIPTED)]
        if len(_waiting) >= MOST_WAITING or self.bot.pk in _waiting:
            raise BotBusyError(ONE_AT_A_TIME)
        _waiting.add(self.bot.pk)
        try:
            context = context_of(self.seat, [turn.text for turn in self.said])
            reply = await client.reply(self.bot.pk, context, party="preview", deadline=LONGEST_SECONDS)
        finally:
            _waiting.discard(self.bot.pk)
        return reply.response.text

    async def label(self, frame: Frame) -> AsyncIterator[Frame]:
        position = None if frame.get("position") is None else field(frame, "position", int)
        asked = self.seat.ask(field(frame, "ask", int) if "ask" in frame else 0)
        if asked is None or (position is None) != (asked.about == About.DIALOGUE):
            raise RefusedError("no_such_ask")
        if position is not None and not 0 <= position < len(self.said):
            raise RefusedError("unknown_turn")
        questions = await question_set_soon(asked.question_set)
        try:
            answers = questions.check(field(frame, "answers", dict))
        except AnswersError as error:
            raise RefusedError(error.code, why_not_taken(error)) from error
        due = asked.due(WHOLE if position is None else position)
        self.due = [each for each in self.due if each != due]
        saved = {"position": position, "ask": asked.number, "answers": answers}
        yield {"type": "label_saved", **saved, "progress": self.progress.frame}

    async def finish(self, frame: Frame) -> AsyncIterator[Frame]:
        if obstacle := self.progress.why_not_finish():
            raise RefusedError(obstacle)
        async for told in self.end(frame):
            yield told

    async def end(self, frame: Frame) -> AsyncIterator[Frame]:
        self.is_over = True
        yield self._state()
