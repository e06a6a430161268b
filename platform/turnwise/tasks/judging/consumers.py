"""The socket of a rater. It translates frames into calls of `judging` and back, and decides nothing."""

from typing import Any

from django.template.loader import render_to_string
from django.urls import reverse
from typing_extensions import override

from turnwise.crowd.entry.sessions import Session
from turnwise.crowd.worker_socket import Handler, WorkerSocket
from turnwise.judging.queue import services as judging
from turnwise.judging.queue.rater_session import REFUSALS, RaterSession, ShownItem
from turnwise.labels.services import Timing
from turnwise.live.database import in_database
from turnwise.live.frames import Frame, RefusedError, field, uuid_field
from turnwise.live.markdown import as_html


class JudgingConsumer(WorkerSocket):
    """One browser tab of a worker who judges items one after the other."""

    rater_session: RaterSession
    echoed_fields = ("item",)

    @override
    async def enter(self, session: Session) -> None:
        self.rater_session = await self._find_rater_session(session)
        self.assignment_id = self.rater_session.assignment_id
        await self._show_state()

    async def _find_rater_session(self, session: Session) -> RaterSession:
        rater_session = await in_database(judging.get_rater_session, self.public_id(), session.worker_id)
        if rater_session.participation_id not in session.participations:
            raise RefusedError("not_yours")
        return rater_session

    # --- frames from the browser -----------------------------------------------------------------

    @override
    def frame_handlers(self) -> dict[str, Handler]:
        return {**super().frame_handlers(), "judge": self.judge, "finish": self.finish}

    async def judge(self, frame: Frame) -> None:
        key = uuid_field(frame, "item")
        judged = await judging.judge_batched(
            self.rater_session, key=key, answers=field(frame, "answers", dict), timing=Timing.of(frame)
        )
        await self.say(
            {
                "type": "judged",
                "item": str(key),
                "answers": judged.answers,
                "leased": self._formatted(judged.leased),
                "progress": judged.progress,
            }
        )

    async def finish(self, frame: Frame) -> None:
        await in_database(judging.finish, self.rater_session)
        await self._show_state()

    # --- frames to the browser -------------------------------------------------------------------

    @override
    async def show_progress(self) -> None:
        await self._show_state()

    async def _show_state(self) -> None:
        state: dict[str, Any] = await in_database(judging.state, self.rater_session)
        is_over = state.pop("is_over")
        finished = reverse("crowd:thanks", args=[self.rater_session.study_code]) if is_over else None
        items = {name: self._formatted(state[name]) for name in ("items", "judged")}
        await self.say({"type": "state", **state, **items, "finished": finished})

    def _formatted(self, items: list[ShownItem]) -> list[ShownItem]:
        """Add the texts as HTML and the reading, if the study shows them.

        All texts are formatted the same way, so that formatting does not reveal which are a bot's.
        """
        if self.rater_session.markdown:
            items = [item | {"html": html_of(item)} for item in items]
        if self.rater_session.shows_reading:
            items = [item | {"reading": reading_of(item)} for item in items]
        return items

    @override
    async def refuse(self, refusal: RefusedError, frame: Frame) -> None:
        """Refuse the frame. If an item was lost, also send the items that the page still has."""
        await super().refuse(refusal, frame)
        if refusal.reason in REFUSALS:
            await self._show_state()


def reading_of(item: ShownItem) -> str:
    """Reading beside an item, as HTML."""
    return render_to_string("tasks/reading/texts.html", {"texts": item["reading"], "of": "own"}).strip()


def html_of(item: ShownItem) -> dict[str, Any]:
    """Texts of an item, as HTML."""
    text = item.get("text")
    return {
        "context": [as_html(turn) for turn in item["context"]],
        "text": None if text is None else as_html(text),
        "sides": [[as_html(turn, top=3) for turn in side["texts"]] for side in item.get("sides", ())],
    }
