"""The socket of a worker who judges. Translates frames to calls of `judging` and back; decides nothing."""

from typing import Any

from django.template.loader import render_to_string
from django.urls import reverse
from typing_extensions import override

from turnwise.crowd.entry.sessions import Session
from turnwise.crowd.worker_socket import Handler, WorkerSocket
from turnwise.judging.queue import services as judging
from turnwise.judging.queue.rater_session import REFUSALS, Desk, Shown
from turnwise.labels.services import Timing
from turnwise.live.database import in_database
from turnwise.live.frames import Frame, RefusedError, field, uuid_field
from turnwise.live.markdown import as_html


class JudgingConsumer(WorkerSocket):
    """One browser tab of a worker who judges items one after the other."""

    desk: Desk
    given_back = ("item",)

    @override
    async def enter(self, session: Session) -> None:
        self.desk = await self._find_desk(session)
        self.assignment_id = self.desk.assignment_id
        await self._show_state()

    async def _find_desk(self, session: Session) -> Desk:
        desk = await in_database(judging.desk_of, self.public_id(), session.worker_id)
        if desk.participation_id not in session.participations:
            raise RefusedError("not_yours")
        return desk

    # --- frames from the browser -----------------------------------------------------------------

    @override
    def frame_handlers(self) -> dict[str, Handler]:
        return {**super().frame_handlers(), "judge": self.judge, "finish": self.finish}

    async def judge(self, frame: Frame) -> None:
        key = uuid_field(frame, "item")
        judged = await judging.judge_among_others(
            self.desk, key=key, answers=field(frame, "answers", dict), timing=Timing.of(frame)
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
        await in_database(judging.finish, self.desk)
        await self._show_state()

    # --- frames to the browser -------------------------------------------------------------------

    @override
    async def show_again(self) -> None:
        await self._show_state()

    async def _show_state(self) -> None:
        state: dict[str, Any] = await in_database(judging.state, self.desk)
        is_over = state.pop("is_over")
        finished = reverse("crowd:thanks", args=[self.desk.study_code]) if is_over else None
        told = {name: self._formatted(state[name]) for name in ("items", "judged")}
        await self.say({"type": "state", **state, **told, "finished": finished})

    def _formatted(self, items: list[Shown]) -> list[Shown]:
        """The items, with what the study shows beside them: their texts as HTML, and what there is to read.

        All texts alike, for who is a person and who a machine is not said.
        """
        if self.desk.markdown:
            items = [item | {"html": html_of(item)} for item in items]
        if self.desk.shows_reading:
            items = [item | {"reading": reading_of(item)} for item in items]
        return items

    @override
    async def refuse(self, refusal: RefusedError, frame: Frame) -> None:
        """Say why. After an item that is gone the page needs the items that are still its own."""
        await super().refuse(refusal, frame)
        if refusal.reason in REFUSALS:
            await self._show_state()


def reading_of(item: Shown) -> str:
    """What is read beside an item, as HTML."""
    return render_to_string("tasks/reading/texts.html", {"texts": item["reading"], "of": "own"}).strip()


def html_of(item: Shown) -> dict[str, Any]:
    """The texts of an item, as HTML."""
    text = item.get("text")
    return {
        "context": [as_html(said) for said in item["context"]],
        "text": None if text is None else as_html(text),
        "sides": [[as_html(said) for said in side["texts"]] for side in item.get("sides", ())],
    }
