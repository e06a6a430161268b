"""Page and socket of a person who answers in a bot's place. The socket decides nothing itself."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any
from uuid import UUID, uuid4

from channels.generic.websocket import AsyncJsonWebsocketConsumer
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from typing_extensions import override

from evaluation.texts.lengths import MAX_MESSAGE_CHARS
from turnwise.accounts.access import user_of
from turnwise.accounts.models import User
from turnwise.bots import operators
from turnwise.bots.models import Bot
from turnwise.dialogues import operator_replies
from turnwise.dialogues.seat_context import group_of
from turnwise.live.database import in_database
from turnwise.live.frames import Frame, RateLimit, RefusedError, field, parse_frame, uuid_field
from turnwise.operating import queries, services

BURST = 40
FRAMES_PER_SECOND = 5.0
ASK_SECONDS = 4.0
CLOSE_CODES = {"no_session": 4401, "not_operable": 4404, "other_tab": 4410, "too_fast": 4429}

Handler = Callable[[Frame], Awaitable[None]]


class OperatorConsumer(AsyncJsonWebsocketConsumer):
    """Socket of one operator's tab. Only the newest tab of a person stays open."""

    bot: Bot | None = None
    operator: User
    is_open = False
    opened: UUID | None = None
    """The conversation that the page shows."""
    asking: asyncio.Task[None] | None = None

    @override
    async def __call__(self, *arguments: Any) -> None:
        try:
            await super().__call__(*arguments)
        finally:  # after an error nobody calls disconnect
            if self.asking:
                self.asking.cancel()

    @override
    async def connect(self) -> None:
        await self.accept()
        self.is_open = True
        self.allowance = RateLimit(BURST, FRAMES_PER_SECOND)
        self.handlers = self.frame_handlers()
        self.tab = uuid4()
        try:
            self.operator, bot = await in_database(self._find_bot)
        except RefusedError as refusal:
            return await self.refuse(refusal, {})
        self.bot = bot
        await self.channel_layer.group_send(self._operator_group, {"type": "other.tab"})
        for group in (self._operator_group, operator_replies.operators_group(bot.pk)):
            await self.channel_layer.group_add(group, self.channel_name)
        presence = await in_database(operators.open_tab, bot, self.operator, self.tab, now=timezone.now())
        await self._show("state", takes_new=presence.takes_new)
        await operator_replies.notify_operators(bot.pk)
        self.asking = asyncio.create_task(self._keep_asking())

    def _find_bot(self) -> tuple[User, Bot]:
        """Return the user and the bot, if they may still operate it; checked with every frame."""
        user = user_of(self.scope)
        if user is None:
            raise RefusedError("no_session", "You are signed out. Reload the page to sign in.")
        name = str(self.scope["url_route"]["kwargs"]["name"])
        bot = operators.operable_bots(user).filter(name=name, active=True).first()
        if bot is None:
            raise RefusedError("not_operable", "You do not operate such a bot, or it is switched off.")
        return user, bot

    @property
    def _operator_group(self) -> str:
        assert self.bot
        return f"operator.{self.bot.pk}.{self.operator.pk}"

    async def _keep_asking(self) -> None:
        while self.is_open:
            await asyncio.sleep(ASK_SECONDS)
            await self.say({"type": "are_you_there"})

    @override
    async def disconnect(self, code: int) -> None:
        self.is_open = False
        if self.bot:
            for group in (self._operator_group, operator_replies.operators_group(self.bot.pk)):
                await self.channel_layer.group_discard(group, self.channel_name)
            await in_database(operators.close_tab, self.bot, self.operator, self.tab)
            await operator_replies.notify_operators(self.bot.pk)

    @override
    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None, **_: Any) -> None:
        if self.bot is None or not self.is_open:
            return
        frame: Frame = {}
        try:
            if not self.allowance.spend():
                raise RefusedError("too_fast")
            frame = parse_frame(text_data, self.handlers)
            self.operator, self.bot = await in_database(self._find_bot)
            await self.handlers[frame["type"]](frame)
        except RefusedError as refusal:
            await self.refuse(refusal, frame)

    # --- frames from the browser -----------------------------------------------------------------

    def frame_handlers(self) -> dict[str, Handler]:
        return {
            "ping": self.ping,
            "here": self.here,
            "take_new": self.take_new,
            "open": self.open,
            "answer": self.answer,
        }

    async def ping(self, frame: Frame) -> None:
        await self.say({"type": "pong"})

    async def here(self, frame: Frame) -> None:
        """The browser is still open: record it, and send what it may have missed."""
        assert self.bot
        presence = await in_database(
            operators.keep_alive, self.bot, self.operator, self.tab, now=timezone.now()
        )
        if presence is None:
            raise RefusedError("other_tab", "You opened this page in another tab. Continue there.")
        await self._show("conversations")
        await self._show_opened()

    async def take_new(self, frame: Frame) -> None:
        assert self.bot
        wanted = field(frame, "wanted", bool)
        await in_database(operators.take_new, self.bot, self.operator, self.tab, wanted)
        await self.say({"type": "takes_new", "wanted": wanted})

    async def open(self, frame: Frame) -> None:
        """Show a conversation; with `take`, take it over if no present operator has it."""
        assert self.bot
        public_id = uuid_field(frame, "id")
        if frame.get("take") is True:
            await in_database(services.take, self.bot, self.operator, public_id)
            await operator_replies.notify_operators(self.bot.pk)
        self.opened = public_id
        await self._show_opened()

    async def answer(self, frame: Frame) -> None:
        assert self.bot
        public_id, position = uuid_field(frame, "id"), field(frame, "position", int)
        written = await in_database(
            partial(services.answer, self.bot, self.operator, public_id, position=position),
            text=field(frame, "text", str),
            key=uuid_field(frame, "key"),
        )
        await self.say({"type": "answer_saved", "id": str(public_id), "key": str(written.key)})
        event = {"type": "operator.replied", "position": position}
        await self.channel_layer.group_send(group_of(written.dialogue_id, 1 - position % 2), event)
        await operator_replies.notify_operators(self.bot.pk)
        await self._show_opened()

    # --- frames to the browser -------------------------------------------------------------------

    async def say(self, frame: Frame) -> None:
        if self.is_open:
            await self.send_json(frame)

    async def refuse(self, refusal: RefusedError, frame: Frame) -> None:
        ids = {name: frame[name] for name in ("key", "id") if isinstance(frame.get(name), str)}
        await self.say({"type": "refused", "reason": refusal.reason, "say": refusal.say, **ids})
        if refusal.reason in CLOSE_CODES:
            self.is_open = False
            await self.close(code=CLOSE_CODES[refusal.reason])

    async def _show(self, kind: str, **more: Any) -> None:
        assert self.bot
        found = await in_database(queries.conversations, self.bot, self.operator, now=timezone.now())
        now = timezone.now().isoformat()
        await self.say({"type": kind, "conversations": found, "now": now, **more})

    async def _show_opened(self) -> None:
        assert self.bot
        if self.opened is None:
            return
        found = await in_database(queries.conversation, self.bot, self.opened)
        if found is None:
            await self.say({"type": "closed", "id": str(self.opened)})
            self.opened = None
        else:
            await self.say({"type": "conversation", **found})

    # --- events ----------------------------------------------------------------------------------

    async def conversations_changed(self, event: Frame) -> None:
        await self._show("conversations")
        await self._show_opened()

    async def layer_restored(self, event: Frame) -> None:
        await self.conversations_changed(event)

    async def other_tab(self, event: Frame) -> None:
        await self.refuse(
            RefusedError("other_tab", "You opened this page in another tab. Continue there."), {}
        )


@login_required
@require_safe
@never_cache
def operate(request: HttpRequest, name: str) -> HttpResponse:
    """The page on which an operator answers in a bot's place."""
    bot = get_object_or_404(operators.operable_bots(request.user), name=name)
    settings = operators.settings_of(bot)
    context = {
        "bot": bot,
        "settings": settings,
        "prepared": [(n, text, n if n < 10 else None) for n, text in enumerate(settings.prepared, start=1)],
        "for_script": {"socket": f"/ws/operating/{bot.name}/", "max_chars": MAX_MESSAGE_CHARS},
    }
    return render(request, "operating/operate.html", context)
