"""Any service with the chat completions of OpenAI: vLLM, TGI, Ollama, llama.cpp, commercial ones.

Source: platform.openai.com/docs/api-reference/chat; reasoning in `reasoning_content` as of DeepSeek and vLLM,
in `reasoning` and `reasoning_details` as of OpenRouter; `content_filter_results` as of Azure OpenAI.
"""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from chatbots.base import Context, seed_of
from chatbots.errors import ServiceError
from chatbots.registry import register
from chatbots.replies import ReplyOutcome, ReplyToken, Response, Usage
from chatbots.services.chat import ChatServiceBot
from chatbots.services.chat_settings import ChatConfiguration, stop_field
from chatbots.services.client import StatusError
from chatbots.services.replies import ReplyDraft, ReplyReader, kind_of
from chatbots.services.usage import TokenCounts, usage_or_none

WITH_USAGE = "with usage"
"""Stream that ends with an event of the usage; some services refuse the option."""

OUTCOMES = {
    **dict.fromkeys(("stop", "eos", "eos_token", "stop_sequence", "end_turn"), ReplyOutcome.COMPLETE),
    **dict.fromkeys(("length", "max_tokens"), ReplyOutcome.CUT),
    **dict.fromkeys(("tool_calls", "function_call"), ReplyOutcome.TOOL_CALL),
    "content_filter": ReplyOutcome.FILTERED,
    "refusal": ReplyOutcome.REFUSED,
}


@register("openai-chat")
class OpenAIChatBot(ChatServiceBot):
    """A model behind chat completions as OpenAI defined them: vLLM, TGI, Ollama, commercial services.

    Loading sends one short request, so that a wrong address, key or model name is reported at once and the
    fingerprint can hold the service's own name of the model.
    """

    class Configuration(ChatConfiguration):
        """The model, and the settings of its requests."""

        ours = frozenset(
            {"messages", "model", "stream", "stream_options", "n", "seed", "temperature", "top_p", "stop"}
        )
        token_limit_name: Literal["max_tokens", "max_completion_tokens"] = Field(
            "max_tokens",
            title="Name of the limit",
            description="What the service calls that limit; newer models of OpenAI want the second.",
        )
        stop: tuple[str, ...] = stop_field()
        reasoning_effort: str | None = Field(
            None,
            pattern=r"^[a-z]{1,20}$",
            title="Reasoning effort",
            description="How long the model reasons before it replies; empty for the service's own.",
            examples=["low"],
        )
        candidates: int = Field(
            1,
            ge=1,
            le=20,
            description="Replies requested per turn; the first is used, wrappers may choose another. "
            "Several are not streamed.",
        )
        log_probabilities: int | None = Field(
            None,
            ge=1,
            le=20,
            title="Log probabilities",
            description="Likely tokens to report at each place of a reply; machine judges turn them into "
            "probabilities of their answers. Empty: none.",
        )
        send_seed: bool = Field(
            True,
            title="Send a seed",
            description="Whether replies should be repeatable, where the service can.",
        )
        alternate: bool = Field(
            False,
            title="Strict roles",
            description="For models that insist that the user begins and roles alternate.",
        )

    configuration: Configuration

    @property
    def url(self) -> str:
        """Address of the chat completions."""
        return f"{self.base_url}/chat/completions"

    def stream_modes(self) -> Sequence[object]:
        """Stream with usage, then without, then whole answers; always whole for several replies."""
        return (False,) if self.configuration.candidates > 1 else (WITH_USAGE, True, False)

    def reader(self) -> "ChatCompletionReader":
        """Create the reader of an answer."""
        return ChatCompletionReader(self.name, self.url)

    @property
    def must_alternate(self) -> bool:
        """As configured."""
        return self.configuration.alternate

    def content(self, context: Context, stream: object) -> dict[str, Any]:
        """Build the JSON of a request."""
        settings = self.configuration
        optional = {
            "temperature": settings.temperature,
            "top_p": settings.top_p,
            settings.token_limit_name: settings.most_tokens,
            "stop": list(settings.stop) or None,
            "reasoning_effort": settings.reasoning_effort,
            "logprobs": True if settings.log_probabilities else None,
            "top_logprobs": settings.log_probabilities,
            "n": settings.candidates if settings.candidates > 1 else None,
            # 31 bits: the largest seed that every service takes.
            "seed": seed_of(context) >> 33 if settings.send_seed and context.seed is not None else None,
            "stream_options": {"include_usage": True} if stream == WITH_USAGE else None,
        }
        return {
            "model": settings.model,
            "messages": self.messages(context, self.system_prompt(context)),
            "stream": bool(stream),
            **{name: value for name, value in optional.items() if value is not None},
        }

    def response_of_error(self, error: StatusError) -> Response | None:
        """Return a filtered reply if the service's filter refused the prompt, as Azure's does."""
        try:
            details = json.loads(error.body)["error"]
            if details["code"] != "content_filter":
                return None
        except (ValueError, TypeError, LookupError):
            return None
        inner = details.get("innererror") if isinstance(details, Mapping) else None
        filters = filter_words(inner.get("content_filter_result") if isinstance(inner, Mapping) else None)
        remark = f"{self.name}: a filter of the service refused the prompt{filters}"
        return Response("", remarks=(remark,), outcome=ReplyOutcome.FILTERED, model=self._reported)


