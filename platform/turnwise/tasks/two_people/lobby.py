"""Page and socket of a worker who waits for a partner. The socket translates frames to calls and back."""

import asyncio
from typing import Any
from uuid import UUID, uuid4

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe
from typing_extensions import override

from turnwise.crowd import refusals
from turnwise.crowd.entry.sessions import Session
from turnwise.crowd.entry.worker_views import begin_work, current_participation, page_of, worker_page
from turnwise.crowd.models import Participation
from turnwise.crowd.places.assignment import admit
from turnwise.crowd.running.lobby_queue import ASK_SECONDS
from turnwise.crowd.worker_socket import Handler, WorkerSocket
from turnwise.dialogues.models import Dialogue
from turnwise.live.database import in_database
from turnwise.live.frames import Frame, RefusedError, uuid_field
from turnwise.studies.models import Study
from turnwise.tasks.conversation.page import chat_page
from turnwise.tasks.two_people import pairing, queries
from turnwise.tasks.two_people.models import TwoPeoplePlan
from turnwise.tasks.two_people.pairing import Lobby, WaitState
from turnwise.tasks.two_people.task import describe_partner


@require_POST
@worker_page
def start(request: HttpRequest, study: Study) -> HttpResponse:
    def begin(participation: Participation) -> HttpResponse:
        if not hasattr(participation, "assignment") and queries.is_full(study, now=timezone.now()):
            raise refusals.full(may_become_free=True)
        admit(participation.pk)
        return redirect("two_people:talk", code=study.code)

    return begin_work(request, study, begin)


@require_safe
@worker_page
def talk(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the lobby, or the conversation once it has begun."""
    participation = current_participation(request, study)
    if page_of(participation) != "two_people:talk":
        return redirect(page_of(participation), code=study.code)
    plan = TwoPeoplePlan.objects.get(study=study)
    dialogue = Dialogue.objects.filter(seats__assignment=participation.assignment).first()
    if dialogue:
        is_bot = participation.assignment.study_bot_id is not None
        return chat_page(request, participation, dialogue, describe_partner(plan, is_bot=is_bot))
    return _lobby(request, participation, plan)


def _lobby(request: HttpRequest, participation: Participation, plan: TwoPeoplePlan) -> HttpResponse:
    study = participation.study
    context = {
        "study": study,
        "plan": plan,
        "resume_code": participation.resume_code,
        "settings": {"socket": f"/ws/lobby/{study.code}/"},
    }
    return render(request, "tasks/two_people/lobby.html", context)


class LobbyConsumer(WorkerSocket):
    """One browser tab in the lobby. Only the newest tab of a person waits; an older one is closed.

    The server asks each tab every few seconds whether it is still open: a browser slows the timers of a
    hidden tab, but answers messages immediately.
    """

    has_clock = False  # waiting takes no working time
    lobby: Lobby
    tab: UUID
    asking: asyncio.Task[None] | None = None

    @override
    async def __call__(self, *arguments: Any) -> None:
        try:
            await super().__call__(*arguments)
        finally:  # after an error nobody calls disconnect
            if self.asking:
                self.asking.cancel()

    @override
    async def enter(self, session: Session) -> None:
        code = str(self.scope["url_route"]["kwargs"]["code"])
        self.lobby = await in_database(pairing.find_lobby, session, code)
        self.assignment_id = self.lobby.assignment_id
        self.tab = uuid4()
        self.group = _group(self.assignment_id)
        await self.channel_layer.group_send(self.group, {"type": "lobby.other_tab"})
        await self.channel_layer.group_add(self.group, self.channel_name)
        await self._show(await in_database(pairing.enter, self.lobby, self.tab))
        self.asking = asyncio.create_task(self._keep_asking())

    async def _keep_asking(self) -> None:
        while self.is_open:
            await asyncio.sleep(ASK_SECONDS)
            await self.say({"type": "are_you_there"})

    @override
    async def disconnect(self, code: int) -> None:
        await super().disconnect(code)
        if hasattr(self, "group"):
            await self.channel_layer.group_discard(self.group, self.channel_name)
            await self._notify_others(await in_database(pairing.close_tab, self.lobby, self.tab))

    @override
    def frame_handlers(self) -> dict[str, Handler]:
        return {**super().frame_handlers(), "here": self.here}

    async def here(self, frame: Frame) -> None:
        """The tab is open; it may also answer that the worker is ready to meet a partner."""
        if "meeting" in frame:
            meeting = uuid_field(frame, "meeting")
            met = await in_database(pairing.answer, self.lobby, self.tab, meeting)
            await self._notify_others(met)
            if met.is_over:
                return
        await self._show(await in_database(pairing.check_in, self.lobby, self.tab))

    async def _show(self, standing: WaitState) -> None:
        await self._notify_others(standing)
        if standing.is_over:
            await self._lead_on()
            return
        await self.say(
            {
                "type": "state",
                "waited": standing.waited.total_seconds(),
                "longest": self.lobby.longest.total_seconds(),
            }
        )
        if standing.meeting:
            await self.say({"type": "are_you_there", "meeting": str(standing.meeting)})

    async def _notify_others(self, standing: WaitState) -> None:
        for each in standing.asked:
            event = {"type": "lobby.ask_presence", "meeting": str(each.meeting)}
            await self.channel_layer.group_send(_group(each.assignment_id), event)
        for assignment_id in standing.freed:
            await self.channel_layer.group_send(_group(assignment_id), {"type": "lobby.over"})

    @override
    async def show_progress(self) -> None:
        if self.status.ended:
            await self._lead_on()

    async def _lead_on(self) -> None:
        way_on, has_partner = await in_database(pairing.next_page, self.lobby)
        await self.say({"type": "met" if has_partner else "over", "url": way_on})

    # --- events of other tabs --------------------------------------------------------------------

    async def lobby_ask_presence(self, event: Frame) -> None:
        await self.say({"type": "are_you_there", "meeting": event["meeting"]})

    async def lobby_over(self, event: Frame) -> None:
        await self._lead_on()

    async def lobby_other_tab(self, event: Frame) -> None:
        await self.refuse(RefusedError("other_tab"), {})


def _group(assignment_id: int) -> str:
    return f"lobby.{assignment_id}"
