"""Cleverbot, through the HTTP interface that its makers document.

Source: www.cleverbot.com/api/howto: parameters key, input, cs, vtext2 to vtext10 and cb_settings_tweak1 to 3;
answers with output and cs; errors 401, 404, 413, 502 to 504.
"""

from typing import Any

from pydantic import Field

from chatbots.base import Context
from chatbots.errors import ConfigurationError, Problem
from chatbots.registry import register
from chatbots.replies import Response
from chatbots.services.addresses import origin_of
from chatbots.services.bot import ServiceBot, ServiceConfiguration, ServiceURL, Sessions, object_of, text_of
from chatbots.services.client import Request

OFFICIAL = "https://www.cleverbot.com/getreply"
MOST_EARLIER_TURNS = 9


@register("cleverbot")
class CleverbotBot(ServiceBot):
    """Cleverbot through its HTTP API; needs a key of cleverbot.com/api.

    The conversation is in the token that comes with each answer and is sent back with the next turn. Where
    the token is unknown, as after a restart, the last nine turns are sent instead.
    """

    class Configuration(ServiceConfiguration):
        """The settings of a request to Cleverbot."""

        address: ServiceURL = Field(
            OFFICIAL,
            title="URL",
            description="Address of the API.",
        )
        wackiness: int | None = Field(
            None, ge=0, le=100, description="From sensible (0) to wacky (100); empty for its own choice."
        )
        talkativeness: int | None = Field(
            None, ge=0, le=100, description="From shy (0) to talkative (100); empty for its own choice."
        )
        attentiveness: int | None = Field(
            None,
            ge=0,
            le=100,
            description="From self-centred (0) to attentive (100); empty for its own choice.",
        )

    configuration: Configuration

    def __init__(self, configuration: Configuration) -> None:
        """Prepare; sends nothing.

        Raises:
            ConfigurationError: it is Cleverbot's own address, and there is no key for it.
        """
        super().__init__(configuration)
        if not self.key and origin_of(self.url) == origin_of(OFFICIAL):
            cure = "Cleverbot answers nobody without a key of cleverbot.com/api. Give one"
            raise ConfigurationError(self.name, [Problem("api_key", "(nothing)", cure)])
        self._sessions = Sessions(most=10_000, seconds=6 * 3600)

    @property
    def url(self) -> str:
        """The configured address."""
        return self.configuration.address

    async def reply(self, context: Context) -> Response:
        """Return Cleverbot's output, and keep its token for the next turn of the dialogue."""
        request = Request(self.url, "GET", query=self._query(context))
        answer = object_of(await self.client.exchange(request), request)
        text = text_of(answer.get("output"), request, "output")
        if isinstance(token := answer.get("cs"), str):
            self._sessions.keep(context, text, token)
            self._sessions.drop_over()
        return Response(text)

    def _query(self, context: Context) -> dict[str, str]:
        settings = self.configuration
        tweaks = (settings.wackiness, settings.talkativeness, settings.attentiveness)
        token = self._sessions.take(context)
        earlier = [turn.text for turn in context.turns[:-1]][::-1][:MOST_EARLIER_TURNS]
        history: dict[str, Any] = {f"vtext{age}": text for age, text in enumerate(earlier, start=2)}
        return {
            "key": self.key,
            "wrapper": "Turnwise",
            "input": context.turns[-1].text,
            **({"cs": token} if token else history),
            **{f"cb_settings_tweak{n}": str(value) for n, value in enumerate(tweaks, 1) if value is not None},
        }