class ChatCompletionReader(ReplyReader):
    """Reads a chat completion, or the chunks of one."""

    text_place = "message.content"

    def read(self, event: Mapping[str, Any]) -> None:
        """Take in a chunk, or the whole completion."""
        self.check_error(event)
        self.model = str(event.get("model") or self.model)
        self._usage = event.get("usage") or self._usage
        for place, choice in enumerate(self._choices(event)):
            number = choice.get("index")
            self._read_choice(number if isinstance(number, int) else place, choice)

    @property
    def usage(self) -> Usage | None:
        """The numbers of `usage`."""
        counts = TokenCounts(self._usage, self.remark)
        return usage_or_none(
            Usage(
                counts.number("prompt_tokens"),
                counts.number("completion_tokens"),
                counts.number("completion_tokens_details", "reasoning_tokens"),
                counts.number("prompt_tokens_details", "cached_tokens"),
            )
        )

    def _choices(self, event: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        choices = event.get("choices")
        is_chunk = self._drafts or any(
            (
                event.get("usage"),
                "prompt_filter_results" in event,
                event.get("object") == "chat.completion.chunk",
            )
        )
        if not choices and is_chunk:
            return []
        if (
            not isinstance(choices, list)
            or not choices
            or not all(isinstance(choice, dict) for choice in choices)
        ):
            raise ServiceError(
                f"{self.url} answered without 'choices'. Is it an address of chat completions?"
            )
        return choices

    def _read_choice(self, number: int, choice: Mapping[str, Any]) -> None:
        self.check_error(choice)
        draft, reason = self.draft(number), choice.get("finish_reason")
        whole, delta = choice.get("message"), choice.get("delta")
        message = whole if isinstance(whole, Mapping) else delta if isinstance(delta, Mapping) else {}
        if draft.outcome is None:
            self._read_message(draft, message)
        elif message.get("content"):
            self.remark("text after the final event was left out")
        draft.tokens += _tokens(choice)
        if isinstance(score := _mean_logprob(choice), float):
            draft.score = score
        if reason:
            self._end(draft, str(reason), choice)
        self.is_final = not isinstance(delta, Mapping) or all(
            draft.outcome for draft in self._drafts.values()
        )

    def _read_message(self, draft: ReplyDraft, message: Mapping[str, Any]) -> None:
        reasoning = next((message[name] for name in REASONING if isinstance(message.get(name), str)), "")
        draft.add_reasoning(reasoning or _detailed_reasoning(message.get("reasoning_details")))
        self._read_content(draft, message.get("content"))
        if isinstance(refusal := message.get("refusal"), str):
            draft.add_refusal(refusal)
        calls = message.get("tool_calls")
        for place, call in enumerate(calls if isinstance(calls, list) else []):
            _read_call(draft, call, place)
        if isinstance(message.get("function_call"), Mapping):
            _read_call(draft, {"function": message["function_call"]}, 0)

    def _read_content(self, draft: ReplyDraft, content: Any) -> None:
        if isinstance(content, str):
            draft.add_text(content)
        elif isinstance(content, list):
            for part in content:
                _read_part(draft, part)
        elif content is not None:
            raise ServiceError(
                f"{self.url} has {kind_of(content)} in message.content instead of a text. Compare with its "
                "documentation."
            )

    def _end(self, draft: ReplyDraft, reason: str, choice: Mapping[str, Any]) -> None:
        if draft.outcome is not None:
            self.remark("the service sent two final events; the first one counts")
            return
        if reason == "error":
            raise ServiceError(f"{self.url} ended the reply with an error, and no further words.")
        if reason not in OUTCOMES:
            self.remark(f"the service ended the reply with '{reason[:40]}'")
        draft.end(OUTCOMES.get(reason, ReplyOutcome.COMPLETE))
        if draft.outcome is ReplyOutcome.FILTERED:
            filters = filter_words(choice.get("content_filter_results"))
            self.remark(f"a filter of the service withheld the reply or its rest{filters}")


REASONING = ("reasoning_content", "reasoning")


def _detailed_reasoning(details: Any) -> str:
    """Join the texts of OpenRouter's `reasoning_details`; encrypted ones have none."""
    entries = [entry for entry in details if isinstance(entry, Mapping)] if isinstance(details, list) else []
    texts = (entry.get("text") or entry.get("summary") for entry in entries)
    return "".join(text for text in texts if isinstance(text, str))


def _read_part(draft: ReplyDraft, part: Any) -> None:
    if isinstance(part, str):
        draft.add_text(part)
        return
    if not isinstance(part, Mapping):
        draft.add_other(kind_of(part))
        return
    kind, text = str(part.get("type", "text")), part.get("text")
    if kind == "refusal":
        draft.add_refusal(str(part.get("refusal") or ""))
    elif kind in ("thinking", "reasoning"):
        inner = part.get("thinking", text)
        _add_reasoning(draft, inner)
    elif kind in ("text", "output_text") and isinstance(text, str):
        draft.add_text(text)
    else:
        draft.add_other(kind)


def _add_reasoning(draft: ReplyDraft, parts: Any) -> None:
    """Append reasoning that is a text, or a list of text parts as of Mistral."""
    for part in parts if isinstance(parts, list) else [parts]:
        text = part.get("text") if isinstance(part, Mapping) else part
        if isinstance(text, str):
            draft.add_reasoning(text)


def _read_call(draft: ReplyDraft, call: Any, place: int) -> None:
    function = call.get("function") if isinstance(call, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    key = call.get("index", place) if isinstance(call, Mapping) else place
    draft.add_tool(str(key), name if isinstance(name, str) else "")


def _tokens(choice: Mapping[str, Any]) -> list[ReplyToken]:
    """Tokens of a choice or chunk with their likely alternatives; empty if the service does not give them."""
    logprobs = choice.get("logprobs")
    tokens = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    found = []
    for each in tokens if isinstance(tokens, list) else []:
        if not isinstance(each, Mapping) or not isinstance(text := each.get("token"), str):
            return []
        others = each.get("top_logprobs")
        likely = [_likely(other) for other in [each, *(others if isinstance(others, list) else [])]]
        found.append(ReplyToken(text, tuple(dict(pair for pair in likely if pair).items())))
    return found


def _likely(token: Any) -> tuple[str, float] | None:
    """A token with its log probability; None if one is missing or no probability."""
    if not isinstance(token, Mapping):
        return None
    text, value = token.get("token"), token.get("logprob")
    if not isinstance(text, str) or not isinstance(value, int | float) or not -math.inf < value <= 0:
        return None
    return text, float(value)


def _mean_logprob(choice: Mapping[str, Any]) -> float | None:
    """Mean log probability of the tokens of a whole choice; None if the service does not give it."""
    logprobs = choice.get("logprobs")
    tokens = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    if not isinstance(tokens, list) or "message" not in choice:
        return None
    values = [token.get("logprob") for token in tokens if isinstance(token, Mapping)]
    numbers = [float(value) for value in values if isinstance(value, int | float)]
    mean = sum(numbers) / len(numbers) if numbers else float("nan")
    return mean if mean <= 0 and mean > float("-inf") else None


def filter_words(results: Any) -> str:
    """Name the categories in which a filter found something, as in " (hate: high)"; else nothing."""
    if not isinstance(results, Mapping):
        return ""
    filters = [
        f"{name}: {result.get('severity') or 'detected'}"
        for name, result in results.items()
        if isinstance(result, Mapping) and (result.get("filtered") or result.get("detected"))
    ]
    return f" ({', '.join(filters)})" if filters else ""
