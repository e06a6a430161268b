"""Models behind the Gemini API of Google.

Source: ai.google.dev/api/generate-content: generateContent and streamGenerateContent with `alt=sse`;
candidates with `finishReason`, `promptFeedback.blockReason`, parts with `thought`, `usageMetadata`.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from pydantic import Field

from chatbots.base import Context, seed_of
from chatbots.registry import register
from chatbots.replies import ReplyOutcome, Usage
from chatbots.services.bot import ServiceURL
from chatbots.services.chat import ChatServiceBot
from chatbots.services.chat_settings import (
    ChatConfiguration,
    base_url_field,
    key_header_field,
    key_prefix_field,
    stop_field,
)
from chatbots.services.replies import ReplyDraft, ReplyReader
from chatbots.services.usage import TokenCounts, total, usage_or_none

FILTERS = frozenset({"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY"})
"""Reasons with which a filter ends a reply."""

OUTCOMES = {
    "STOP": ReplyOutcome.COMPLETE,
    "MAX_TOKENS": ReplyOutcome.CUT,
    **dict.fromkeys(FILTERS, ReplyOutcome.FILTERED),
    **dict.fromkeys(("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"), ReplyOutcome.TOOL_CALL),
}


@register("gemini")
class GeminiBot(ChatServiceBot):
    """A model of Google behind the Gemini API.

    An opening of the bot is not sent, because the service insists that the user begins.
    """

    class Configuration(ChatConfiguration):
        """The model, and the settings of its requests."""

        ours = frozenset({"contents", "systemInstruction", "generationConfig"})
        base_url: ServiceURL = base_url_field("https://generativelanguage.googleapis.com/v1beta")
        thinking_tokens: int | None = Field(
            None,
            ge=-1,
            le=1_000_000,
            title="Tokens of reasoning",
            description="Most tokens of reasoning before the reply; -1 lets the model decide, 0 is none; "
            "empty for the service's own.",
        )
        thoughts: bool = Field(
            False,
            title="Receive reasoning",
            description="Ask for summaries of the model's reasoning, which are kept apart from the reply.",
        )
        send_seed: bool = Field(
            True,
            title="Send a seed",
            description="Whether replies should be repeatable, where the service can.",
        )
        stop: tuple[str, ...] = stop_field()
        key_header: str = key_header_field("x-goog-api-key")
        key_prefix: str = key_prefix_field("")

    configuration: Configuration

    @property
    def url(self) -> str:
        """Address of the model."""
        name = self.configuration.model.removeprefix("models/")
        return f"{self.base_url}/models/{quote(name, safe='')}"

    def request_url(self, stream: object) -> str:
        """Return the address of the model's method."""
        return f"{self.url}:streamGenerateContent?alt=sse" if stream else f"{self.url}:generateContent"

    @property
    def must_alternate(self) -> bool:
        """True."""
        return True

    def reader(self) -> "GeminiReader":
        """Create the reader of an answer."""
        return GeminiReader(self.name, self.url)

    def content(self, context: Context, stream: object) -> dict[str, Any]:
        """Build the JSON of a request."""
        settings = self.configuration
        thinking = {"thinkingBudget": settings.thinking_tokens, "includeThoughts": settings.thoughts or None}
        generation = {
            "temperature": settings.temperature,
            "topP": settings.top_p,
            "maxOutputTokens": settings.most_tokens,
            "stopSequences": list(settings.stop) or None,
            "seed": seed_of(context) >> 33 if settings.send_seed and context.seed is not None else None,
            "thinkingConfig": _without_none(thinking) or None,
        }
        system = self.system_prompt(context)
        parts = {
            "systemInstruction": {"parts": [{"text": system}]} if system else None,
            "generationConfig": _without_none(generation) or None,
        }
        return {"contents": self._contents(context), **_without_none(parts)}

    def _contents(self, context: Context) -> list[dict[str, Any]]:
        roles = {"user": "user", "assistant": "model"}
        return [
            {"role": roles[message["role"]], "parts": [{"text": message["content"]}]}
            for message in self.messages(context)
        ]


class GeminiReader(ReplyReader):
    """Reads a response, or the responses of a stream; each holds the next parts of the candidates."""

    text_place = "candidates[0].content.parts"

    def read(self, event: Mapping[str, Any]) -> None:
        """Take in a response."""
        self.check_error(event)
        self.model = str(event.get("modelVersion") or self.model)
        self._usage = event.get("usageMetadata") or self._usage
        feedback = event.get("promptFeedback")
        if isinstance(feedback, Mapping) and (reason := feedback.get("blockReason")):
            self._filter(self.draft(), "refused the prompt", str(reason), feedback)
        candidates = event.get("candidates")
        for place, candidate in enumerate(candidates if isinstance(candidates, list) else []):
            if isinstance(candidate, Mapping):
                number = candidate.get("index")
                self._read_candidate(self.draft(number if isinstance(number, int) else place), candidate)

    @property
    def usage(self) -> Usage | None:
        """The numbers of `usageMetadata`; the service counts reasoning apart from the reply."""
        counts = TokenCounts(self._usage, self.remark)
        reasoning = counts.number("thoughtsTokenCount")
        return usage_or_none(
            Usage(
                counts.number("promptTokenCount"),
                total(counts.number("candidatesTokenCount"), reasoning),
                reasoning,
                counts.number("cachedContentTokenCount"),
            )
        )

    def _read_candidate(self, draft: ReplyDraft, candidate: Mapping[str, Any]) -> None:
        content = candidate.get("content")
        parts = content.get("parts") if isinstance(content, Mapping) else None
        for part in parts if isinstance(parts, list) else []:
            if isinstance(part, Mapping):
                _read_part(draft, part)
        if reason := candidate.get("finishReason"):
            self._end(draft, str(reason), candidate)

    def _end(self, draft: ReplyDraft, reason: str, candidate: Mapping[str, Any]) -> None:
        self.is_final = True
        if reason in FILTERS:
            self._filter(draft, "withheld the reply or its rest", reason, candidate)
            return
        if reason not in OUTCOMES:
            detail = str(candidate.get("finishMessage") or "")[:200]
            self.remark(f"the service ended the reply with '{reason[:40]}'{detail and f': {detail}'}")
        draft.end(OUTCOMES.get(reason, ReplyOutcome.COMPLETE))

    def _filter(self, draft: ReplyDraft, did: str, reason: str, details: Mapping[str, Any]) -> None:
        ratings = details.get("safetyRatings")
        blocked = [
            f"{rating.get('category')}: {rating.get('probability')}"
            for rating in (ratings if isinstance(ratings, list) else [])
            if isinstance(rating, Mapping) and rating.get("blocked")
        ]
        self.remark(f"a filter of the service {did} ({', '.join([reason, *blocked])})")
        draft.end(ReplyOutcome.FILTERED)
        self.is_final = True


def _read_part(draft: ReplyDraft, part: Mapping[str, Any]) -> None:
    text, call = part.get("text"), part.get("functionCall")
    if isinstance(text, str):
        (draft.add_reasoning if part.get("thought") else draft.add_text)(text)
    elif isinstance(call, Mapping):
        draft.add_tool(call.get("id") or call.get("name"), str(call.get("name", "")))
    elif kind := next((name for name in part if name not in ("thought", "thoughtSignature")), ""):
        draft.add_other(kind)


def _without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
