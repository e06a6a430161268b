"""Page and socket of a worker who writes responses. The socket translates frames to calls of `services`."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe
from typing_extensions import override

from evaluation.texts.lengths import MAX_MESSAGE_CHARS
from turnwise.crowd.entry.sessions import Session
from turnwise.crowd.entry.worker_views import begin_work, current_participation, page_of, worker_page
from turnwise.crowd.models import Participation
from turnwise.crowd.worker_socket import Handler, WorkerSocket
from turnwise.live.database import in_database
from turnwise.live.frames import Frame, RefusedError, field
from turnwise.studies.models import Study
from turnwise.tasks.writing import services as writing
from turnwise.tasks.writing.services import WriterContext
from turnwise.tasks.writing.task import Writing


@require_POST
@worker_page
def start(request: HttpRequest, study: Study) -> HttpResponse:
    def begin(participation: Participation) -> HttpResponse:
        writing.begin(participation.pk)
        return redirect(Writing.go_on, code=study.code)

    return begin_work(request, study, begin)


@require_safe
@worker_page
def write(request: HttpRequest, study: Study) -> HttpResponse:
    """Show one context after the other, with a text box."""
    participation = current_participation(request, study)
    if page_of(participation) != Writing.go_on:
        return redirect(page_of(participation), code=study.code)
    settings = {
        "socket": f"/ws/writing/{study.code}/",
        "name": f"writing.{participation.pk}",
        "max_chars": MAX_MESSAGE_CHARS,
    }
    context = {"study": study, "resume_code": participation.resume_code, "settings": settings}
    return render(request, "tasks/writing/write.html", context)


class WritingConsumer(WorkerSocket):
    """One browser tab of a worker who answers contexts one after the other."""

    writer: WriterContext
    echoed_fields = ("item",)

    @override
    async def enter(self, session: Session) -> None:
        code = str(self.scope["url_route"]["kwargs"]["code"])
        writer = await in_database(writing.find_writer_context, code, session.worker_id)
        if writer.participation_id not in session.participations:
            raise RefusedError("not_yours")
        self.writer = writer
        self.assignment_id = writer.assignment_id
        await self._show_state()

    @override
    def frame_handlers(self) -> dict[str, Handler]:
        return {**super().frame_handlers(), "write": self.write, "finish": self.finish}

    async def write(self, frame: Frame) -> None:
        key, text = field(frame, "item", str), field(frame, "text", str)
        saved = await in_database(writing.write, self.writer, key=key, text=text)
        result = {"item": key, "text": text, "items": saved.items, "progress": saved.progress}
        await self.say({"type": "written", **result})

    async def finish(self, frame: Frame) -> None:
        await in_database(writing.finish, self.writer)
        await self._show_state()

    @override
    async def show_progress(self) -> None:
        await self._show_state()

    async def _show_state(self) -> None:
        state: dict[str, Any] = await in_database(writing.state, self.writer)
        is_over = state.pop("is_over")
        finished = reverse("crowd:thanks", args=[self.writer.study_code]) if is_over else None
        await self.say({"type": "state", **state, "finished": finished})

    @override
    async def refuse(self, refusal: RefusedError, frame: Frame) -> None:
        """Send the reason. If the context was given to another worker, also send the current one."""
        await super().refuse(refusal, frame)
        if refusal.reason in writing.REFUSALS:
            await self._show_state()
