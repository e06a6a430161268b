"""Socket of the preview: answers a worker's page like the real work, and stores nothing."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from channels.generic.websocket import AsyncWebsocketConsumer
from django.http import QueryDict
from django.utils import translation
from typing_extensions import override

from turnwise.accounts.access import user_of
from turnwise.crowd.languages import ENGLISH, catalog_of
from turnwise.crowd.preview.preview_views import previewed
from turnwise.crowd.worker_task import FrameAnswers, PreviewOptions, WorkerTask, WorkPreview
from turnwise.live.database import in_database
from turnwise.live.frames import Frame, RateLimit, RefusedError, as_json, parse_frame
from turnwise.studies.queries import studies_of
from turnwise.studies.tasks import task_of

BURST = 40
FRAMES_PER_SECOND = 5.0
CLOSE_CODES = {"no_session": 4401, "unknown_dialogue": 4404, "too_fast": 4429}
SIGNED_OUT = "You are signed out. Reload the page to sign in."
NO_SUCH_STUDY = "You do not work on such a study, or it has no such page."
# Frames that the preview ignores.
UNANSWERED = ("here", "typing", "more_time")
OF_THE_WORK = (
    "turn", "label", "retry", "finish", "give_up", "end_alone", "judge", "write",
)  # fmt: skip


class PreviewConsumer(AsyncWebsocketConsumer):
    """Socket of one tab in which a researcher tries the work; its state ends with the tab."""

    previewed: WorkPreview | None = None
    is_open = False

    @override
    async def __call__(self, *arguments: Any) -> None:
        self.running_tasks: set[asyncio.Task[None]] = set()
        try:
            await super().__call__(*arguments)
        finally:  # Channels does not call disconnect after an error
            for task in self.running_tasks:
                task.cancel()

    @override
    async def connect(self) -> None:
        await self.accept()
        self.is_open = True
        self.allowance = RateLimit(BURST, FRAMES_PER_SECOND)
        query = QueryDict(self.scope.get("query_string", b""))
        translation.activate(catalog_of(query.get("language", "")) or ENGLISH)
        try:
            self.previewed = await in_database(self._find, query)
        except RefusedError as refusal:
            return await self.refuse(refusal, {})
        self._tell(self.previewed.begin(), {})

    def _find(self, query: QueryDict) -> WorkPreview:
        user = user_of(self.scope)
        if user is None:
            raise RefusedError("no_session", SIGNED_OUT)
        study = studies_of(user).filter(pk=self.scope["url_route"]["kwargs"]["pk"]).first()
        found = None
        if study and isinstance(task_of(study), WorkerTask):
            # `language` is the language of the researcher's page, `shown_in` that of the preview.
            options = PreviewOptions.of(query, study, language="shown_in")
            found = previewed(study, query.get("page", ""), options)
        if found is None:
            raise RefusedError("unknown_dialogue", NO_SUCH_STUDY)
        return found

    def frame_handlers(self) -> dict[str, FrameAnswers | None]:
        """Handlers by frame type; None for types that are accepted and ignored."""
        answers = self.previewed.answers() if self.previewed else {}
        return {"ping": self.ping, **dict.fromkeys((*UNANSWERED, *OF_THE_WORK)), **answers}

    @override
    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if self.previewed is None or not self.is_open:
            return
        frame: Frame = {}
        try:
            if not self.allowance.spend():
                raise RefusedError("too_fast")
            handlers = self.frame_handlers()
            frame = parse_frame(text_data, handlers)
        except RefusedError as refusal:
            return await self.refuse(refusal, frame)
        if answer := handlers[frame["type"]]:
            self._tell(answer(frame), frame)

    async def ping(self, frame: Frame) -> AsyncIterator[Frame]:
        yield {"type": "pong"}

    def _tell(self, frames: AsyncIterator[Frame], request: Frame) -> None:
        """Send frames as they are produced, in a task, so that the page is still heard meanwhile."""
        task = asyncio.create_task(self._say_all(frames, request))
        self.running_tasks.add(task)
        task.add_done_callback(self.running_tasks.discard)

    async def _say_all(self, frames: AsyncIterator[Frame], request: Frame) -> None:
        try:
            async for frame in frames:
                await self.say(frame)
        except RefusedError as refusal:
            await self.refuse(refusal, request)

    async def say(self, frame: Frame) -> None:
        if self.is_open:
            await self.send(text_data=as_json(frame))

    async def refuse(self, refusal: RefusedError, frame: Frame) -> None:
        known = ("key", "position", "ask", "item")
        echoed = {name: frame[name] for name in known if isinstance(frame.get(name), str | int)}
        await self.say({"type": "refused", "reason": refusal.reason, "say": refusal.say, **echoed})
        if refusal.reason in CLOSE_CODES:
            self.is_open = False
            await self.close(code=CLOSE_CODES[refusal.reason])

    @override
    async def disconnect(self, code: int) -> None:
        self.is_open = False
