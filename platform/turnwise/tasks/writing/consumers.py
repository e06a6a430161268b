"""The socket of a worker who writes. Translates frames to calls of `services` and back; decides nothing."""

from typing import Any

from django.urls import reverse
from typing_extensions import override

from turnwise.crowd.entry.sessions import Session
from turnwise.crowd.worker_socket import Handler, WorkerSocket
from turnwise.live.database import in_database
from turnwise.live.frames import Frame, RefusedError, field
from turnwise.tasks.writing import services as writing
from turnwise.tasks.writing.services import WriterContext


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
