"""A dialogue system with the interface of DialPort and DialCrowd: /init, /next, /end.

Source: github.com/DialRC/PortalAPI: every request is a POST of JSON with sessionID and timeStamp, /next has
text as well; every answer has sessionID, sys, version, timeStamp and terminal.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import uuid4

from pydantic import Field

from chatbots.base import Context, Speaker
from chatbots.errors import ForbiddenAddressError, ServiceError
from chatbots.registry import register
from chatbots.replies import Response
from chatbots.services.answering import Show
from chatbots.services.bot import ServiceBot, ServiceConfiguration, ServiceURL, Sessions, object_of, text_of
from chatbots.services.client import Request

SECONDS_FOR_ENDS = 1.0
"""Longest delay of a reply caused by ending other sessions."""
SECONDS_FOR_GOODBYE = 5.0
_DIALPORT_TIME = timezone(timedelta(hours=-4))


@register("dialcrowd")
class DialCrowdBot(ServiceBot):
    """A dialogue system that speaks the interface of DialPort and DialCrowd.

    The system keeps a session per dialogue. If no session knows the turns so far, as after a restart or for a
    context that stands alone, a new session gets the partner's turns in order; its replies to these are not
    used.
    """

    class Configuration(ServiceConfiguration):
        """The system's address, and the lifetime of its sessions."""

        base_url: ServiceURL = Field(
            title="Base URL",
            description="Address of the system, before /init, /next and /end.",
            examples=["https://bot.example.org/mybot"],
        )
        sessions: int = Field(
            1000, ge=1, le=100_000, description="Sessions kept open; the one unused for longest is ended."
        )
        session_seconds: float = Field(
            3600.0,
            gt=0,
            title="Length of a session",
            description="Seconds without a turn after which one ends.",
        )
        sends_end: bool = Field(True, title="Send /end", description="Whether the system knows /end.")

    configuration: Configuration

    def __init__(self, configuration: Configuration) -> None:
        """Prepare; sends nothing."""
        super().__init__(configuration)
        self._sessions = Sessions(most=configuration.sessions, seconds=configuration.session_seconds)

    @property
    def url(self) -> str:
        """The configured address without a slash at its end."""
        return self.configuration.base_url.rstrip("/")

    async def streamed_reply(self, context: Context, show: Show) -> Response:
        """Answer one context; sessions that are over are ended at the same time."""
        response, _ = await asyncio.gather(
            self.reply(context), self._end(self._sessions.drop_over(), SECONDS_FOR_ENDS)
        )
        return response

    async def reply(self, context: Context) -> Response:
        """Return the system's next turn in the session of the dialogue.

        Raises:
            ServiceError: it took longer than `timeout`, replay included, or did not answer as agreed.
        """
        session = self._sessions.take(context)
        is_known, session = session is not None, session or uuid4().hex
        over = True
        try:
            async with asyncio.timeout(self.configuration.timeout):
                if not is_known:
                    await self._begin(session, context)
                answer = await self._say(session, context.turns[-1].text)
            text = text_of(answer.get("sys"), self._request("next", session), "sys")
            over = context.dialogue is None or answer.get("terminal") is True
        except TimeoutError:
            raise ServiceError(
                f"{self.url} did not answer within {self.configuration.timeout:g} s, earlier turns included."
            ) from None
        finally:
            if over:
                self._sessions.lose(session)
        if not over:
            self._sessions.keep(context, text, session)
        return Response(text)

    async def _begin(self, session: str, context: Context) -> None:
        """Begin a session and send it the partner's turns before the last."""
        await self._ask(self._request("init", session))
        for turn in context.turns[:-1]:
            if turn.speaker is Speaker.HUMAN:
                await self._say(session, turn.text)

    async def _say(self, session: str, text: str) -> Mapping[str, Any]:
        return await self._ask(self._request("next", session, text=text, asrConf=1.0))

    async def finish(self) -> None:
        """End every session."""
        await self._end(self._sessions.drop_all(), SECONDS_FOR_GOODBYE)

    async def _end(self, sessions: Sequence[str], seconds: float) -> None:
        """Tell the system that these sessions are over; errors are ignored."""
        if self.configuration.sends_end:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await asyncio.gather(*map(self._tell_end, sessions))

    async def _tell_end(self, session: str) -> None:
        with suppress(ServiceError, ForbiddenAddressError):
            await self.client.exchange(self._request("end", session))

    async def _ask(self, request: Request) -> Mapping[str, Any]:
        return object_of(await self.client.exchange(request), request)

    def _request(self, step: str, session: str, **more: object) -> Request:
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        content = {"sessionID": session, "timeStamp": time_stamp(datetime.now(UTC)), **more}
        return Request(f"{self.url}/{step}", headers=headers, content=content)


def time_stamp(moment: datetime) -> str:
    """Format a time as DialPort does: in its time zone (UTC-4), to the millisecond."""
    local = moment.astimezone(_DIALPORT_TIME)
    return f"{local:%Y-%m-%dT%H-%M-%S}.{local.microsecond // 1000:03d}"
