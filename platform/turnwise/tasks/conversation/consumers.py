"""The socket of a worker who chats. Translates frames to calls and back; decides nothing."""

import asyncio
import random
from collections import Counter
from typing import Any

from django.urls import reverse
from typing_extensions import override

from turnwise.crowd.entry.sessions import Session
from turnwise.crowd.places.assignment import PlaceState, claim_place, claim_place_fast
from turnwise.crowd.worker_socket import Handler, WorkerSocket
from turnwise.dialogues import (
    growing_replies,
    operator_replies,
    partner_events,
    pictures,
    queries,
    regenerating,
    reply_versions,
    services,
    turn_taking,
)
from turnwise.dialogues.partner_events import ASK_SECONDS, Partner
from turnwise.dialogues.seat_context import SeatContext, group_of
from turnwise.dialogues.turn_taking import DisplayedTurns
from turnwise.labels.services import Timing, record
from turnwise.live import log_context
from turnwise.live.database import in_database
from turnwise.live.frames import Frame, RefusedError, field, uuid_field
from turnwise.live.markdown import as_html
from turnwise.tasks.conversation.page import stored_state

# Each tab receives the frames of all others, so this limits work too. A person usually has two or three.
MAX_TABS = 8

_tabs: Counter[int] = Counter()  # open in this process, by dialogue


