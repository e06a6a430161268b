"""Models behind Ollama's own chat API.

Source: docs.ollama.com/api/chat: /api/chat answers JSON lines with `message.content`, `message.thinking`,
`done_reason`, `prompt_eval_count` and `eval_count`; /api/tags lists the models.
"""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from chatbots.base import Context, seed_of
from chatbots.registry import register
from chatbots.replies import ReplyOutcome, Usage
from chatbots.services.bot import ServiceURL
from chatbots.services.chat import ChatServiceBot
from chatbots.services.chat_settings import ChatConfiguration, base_url_field, stop_field
from chatbots.services.event_streams import JSONLines
from chatbots.services.replies import ReplyReader
from chatbots.services.usage import TokenCounts, usage_or_none

OUTCOMES = {"stop": ReplyOutcome.COMPLETE, "length": ReplyOutcome.CUT}
THINK: Mapping[str, bool | str] = {"no": False, "yes": True}


@register("ollama")
class OllamaBot(ChatServiceBot):
    """A model that Ollama runs, on this machine or another, by its own API."""

    class Configuration(ChatConfiguration):
        """The model, and the settings of its requests."""

        ours = frozenset({"messages", "model", "stream", "think"})
        base_url: ServiceURL = base_url_field("http://localhost:11434")
        think: Literal["no", "yes", "low", "medium", "high"] | None = Field(
            None,
            title="Reasoning",
            description="Whether, or how long, the model reasons before a reply; empty for its own choice.",
        )
        send_seed: bool = Field(
            True, title="Send a seed", description="Whether replies should be repeatable."
        )
        stop: tuple[str, ...] = stop_field()

    configuration: Configuration
    stream_body = JSONLines

    @property
    def url(self) -> str:
        """Address of the chat."""
        return f"{self.base_url}/api/chat"

    @property
    def models_url(self) -> str:
        """Address of the list of models."""
        return f"{self.base_url}/api/tags"

    def reader(self) -> "OllamaReader":
        """Create the reader of an answer."""
        return OllamaReader(self.name, self.url)

    def content(self, context: Context, stream: object) -> dict[str, Any]:
        """Build the JSON of a request."""
        settings = self.configuration
        options = {
            "temperature": settings.temperature,
            "top_p": settings.top_p,
            "num_predict": settings.most_tokens,
            "stop": list(settings.stop) or None,
            "seed": seed_of(context) >> 33 if settings.send_seed and context.seed is not None else None,
        }
        set_options = {name: value for name, value in options.items() if value is not None}
        further = settings.parameters.get("options")
        merged = {**(further if isinstance(further, dict) else {}), **set_options}
        think = {"think": THINK.get(settings.think, settings.think)} if settings.think else {}
        return {
            "model": settings.model,
            "messages": self.messages(context, self.system_prompt(context)),
            "stream": bool(stream),
            **({"options": merged} if merged else {}),
            **think,
        }


class OllamaReader(ReplyReader):
    """Reads the lines of a reply, or a whole one."""

    text_place = "message.content"

    def read(self, event: Mapping[str, Any]) -> None:
        """Take in a line."""
        self.check_error(event)
        self.model = str(event.get("model") or self.model)
        message = event.get("message")
        if isinstance(message, Mapping) and not self.is_final:
            self._read_message(message)
        if event.get("done") is True:
            self._end(event)

    @property
    def usage(self) -> Usage | None:
        """The numbers of the last line."""
        counts = TokenCounts(self._usage, self.remark)
        return usage_or_none(Usage(counts.number("prompt_eval_count"), counts.number("eval_count")))

    def _read_message(self, message: Mapping[str, Any]) -> None:
        draft = self.draft()
        if isinstance(thinking := message.get("thinking"), str):
            draft.add_reasoning(thinking)
        if isinstance(content := message.get("content"), str):
            draft.add_text(content)
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else []:
            function = call.get("function") if isinstance(call, Mapping) else None
            name = function.get("name") if isinstance(function, Mapping) else None
            draft.add_tool(object(), str(name or ""))

    def _end(self, event: Mapping[str, Any]) -> None:
        if self.is_final:
            self.remark("the service sent two final events; the first one counts")
            return
        self.is_final, self._usage = True, event
        reason = str(event.get("done_reason") or "stop")
        if reason not in OUTCOMES:
            self.remark(f"the service ended the reply with '{reason[:40]}'")
        self.draft().end(OUTCOMES.get(reason, ReplyOutcome.COMPLETE))
