"""Preview of a conversation for the study's team: follows the rules of conversations, stores nothing."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

from asgiref.sync import sync_to_async
from django.urls import reverse
from django.utils.translation import gettext as _
from typing_extensions import override

from chatbots.base import Context
from chatbots.errors import BotBusyError, ChatbotError
from evaluation.questions import AnswersError
from turnwise.bots.hosting import client
from turnwise.bots.hosting.client import Reply
from turnwise.bots.queries import sees_pictures
from turnwise.bots.trial import LONGEST_SECONDS
from turnwise.crowd.worker_task import EXAMPLE_CODE, FrameAnswers, WorkPreview
from turnwise.dialogues import pictures
from turnwise.dialogues.growing_replies import GrowingReply
from turnwise.dialogues.progress import WHOLE, Progress, due_at_the_end, due_with_turn
from turnwise.dialogues.queries import context_of, setting_of, speaker_of
from turnwise.dialogues.seat_context import SavedTurn, SeatContext
from turnwise.dialogues.services import asks_of_study, checked_text
from turnwise.dialogues.turn_taking import fault_frame, idle_progress, turn_frame
from turnwise.knowledge.reading_sets import parse_pasted
from turnwise.live.database import in_database
from turnwise.live.frames import Frame, FrameStream, RefusedError, Tell, field, uuid_field
from turnwise.live.markdown import as_html
from turnwise.questions.question_sets import describe_answers_error, question_set_async
from turnwise.studies.asks import About
from turnwise.studies.conditions.factors import Condition, names_in, texts_in
from turnwise.studies.models import ReplyDisplay, Speaker, Study
from turnwise.studies.scenarios.tables import Scenario, situation_of
from turnwise.tasks.conversation import preview_pictures
from turnwise.tasks.conversation.page import PartnerDescription, page_settings, picture_settings

SCRIPTED = (
    "This reply is scripted: no chatbot is asked. It is here so that you see the questions about a reply.",
    "Another scripted reply. Choose a chatbot above the page to have its own replies.",
)
ONE_AT_A_TIME = "Somebody is trying this chatbot already. Try again in a moment."
# Most previews that wait for a real reply in this process, because workers come first.
MOST_WAITING = 4
_waiting: set[object] = set()


def _first_row(study: Study, condition: Condition) -> Scenario | None:
    """First row of the table of scenarios in this condition, which is shown; None without a table."""
    allowed = names_in(study.factors, condition, "scenarios")
    return next((row for row in study.scenarios if allowed is None or row["name"] in allowed), None)


class TalkPreviewed(WorkPreview):
    """Preview of a talk with a bot; its replies are scripted unless a bot of the study is chosen."""

    with_bot = True

    @override
    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        chosen = self.study.study_bots.filter(bot=self.options.bot, bot__active=True).select_related("bot")
        self.bot = next((each.bot for each in chosen if not each.bot.is_operated), None)
        self.materials = parse_pasted(self.study.material) if self.study.material else []
        self.condition = self.options.condition_in(self.study)
        self.row = _first_row(self.study, self.condition)
        self.seat = self._seat_context(self.study)
        self.due = due_at_the_end(self.seat.asks)
        self.turns: list[SavedTurn] = []
        self.picture_keys: dict[int, str] = {}  # by position; the pictures themselves are in the cache
        self.faults = 0
        self.is_over = False
        self.growing: GrowingReply | None = None
        self.pictures_shown: dict[int, Frame] = {}
        if self.study.opening_text:
            self._say(self.study.opening_text)

    def _seat_context(self, study: Study) -> SeatContext:
        no_key = 0
        return SeatContext(
            no_key, uuid4(), no_key, no_key, study.pk, study.code, no_key,
            bot_id=no_key if self.with_bot else None,
            number=1 if study.opening_speaker == Speaker.BOT else 0,
            opening_turns=1 if study.opening_text else 0,
            min_turns=study.min_turns,
            max_turns=study.max_turns,
            markdown=study.markdown,
            asks=tuple(asks_of_study(study, of_worker=True)),
            material_keys=frozenset(text.key for text in self.materials),
            setting=setting_of(study, self.row),
            reply_display=ReplyDisplay(study.reply_display),
            reply_pace=study.reply_pace,
            reply_limit=study.reply_limit,
            takes_pictures=study.takes_pictures,
        )  # fmt: skip

    # --- the page ----------------------------------------------------------------------------------

    def partner_description(self) -> PartnerDescription:
        names = _("Chatbot"), _("The chatbot")
        if not self.study.blind and (first := self.bot or self._first_bot()):
            names = first.title, first.title
        return PartnerDescription(*names)

    def _first_bot(self) -> Any:
        first = self.study.study_bots.select_related("bot").first()
        return first.bot if first else None

    @override
    def template_and_context(self) -> tuple[str, dict[str, Any]]:
        partner = self.partner_description()
        settings = page_settings(
            self.study, self.seat.asks, partner,
            socket=self.socket, name=self.name, language=self.language, material_keys=self.seat.material_keys,
        )  # fmt: skip
        return "tasks/conversation/chat.html", {
            "partner": partner,
            "situation": situation_of(self.study, self.row),
            "further_texts": texts_in(self.study.factors, self.condition),
            "resume_code": EXAMPLE_CODE,
            "materials": self.materials,
            "has_reading": bool(self.materials),
            # The preview's replies are written for its page: there are no other versions.
            "settings": settings | self._picture_settings() | {"max_versions": 1},
        }

    def _picture_settings(self) -> dict[str, object]:
        upload = reverse("conversation:preview_upload", args=[self.study.pk])
        return picture_settings(self.study, f"{upload}?{urlencode(self.options.query)}")

    # --- the socket --------------------------------------------------------------------------------

    @property
    def progress(self) -> Progress:
        due = tuple(self.due)
        return self.seat.progress(turns=len(self.turns), due_0=due, due_1=due, ended=self.is_over)

    def _state(self) -> Frame:
        return {
            "type": "state",
            "turns": [self._turn_frame(turn) for turn in self.turns],
            "annotations": [],
            "fault": None,
            "progress": self.progress.frame,
            "finished": self.then if self.is_over else None,
        }

    def _turn_frame(self, turn: SavedTurn) -> Frame:
        is_shown = self.seat.markdown and turn.speaker == "bot"
        picture = {"picture": self.pictures_shown.get(turn.position)}
        return turn._asdict() | picture | ({"html": as_html(turn.text)} if is_shown else {})

    def _say(self, text: str, key: str | None = None) -> SavedTurn:
        at = len(self.turns)
        speaker, counted = speaker_of(self.seat, at), at >= self.seat.opening_turns
        turn = SavedTurn(at, speaker, text, counted, key)
        self.turns.append(turn)
        if counted:
            self.due += [ask.due(at) for ask in due_with_turn(self.seat.asks, is_own=speaker == "human")]
        return turn

    @override
    async def begin(self) -> AsyncIterator[Frame]:
        yield self._state()
        async for frame in self._replied():
            yield frame

    @override
    def answers(self) -> Mapping[str, FrameAnswers]:
        return {
            "turn": self.turn,
            "label": self.label,
            "retry": self.retry,
            "stop": self.stop,
            "finish": self.finish,
            "give_up": self.end,
        }

    async def turn(self, frame: Frame) -> AsyncIterator[Frame]:
        text, key = checked_text(field(frame, "text", str)), str(uuid_field(frame, "key"))
        picture = await self._picture_of(frame)
        if obstacle := self.progress.why_not_send():
            raise RefusedError(obstacle)
        saved = self._say(text, key)
        if picture:
            self.picture_keys[saved.position], self.pictures_shown[saved.position] = picture
        yield turn_frame("turn_saved", saved, self.progress) | {"turn": self._turn_frame(saved)}
        async for reply_frame in self._replied():
            yield reply_frame

    async def _picture_of(self, frame: Frame) -> tuple[str, Frame] | None:
        """Key of the frame's picture, and the picture as the page shows it; None without one."""
        key = pictures.checked_hash(frame.get("picture"))
        if not key:
            return None
        if not self.seat.takes_pictures:
            raise RefusedError("malformed")
        found = await sync_to_async(preview_pictures.held)(key, self.study.pk)
        if found is None:
            raise pictures.unknown_picture()
        shown = preview_pictures.picture_frame(key, self.study.pk, found)
        return key, shown | {"description": pictures.checked_description(frame.get("description"))}

    async def retry(self, frame: Frame) -> AsyncIterator[Frame]:
        async for reply_frame in self._replied():
            yield reply_frame

    async def stop(self, frame: Frame) -> AsyncIterator[Frame]:
        """Stop the reply that grows; its frame is the last of the request that asked for it."""
        if self.growing and self.study.may_stop_replies:
            self.growing.stop()
        return
        yield

    async def _replied(self) -> AsyncIterator[Frame]:
        """Yield frames of the due reply as it grows, then that of the reply or its failure, if one is due."""
        if not self.progress.awaits_partner:
            return
        asking = FrameStream(self._reply)
        async for growth in asking.frames():
            yield growth
        try:
            text = asking.result()
        except ChatbotError as error:
            self.faults += 1
            fault = fault_frame(self.seat, self.faults) | {"say": str(error)}
            yield {"type": "bot_failed", "fault": fault, "progress": idle_progress(self.progress)}
            return
        self.faults = 0
        saved = self._say(text)
        kind = "bot_turn" if self.with_bot else "partner_turn"
        yield turn_frame(kind, saved, self.progress) | {"turn": self._turn_frame(saved)}

    async def _reply(self, send: Tell) -> str:
        """Reply of the chosen bot, with a short deadline; otherwise a scripted one."""
        if self.bot is None:
            replies_so_far = sum(turn.counted and turn.speaker != "human" for turn in self.turns)
            return SCRIPTED[replies_so_far % len(SCRIPTED)]
        if len(_waiting) >= MOST_WAITING or self.bot.pk in _waiting:
            raise BotBusyError(ONE_AT_A_TIME)
        _waiting.add(self.bot.pk)
        try:
            context = context_of(self.seat, [turn.text for turn in self.turns])
            may_see = bool(self.picture_keys) and await in_database(sees_pictures, self.bot)
            if may_see:
                context = await sync_to_async(self._with_pictures)(context)
            return (await self._reply_of(self.bot.pk, context, send)).response.text
        finally:
            _waiting.discard(self.bot.pk)

    def _with_pictures(self, context: Context) -> Context:
        found = preview_pictures.context_pictures(self.picture_keys, self.study.pk)
        turns = [replace(turn, picture=found.get(position)) for position, turn in enumerate(context.turns)]
        return replace(context, turns=tuple(turns))

    async def _reply_of(self, bot_id: int, context: Context, send: Tell) -> Reply:
        """Reply of a bot; in a study whose replies grow, its text so far is sent meanwhile."""
        limits: Any = {"tenant": "preview", "deadline": LONGEST_SECONDS}
        if not self.seat.replies_grow:
            return await client.reply(bot_id, context, **limits)
        self.growing = growing = GrowingReply(self.seat, len(self.turns), send)
        try:
            return await growing.reply(bot_id, context, **limits)
        finally:
            self.growing = None
            await growing.close()

    async def label(self, frame: Frame) -> AsyncIterator[Frame]:
        position = None if frame.get("position") is None else field(frame, "position", int)
        asked = self.seat.ask(field(frame, "ask", int) if "ask" in frame else 0)
        if asked is None or (position is None) != (asked.about == About.DIALOGUE):
            raise RefusedError("no_such_ask")
        if position is not None and not 0 <= position < len(self.turns):
            raise RefusedError("unknown_turn")
        questions = await question_set_async(asked.question_set)
        try:
            answers = questions.check(field(frame, "answers", dict))
        except AnswersError as error:
            raise RefusedError(error.code, describe_answers_error(error)) from error
        due = asked.due(WHOLE if position is None else position)
        self.due = [each for each in self.due if each != due]
        saved = {"position": position, "ask": asked.number, "answers": answers}
        yield {"type": "label_saved", **saved, "progress": self.progress.frame}

    async def finish(self, frame: Frame) -> AsyncIterator[Frame]:
        if obstacle := self.progress.why_not_finish():
            raise RefusedError(obstacle)
        async for reply_frame in self.end(frame):
            yield reply_frame

    async def end(self, frame: Frame) -> AsyncIterator[Frame]:
        self.is_over = True
        yield self._state()
