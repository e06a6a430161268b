"""The socket of a worker who writes. Translates frames to calls of `services` and back; decides nothing."""

from typing import Any

from django.urls import reverse
from typing_extensions import override

from turnwise.crowd.entry.sessions import Session
from turnwise.crowd.worker_socket import Handler, WorkerSocket
from turnwise.live.database import in_database
from turnwise.live.frames import Frame, RefusedError, field
from turnwise.tasks.writing import services as writing
from turnwise.tasks.writing.services import Desk


class WritingConsumer(WorkerSocket):
    """One browser tab of a worker who answers contexts one after the other."""

    desk: Desk
    given_back = ("item",)

    @override
    async def enter(self, session: Session) -> None:
        code = str(self.scope["url_route"]["kwargs"]["code"])
        desk = await in_database(writing.desk_of, code, session.worker_id)
        if desk.participation_id not in session.participations:
            raise RefusedError("not_yours")
        self.desk = desk
        self.assignment_id = desk.assignment_id
        await self._show_state()

    @override
    def frame_handlers(self) -> dict[str, Handler]:
        return {**super().frame_handlers(), "write": self.write, "finish": self.finish}

    async def write(self, frame: Frame) -> None:
        key, text = field(frame, "item", str), field(frame, "text", str)
        saved = await in_database(writing.write, self.desk, key=key, text=text)
        told = {"item": key, "text": text, "items": saved.items, "progress": saved.progress}
        await self.say({"type": "written", **told})

    async def finish(self, frame: Frame) -> None:
        await in_database(writing.finish, self.desk)
        await self._show_state()

    @override
    async def show_again(self) -> None:
        await self._show_state()

    async def _show_state(self) -> None:
        state: dict[str, Any] = await in_database(writing.state, self.desk)
        is_over = state.pop("is_over")
        finished = reverse("crowd:thanks", args=[self.desk.study_code]) if is_over else None
        await self.say({"type": "state", **state, "finished": finished})

    @override
    async def refuse(self, refusal: RefusedError, frame: Frame) -> None:
        """Say why. After a context that is gone the page needs the one that is the worker's now."""
        await super().refuse(refusal, frame)
        if refusal.reason in writing.REFUSALS:
            await self._show_state()
