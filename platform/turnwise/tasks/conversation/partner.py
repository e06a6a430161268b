"""What the socket of a conversation does more where two people talk: each hears of the other."""

from time import monotonic

from channels.layers import BaseChannelLayer

from turnwise.dialogues import company
from turnwise.dialogues.seated import Seated, group_of
from turnwise.live.frames import Frame

# The server asks a tab whether it is still open: browsers slow the clocks of hidden tabs.
ASK_SECONDS = 6.0
# The partner hears at most this often that somebody is typing; it is stored nowhere.
TYPING_SECONDS = 1.0


class Partner:
    """The person opposite, as one tab has to do with them.

    Frames for them go to the group of their seat, which all their tabs are in, in whatever process.
    """

    def __init__(self, seat: Seated, layer: BaseChannelLayer) -> None:
        self.seat = seat
        self.layer = layer
        self.group = group_of(seat.dialogue_id, 1 - seat.number)
        self.told_of_typing = -TYPING_SECONDS
        self.known: tuple[bool, bool] | None = None

    async def tell(self, frame: Frame) -> None:
        """Have their tabs show a frame."""
        await self.layer.group_send(self.group, {"type": "tab.frame", "frame": frame, "from": ""})

    async def tell_of_change(self) -> None:
        """Have their tabs read anew how it stands."""
        await self.layer.group_send(self.group, {"type": "tab.changed", "from": ""})

    async def tell_of_typing(self) -> None:
        now = monotonic()
        if now - self.told_of_typing >= TYPING_SECONDS:
            self.told_of_typing = now
            await self.tell({"type": "partner_typing"})

    async def look(self, shown: int) -> tuple[Frame, bool]:
        """Note that this tab, which shows so many turns, is open.

        Returns:
            How it stands with the other, and whether the conversation went on without this tab being told.
        """
        found = await company.come(self.seat)
        turns, *state = found.stamp
        known, self.known = self.known, (state[0], state[1])
        return found.frame, turns != shown or known not in (None, self.known)