class DialogueConsumer(WorkerSocket):
    """One browser tab in one dialogue.

    The channel layer carries frames to the other tabs of the seat, in this process or another. It is used
    only once a tab knows of another, because most dialogues have only one tab.
    """

    seat: SeatContext
    is_counted = False
    has_unsent_news = False
    """True if frames were not sent to other tabs, because no other tab was known."""
    displayed: DisplayedTurns
    partner: Partner | None = None
    """Connection to the partner's tabs; None if the partner is a bot."""
    asking: asyncio.Task[None] | None = None
    echoed_fields = ("key", "position", "ask")

    @override
    async def __call__(self, *arguments: Any) -> None:
        try:
            await super().__call__(*arguments)
        finally:  # after an error nobody calls disconnect
            if self.asking:
                self.asking.cancel()
            if self.is_counted:
                _tabs[self.seat.dialogue_id] -= 1
                if not _tabs[self.seat.dialogue_id]:
                    del _tabs[self.seat.dialogue_id]

    @override
    async def enter(self, session: Session) -> None:
        self.seat = await self._find_seat(session)
        log_context.bind(study=self.seat.study_id, dialogue=str(self.seat.public_id))
        await self._claim(begins=False)
        self._count_tab()
        self.assignment_id = self.seat.assignment_id
        self.alone = True
        # A reply that is sent while the state is being read would be overwritten by that older state.
        self.in_order = asyncio.Lock()
        self.group = group_of(self.seat.dialogue_id, self.seat.number)
        await self.channel_layer.group_add(self.group, self.channel_name)
        await self._announce()
        await self._show_state()
        if self.seat.bot_id is None:
            self.partner = Partner(self.seat, self.channel_layer)
            await self.here({})
            self.asking = asyncio.create_task(self._keep_asking())

    @override
    async def begin(self) -> None:
        if self.seat.bot_id is not None and await claim_place_fast(
            self.seat.participation_id, self.seat.assignment_id
        ):
            self.has_begun = True
            self.noted_as_at_work()
        else:
            await self._claim(begins=True)

    async def _claim(self, *, begins: bool) -> None:
        whose = await in_database(claim_place, self.seat.assignment_id, begins=begins)
        if whose is PlaceState.GONE:
            raise RefusedError("place_gone")
        self.has_begun = whose is PlaceState.BEGUN

    @override
    def redirect_for(self, reason: str) -> Frame:
        if reason != "place_gone":
            return {}
        return {"to": reverse("crowd:place_gone", args=[self.seat.study_code])}

    async def _keep_asking(self) -> None:
        # Many tabs open at once after a restart; a random pause spreads their answers.
        pause = random.uniform(0, ASK_SECONDS)
        while self.is_open:
            await asyncio.sleep(pause)
            await self.say({"type": "are_you_there"})
            pause = ASK_SECONDS

    async def _announce(self) -> None:
        await self.channel_layer.group_send(self.group, {"type": "tab.joined", "tab": self.channel_name})

    async def _find_seat(self, session: Session) -> SeatContext:
        seat = await in_database(queries.seat_of, self.public_id(), session.worker_id)
        if seat.participation_id not in session.participations:
            raise RefusedError("not_yours")
        return seat

    def _count_tab(self) -> None:
        if _tabs[self.seat.dialogue_id] >= MAX_TABS:
            raise RefusedError("too_many_tabs")
        _tabs[self.seat.dialogue_id] += 1
        self.is_counted = True

    @override
    async def disconnect(self, code: int) -> None:
        await super().disconnect(code)
        if hasattr(self, "group"):
            await self.channel_layer.group_discard(self.group, self.channel_name)

    # --- frames from the browser -----------------------------------------------------------------

    @override
    def frame_handlers(self) -> dict[str, Handler]:
        return {
            **super().frame_handlers(),
            "turn": self.turn,
            "label": self.label,
            "retry": self.retry,
            "stop": self.stop,
            "regenerate": self.regenerate,
            "keep_version": self.keep_version,
            "finish": self.finish,
            "give_up": self.give_up,
            "here": self.here,
            "typing": self.typing,
            "end_alone": self.end_alone,
        }

    async def turn(self, frame: Frame) -> None:
        text, key = field(frame, "text", str), uuid_field(frame, "key")
        picture = pictures.checked_hash(frame.get("picture"))
        description = pictures.checked_description(frame.get("description"))
        if (picture and not self.seat.takes_pictures) or (description and not picture):
            raise RefusedError("malformed")
        if description:
            seat = self.seat
            await in_database(pictures.describe, seat.dialogue_id, seat.number, picture, description)
        send_to_partner = self.partner.send if self.partner else None
        await turn_taking.take_turn(
            self.seat,
            text=text,
            key=key,
            displayed=self.displayed,
            send=self.send_everywhere,
            send_to_partner=send_to_partner,
            picture=picture,
        )
        if typed := turn_taking.TypingMeasurement.of(frame):
            await in_database(turn_taking.record_typing, self.seat.dialogue_id, key, typed)

    async def label(self, frame: Frame) -> None:
        position = None if frame.get("position") is None else field(frame, "position", int)
        ask = field(frame, "ask", int) if "ask" in frame else 0
        answers, progress = await record(
            self.seat,
            ask=ask,
            position=position,
            answers=field(frame, "answers", dict),
            timing=Timing.of(frame),
            reply_version=field(frame, "version", int) if frame.get("version") is not None else None,
        )
        saved = {"position": position, "ask": ask, "answers": answers, "progress": progress.frame}
        await self.say({"type": "label_saved", **saved})
        if self.has_other_tabs:  # two tabs may answer at once: each reloads the stored answer
            await self.show_state_everywhere()
        else:
            self.has_unsent_news = True

    async def retry(self, frame: Frame) -> None:
        await turn_taking.retry(self.seat, send=self.send_everywhere)
        await self.show_state_everywhere()

    async def stop(self, frame: Frame) -> None:
        """End a reply that grows with what is shown. A reply that is complete stands."""
        if not self.seat.may_stop_replies:
            raise RefusedError("unknown_type")
        await growing_replies.stop(self.seat, field(frame, "position", int))

    async def regenerate(self, frame: Frame) -> None:
        """Ask the bot for another reply to the same message."""
        await regenerating.regenerate(
            self.seat,
            position=field(frame, "position", int),
            key=uuid_field(frame, "key"),
            send=self.send_everywhere,
            reload=self.show_state_everywhere,
        )

    async def keep_version(self, frame: Frame) -> None:
        """Go back or forth to another reply to the same message."""
        position, number = field(frame, "position", int), field(frame, "number", int)
        version = await reply_versions.keep(self.seat, position=position, number=number)
        await self.send_everywhere(regenerating.reply_frame(version))

    async def finish(self, frame: Frame) -> None:
        await in_database(services.finish, self.seat)
        await self.show_state_everywhere()
        await self._notify_partner_of_change()

    async def give_up(self, frame: Frame) -> None:
        await in_database(services.give_up, self.seat)
        await self.show_state_everywhere()

    async def here(self, frame: Frame) -> None:
        """The browser is still open: record it, and reload the state if this tab missed a change."""
        if self.partner is None:
            return
        say, is_news = await self.partner.check_presence(len(self.displayed))
        await self.say(say)
        if is_news:
            await self._show_state()

    async def typing(self, frame: Frame) -> None:
        """Notify the partner. With a bot, the page sends this once, which confirms the reserved place."""
        if self.partner:
            await self.partner.notify_of_typing()
        else:
            await self.ping(frame)

    async def end_alone(self, frame: Frame) -> None:
        """End the conversation after the partner has left."""
        if self.partner is None:
            raise RefusedError("unknown_type")
        await in_database(partner_events.end_alone, self.seat)
        await self.show_state_everywhere()
        await self._notify_partner_of_change()

    async def _notify_partner_of_change(self) -> None:
        if self.partner:
            await self.partner.notify_of_change()

    # --- frames to the browser -------------------------------------------------------------------

    @property
    def has_other_tabs(self) -> bool:
        """True if other tabs may be open; the tab of a page that was just reloaded is not known yet."""
        return not self.alone or not self.is_open

    async def send_everywhere(self, *frames: Frame) -> None:
        """Send frames to every tab of this dialogue."""
        async with self.in_order:
            await self._show(*frames)
        for frame in frames:
            await self._send_to_other_tabs({"type": "tab.frame", "frame": frame})

    async def _send_to_other_tabs(self, event: Frame) -> None:
        if self.has_other_tabs:
            await self.channel_layer.group_send(self.group, event | {"from": self.channel_name})
        else:
            self.has_unsent_news = True

    async def _show(self, *frames: Frame) -> None:
        await self.say(*[self._displayed(frame) for frame in frames])

    def _displayed(self, frame: Frame) -> Frame:
        """The frame as this tab gets it; a turn in it counts as displayed."""
        if "turn" not in frame:
            return frame
        self.displayed.add(frame["turn"])
        return frame | {"turn": self._formatted(frame["turn"])}

    def _formatted(self, turn: Frame) -> Frame:
        """The turn, with its text as HTML if the study shows Markdown of chatbots formatted.

        Its picture gets an address that only this participant's browser may open.
        """
        turn = pictures.with_address(turn, self.seat.participation_id)
        is_shown = self.seat.markdown and turn["speaker"] == "bot"
        return turn | {"html": as_html(turn["text"])} if is_shown else turn

    async def state(self) -> Frame:
        """Read the full state of a tab, and ask again for a due reply that has not failed.

        So a dialogue continues by itself after a restart of the server.
        """
        turns, progress, faults, annotations, is_over, versions = await in_database(stored_state, self.seat)
        is_over = is_over or bool(self.status.ended)
        before = regenerating.hidden_reply(self.seat, progress)
        if before:  # as if there were no reply yet
            turns, progress, versions = turns[:-1], before, None
        frames = [turn._asdict() for turn in turns]
        self.displayed = DisplayedTurns(frames)
        is_answering = bool(before) or turn_taking.is_answering(self.seat, progress.turns)
        if progress.reply_due and not faults and not is_answering:
            turn_taking.resume(self.seat, turns, progress, send=self.send_everywhere)
        has_failed = progress.reply_due and faults > 0
        growing = growing_replies.frame_of(self.seat, progress.turns)
        return {
            **({"growing": growing} if growing else {}),
            **({"versions": versions} if versions else {}),
            **({"regenerating": True} if before else {}),
            "type": "state",
            "turns": [self._formatted(turn) for turn in frames],
            "annotations": annotations,
            "fault": turn_taking.fault_frame(self.seat, faults) if has_failed else None,
            "starting": turn_taking.is_starting(self.seat, progress.turns),
            "progress": progress.frame
            if is_answering or not has_failed
            else turn_taking.idle_progress(progress),
            "finished": reverse("crowd:thanks", args=[self.seat.study_code]) if is_over else None,
        }

    async def _show_state(self) -> None:
        async with self.in_order:
            await self.say(await self.state())

    @override
    async def show_progress(self) -> None:
        await self._show_state()

    @override
    async def on_step(self) -> None:
        """Do nothing: `say` already records whose turn it is."""

    @override
    async def say(self, *frames: Frame) -> None:
        if len(frames) > 1 and self.status.is_limited:  # the page learns of the clock after each of them
            for frame in frames:
                await self.say(frame)
            return
        await super().say(*frames)
        last = frames[-1]
        if "progress" in last:
            has_failed = last["type"] == "bot_failed" or bool(last.get("fault"))
            waits = not last["progress"]["thinking"] and not has_failed
            await self.update_clock(waits=waits, anew=last["type"] != "state")

    async def show_state_everywhere(self) -> None:
        """Make every tab read its own state: one read here could reach another tab after something newer."""
        await self._show_state()
        await self._send_to_other_tabs({"type": "tab.changed"})

    # --- events of other tabs --------------------------------------------------------------------

    async def tab_joined(self, event: Frame) -> None:
        """Another tab opened: from now on it receives all frames of this one."""
        if event["tab"] != self.channel_name:
            self.alone = False
            await self.channel_layer.send(event["tab"], {"type": "tab.here"})

    async def tab_here(self, event: Frame) -> None:
        """Another tab exists. Reload what it could not send before it knew of this tab."""
        self.alone = False
        if self.has_unsent_news:  # the other tab has to reload them
            self.has_unsent_news = False
            await self.show_state_everywhere()
        else:
            await self._show_state()

    async def layer_restored(self, event: Frame) -> None:
        """Announce this tab again after an outage of Redis, when frames between processes were lost."""
        await self._announce()

    async def operator_replied(self, event: Frame) -> None:
        """An operator replied. Wake the waiting task, or start a new one by reading the state."""
        operator_replies.wake(self.seat.dialogue_id)
        if not turn_taking.is_answering(self.seat, event["position"]):
            await self._show_state()

    async def tab_changed(self, event: Frame) -> None:
        if event["from"] != self.channel_name:
            await self._show_state()

    async def tab_frame(self, event: Frame) -> None:
        if event["from"] != self.channel_name:
            await self._show(event["frame"])
