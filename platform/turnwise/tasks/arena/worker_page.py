"""Page and socket of a worker who talks with two bots at once. The socket translates frames to calls."""

import asyncio
from typing import Any

from channels.layers import BaseChannelLayer
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe
from typing_extensions import override

from turnwise.crowd.entry.sessions import Session
from turnwise.crowd.entry.worker_views import begin_work, current_participation, page_of, worker_page
from turnwise.crowd.languages import language_of_questions
from turnwise.crowd.models import Participation
from turnwise.crowd.worker_socket import Handler, WorkerSocket
from turnwise.judging.asks import questions_by_ask_number
from turnwise.labels.services import Timing
from turnwise.live.database import in_database
from turnwise.live.frames import Frame, RefusedError, field, uuid_field
from turnwise.studies.models import Study
from turnwise.tasks.arena import asking, battles, both_sides, votes
from turnwise.tasks.arena.battles import ArenaContext, OpenBattle
from turnwise.tasks.arena.both_sides import Sides, read_sides
from turnwise.tasks.arena.task import Arena


@require_POST
@worker_page
def start(request: HttpRequest, study: Study) -> HttpResponse:
    def begin(participation: Participation) -> HttpResponse:
        battles.begin(participation.pk)
        return redirect(Arena.go_on, code=study.code)

    return begin_work(request, study, begin)


@require_safe
@worker_page
def talk(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the battle under way, with a message box and the questions about both sides."""
    participation = current_participation(request, study)
    if page_of(participation) != Arena.go_on:
        return redirect(page_of(participation), code=study.code)
    settings = page_settings(study, f"/ws/arena/{study.code}/", f"arena.{participation.pk}")
    context = {"study": study, "resume_code": participation.resume_code, "settings": settings}
    return render(request, "tasks/arena/talk.html", context)


def page_settings(study: Study, socket: str, name: str, language: str = "") -> dict[str, object]:
    """Settings of the page's script (static/js/arena)."""
    return {
        "socket": socket,
        "name": name,
        "asks": questions_by_ask_number(study, language or language_of_questions(study)),
        "max_chars": study.message_limit,
    }


class ArenaConsumer(WorkerSocket):
    """One browser tab of a worker who talks with two bots at once. All tabs of the worker show the same."""

    context: ArenaContext
    channel_layer: BaseChannelLayer
    channel_name: str
    group = ""
    timer: asyncio.TimerHandle | None = None
    looking: asyncio.Future[None] | None = None
    echoed_fields = ("key", "ask", "battle", "exchange")

    @override
    async def enter(self, session: Session) -> None:
        code = str(self.scope["url_route"]["kwargs"]["code"])
        context = await in_database(battles.find_context, code, session.worker_id)
        if context.participation_id not in session.participations:
            raise RefusedError("not_yours")
        self.context = context
        self.assignment_id = context.assignment_id
        # A state that is read earlier must not be sent later.
        self.in_order = asyncio.Lock()
        self.group = f"arena.{context.assignment_id}"
        await self.channel_layer.group_add(self.group, self.channel_name)
        await self._show_state()

    @override
    async def disconnect(self, code: int) -> None:
        await super().disconnect(code)
        self._look_again(0, wanted=False)
        if self.group:
            await self.channel_layer.group_discard(self.group, self.channel_name)

    # --- frames from the browser -----------------------------------------------------------------

    @override
    def frame_handlers(self) -> dict[str, Handler]:
        return {
            **super().frame_handlers(),
            "turn": self.turn,
            "retry": self.retry,
            "vote": self.vote,
            "anew": self.anew,
            "give_up": self.give_up,
            "finish": self.finish,
        }

    async def turn(self, frame: Frame) -> None:
        number, text, key = field(frame, "battle", int), field(frame, "text", str), uuid_field(frame, "key")
        found = await in_database(both_sides.save_message, self.context, number, text, key)
        await asking.ask_both(found, self._notify, self._tell)
        await self._notify()

    async def retry(self, frame: Frame) -> None:
        found = await in_database(battles.open_battle, self.context, field(frame, "battle", int))
        if found:
            await asking.ask_both(found, self._notify, self._tell, again=True)
        await self._notify()

    async def vote(self, frame: Frame) -> None:
        number, ask = field(frame, "battle", int), field(frame, "ask", int)
        answers = field(frame, "answers", dict)
        exchange = field(frame, "exchange", int)
        await in_database(votes.vote, self.context, number, exchange, ask, answers, Timing.of(frame))
        await self._notify()

    async def anew(self, frame: Frame) -> None:
        await in_database(votes.begin_anew, self.context, field(frame, "battle", int))
        await self._notify()

    async def give_up(self, frame: Frame) -> None:
        await in_database(votes.give_up, self.context, field(frame, "battle", int))
        await self._notify()

    async def finish(self, frame: Frame) -> None:
        await in_database(battles.finish, self.context)
        await self._notify()

    # --- frames to the browser -------------------------------------------------------------------

    async def _notify(self) -> None:
        """Make every tab of the worker read its state, this one first."""
        await self._show_state()
        await self.channel_layer.group_send(self.group, {"type": "arena.changed", "from": self.channel_name})

    async def _tell(self, frame: Frame) -> None:
        """Send a frame to every tab of the worker."""
        await self.channel_layer.group_send(self.group, {"type": "arena.told", "frame": frame})

    async def arena_told(self, event: Frame) -> None:
        await self.say(event["frame"])

    async def arena_changed(self, event: Frame) -> None:
        if event["from"] != self.channel_name:
            await self._show_state()

    async def layer_restored(self, event: Frame) -> None:
        """Read the state after an outage of Redis, when events between processes were lost."""
        await self._show_state()

    def _look_again(self, seconds: float, *, wanted: bool) -> None:
        """Read the state again after so many seconds: the process that asks the bots may have died."""
        if self.timer:
            self.timer.cancel()
        loop = asyncio.get_running_loop()
        self.timer = loop.call_later(seconds, self._on_timer) if wanted and self.is_open else None

    def _on_timer(self) -> None:
        event = {"type": "arena.changed", "from": ""}
        self.looking = asyncio.ensure_future(self.channel_layer.send(self.channel_name, event))

    @override
    async def show_progress(self) -> None:
        await self._show_state()

    async def _show_state(self) -> None:
        async with self.in_order:
            await self._say_state()

    async def _say_state(self) -> None:
        found, sides, progress = await in_database(_stored, self.context)
        if found and sides and sides.needs_asking:
            await asking.ask_both(found, self._notify, self._tell)
        is_over = progress.pop("is_over")
        shown: dict[str, Any] = {"battle": None}
        if found and sides:
            shown = both_sides.rounds_frame(found, sides)
            self._look_again(sides.leased_seconds or asking.LEASE.total_seconds(), wanted=shown["thinking"])
        finished = reverse("crowd:thanks", args=[self.context.study_code]) if is_over else None
        await self.say({"type": "state", **shown, "progress": progress, "finished": finished})
        if found:
            await self.update_clock(waits=not shown["thinking"], anew=False)


def _stored(context: ArenaContext) -> tuple[OpenBattle | None, Sides | None, dict[str, Any]]:
    """The battle under way with both sides, and the worker's progress."""
    found, progress = battles.page_state(context)
    return found, read_sides(context, found) if found else None, progress
