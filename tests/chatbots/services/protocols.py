"""The chat protocols of services, spoken by a local server: each reply as a whole and as a stream."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chatbots.replies import ReplyOutcome
from tests.chatbots.local_service import Received, Sent


@dataclass(frozen=True)
class Scripted:
    """A reply that a service gives. Its usage: 20 tokens, 5 of them cached, to 30, 24 of them reasoning."""

    texts: Sequence[str] = ("Hel", "lo!")
    reasoning: Sequence[str] = ()
    outcome: ReplyOutcome = ReplyOutcome.COMPLETE
    refusal: str = ""
    tool: str = ""
    tokens: Any = 30

    @property
    def text(self) -> str:
        return "".join(self.texts)

    @property
    def thoughts(self) -> str:
        return "".join(self.reasoning)


class Protocol:
    """One service's protocol."""

    adapter: str
    path: str
    ends: Mapping[ReplyOutcome, str]
    settings: Mapping[str, Any] = {}
    counts_reasoning = counts_cached = True

    def whole(self, reply: Scripted) -> Any:
        raise NotImplementedError

    def events(self, reply: Scripted) -> Iterator[Any]:
        raise NotImplementedError

    def error(self, words: str) -> Any:
        return {"error": {"message": words, "type": "overloaded"}}

    def wishes_stream(self, received: Received) -> bool:
        return bool(received.json["stream"])

    def encoded(self, event: Any) -> bytes:
        return b"data: " + json.dumps(event).encode() + b"\n\n"

    def parts(self, reply: Scripted) -> list[bytes]:
        return [self.encoded(event) for event in self.events(reply)]

    def sent(self, reply: Scripted, *, stream: bool) -> Sent:
        return Sent(parts=self.parts(reply)) if stream else Sent(self.whole(reply))


class ChatCompletions(Protocol):
    adapter, path = "openai-chat", "/chat/completions"
    ends = {
        ReplyOutcome.COMPLETE: "stop",
        ReplyOutcome.CUT: "length",
        ReplyOutcome.FILTERED: "content_filter",
        ReplyOutcome.TOOL_CALL: "tool_calls",
        ReplyOutcome.REFUSED: "stop",
    }

    def usage(self, reply: Scripted) -> Any:
        return {
            "prompt_tokens": 20,
            "completion_tokens": reply.tokens,
            "prompt_tokens_details": {"cached_tokens": 5},
            "completion_tokens_details": {"reasoning_tokens": 24},
        }

    def message(self, reply: Scripted) -> Any:
        calls = [{"index": 0, "id": "c", "function": {"name": reply.tool, "arguments": "{}"}}]
        return {
            "role": "assistant",
            "content": reply.text or None,
            "refusal": reply.refusal or None,
            "reasoning_content": reply.thoughts or None,
            **({"tool_calls": calls} if reply.tool else {}),
        }

    def whole(self, reply: Scripted) -> Any:
        choice = {"index": 0, "message": self.message(reply), "finish_reason": self.ends[reply.outcome]}
        return {"model": "m-1", "choices": [choice], "usage": self.usage(reply)}

    def events(self, reply: Scripted) -> Iterator[Any]:
        deltas: list[Any] = [{"role": "assistant", "content": ""}]
        deltas += [{"reasoning_content": part} for part in reply.reasoning]
        deltas += [{"content": part} for part in reply.texts]
        deltas += [{"refusal": reply.refusal}] if reply.refusal else []
        deltas += [{"tool_calls": self.message(reply)["tool_calls"]}] if reply.tool else []
        for delta in deltas:
            yield self.chunk(delta, None)
        yield self.chunk({}, self.ends[reply.outcome])
        yield {"model": "m-1", "choices": [], "usage": self.usage(reply)}

    def chunk(self, delta: Any, reason: str | None) -> Any:
        choices = [{"index": 0, "delta": delta, "finish_reason": reason}]
        return {"object": "chat.completion.chunk", "model": "m-1", "choices": choices}

    def parts(self, reply: Scripted) -> list[bytes]:
        return [*super().parts(reply), b"data: [DONE]\n\n"]


class Messages(Protocol):
    adapter, path = "anthropic-messages", "/messages"
    ends = {
        ReplyOutcome.COMPLETE: "end_turn",
        ReplyOutcome.CUT: "max_tokens",
        ReplyOutcome.TOOL_CALL: "tool_use",
        ReplyOutcome.REFUSED: "refusal",
    }
    counts_reasoning = False

    def blocks(self, reply: Scripted) -> list[tuple[Any, list[Any]]]:
        blocks: list[tuple[Any, list[Any]]] = []
        if reply.reasoning:
            deltas = [{"type": "thinking_delta", "thinking": part} for part in reply.reasoning]
            signature = {"type": "signature_delta", "signature": "EqQB"}
            blocks.append(({"type": "thinking", "thinking": ""}, [*deltas, signature]))
            blocks.append(({"type": "redacted_thinking", "data": "x"}, []))
        texts = [*reply.texts, reply.refusal]
        blocks.append(
            ({"type": "text", "text": ""}, [{"type": "text_delta", "text": part} for part in texts])
        )
        if reply.tool:
            tool = {"type": "tool_use", "id": "c", "name": reply.tool, "input": {}}
            blocks.append((tool, [{"type": "input_json_delta", "partial_json": "{}"}]))
        return blocks

    def usage(self, reply: Scripted) -> Any:
        return {
            "input_tokens": 12,
            "cache_creation_input_tokens": 3,
            "cache_read_input_tokens": 5,
            "output_tokens": reply.tokens,
        }

    def whole(self, reply: Scripted) -> Any:
        content = []
        for block, deltas in self.blocks(reply):
            for name in ("text", "thinking"):
                if name in block:
                    block[name] = "".join(delta.get(name, "") for delta in deltas)
            content.append(block)
        reason = self.ends[reply.outcome]
        return {
            "type": "message",
            "model": "m-1",
            "content": content,
            "stop_reason": reason,
            "usage": self.usage(reply),
        }

    def events(self, reply: Scripted) -> Iterator[Any]:
        usage = self.usage(reply) | {"output_tokens": 1}
        message = {"type": "message", "model": "m-1", "content": [], "stop_reason": None, "usage": usage}
        yield {"type": "message_start", "message": message}
        yield {"type": "ping"}
        for index, (block, deltas) in enumerate(self.blocks(reply)):
            yield {"type": "content_block_start", "index": index, "content_block": block}
            for delta in deltas:
                yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield {"type": "content_block_stop", "index": index}
        end = {"stop_reason": self.ends[reply.outcome], "stop_sequence": None}
        yield {"type": "message_delta", "delta": end, "usage": {"output_tokens": reply.tokens}}
        yield {"type": "message_stop"}

    def error(self, words: str) -> Any:
        return {"type": "error", "error": {"type": "overloaded_error", "message": words}}

    def encoded(self, event: Any) -> bytes:
        return f"event: {event.get('type', 'x')}\n".encode() + super().encoded(event)


class Gemini(Protocol):
    adapter, path = "gemini", "/models/m:generateContent"
    ends = {
        ReplyOutcome.COMPLETE: "STOP",
        ReplyOutcome.CUT: "MAX_TOKENS",
        ReplyOutcome.FILTERED: "SAFETY",
        ReplyOutcome.TOOL_CALL: "STOP",
    }

    def usage(self, reply: Scripted) -> Any:
        tokens = reply.tokens - 24 if isinstance(reply.tokens, int) else reply.tokens
        return {
            "promptTokenCount": 20,
            "candidatesTokenCount": tokens,
            "thoughtsTokenCount": 24,
            "cachedContentTokenCount": 5,
        }

    def response(self, reply: Scripted, parts: list[Any], reason: str | None) -> Any:
        candidate = {"index": 0, "content": {"role": "model", "parts": parts}}
        end = {"finishReason": reason} if reason else {}
        return {
            "candidates": [candidate | end],
            "modelVersion": "m-1",
            **({"usageMetadata": self.usage(reply)} if reason else {}),
        }

    def pieces(self, reply: Scripted) -> list[Any]:
        pieces: list[Any] = [{"text": part, "thought": True} for part in reply.reasoning]
        pieces += [{"text": part} for part in reply.texts]
        return pieces + ([{"functionCall": {"name": reply.tool, "args": {}}}] if reply.tool else [])

    def whole(self, reply: Scripted) -> Any:
        return self.response(reply, self.pieces(reply), self.ends[reply.outcome])

    def events(self, reply: Scripted) -> Iterator[Any]:
        for piece in self.pieces(reply):
            yield self.response(reply, [piece], None)
        yield self.response(reply, [], self.ends[reply.outcome])

    def wishes_stream(self, received: Received) -> bool:
        is_stream = received.path.endswith(":streamGenerateContent")
        assert not is_stream or received.query["alt"] == "sse"
        return is_stream


class Ollama(Protocol):
    adapter, path = "ollama", "/api/chat"
    ends = {
        ReplyOutcome.COMPLETE: "stop",
        ReplyOutcome.CUT: "length",
        ReplyOutcome.TOOL_CALL: "stop",
    }
    counts_reasoning = counts_cached = False

    def message(self, text: str, thinking: str = "", tool: str = "") -> Any:
        calls = {"tool_calls": [{"function": {"name": tool, "arguments": {}}}]} if tool else {}
        return {"role": "assistant", "content": text, "thinking": thinking, **calls}

    def end(self, reply: Scripted) -> Any:
        return {
            "done": True,
            "done_reason": self.ends[reply.outcome],
            "prompt_eval_count": 20,
            "eval_count": reply.tokens,
        }

    def whole(self, reply: Scripted) -> Any:
        return {
            "model": "m-1",
            "message": self.message(reply.text, reply.thoughts, reply.tool),
            **self.end(reply),
        }

    def events(self, reply: Scripted) -> Iterator[Any]:
        messages = [self.message("", part) for part in reply.reasoning]
        messages += [self.message(part) for part in reply.texts]
        messages += [self.message("", tool=reply.tool)] if reply.tool else []
        for message in messages:
            yield {"model": "m-1", "message": message, "done": False}
        yield {"model": "m-1", "message": self.message(""), **self.end(reply)}

    def error(self, words: str) -> Any:
        return {"error": words}

    def encoded(self, event: Any) -> bytes:
        return json.dumps(event).encode() + b"\n"


class Responses(Protocol):
    adapter, path = "openai-responses", "/responses"
    ends = {
        ReplyOutcome.COMPLETE: "completed",
        ReplyOutcome.CUT: "max_output_tokens",
        ReplyOutcome.FILTERED: "content_filter",
        ReplyOutcome.TOOL_CALL: "completed",
        ReplyOutcome.REFUSED: "completed",
    }

    def whole(self, reply: Scripted) -> Any:
        end = self.ends[reply.outcome]
        is_complete = end == "completed"
        return {
            "object": "response",
            "model": "m-1",
            "error": None,
            "status": end if is_complete else "incomplete",
            "incomplete_details": None if is_complete else {"reason": end},
            "output": self.items(reply),
            "usage": {
                "input_tokens": 20,
                "input_tokens_details": {"cached_tokens": 5},
                "output_tokens": reply.tokens,
                "output_tokens_details": {"reasoning_tokens": 24},
            },
        }

    def items(self, reply: Scripted) -> list[Any]:
        items: list[Any] = []
        if reply.reasoning:
            summary = [{"type": "summary_text", "text": part} for part in reply.reasoning]
            items.append({"type": "reasoning", "summary": summary})
        parts = [{"type": "output_text", "text": part} for part in reply.texts]
        refusal = {"type": "refusal", "refusal": reply.refusal}
        items.append({"type": "message", "content": [*parts, *([refusal] if reply.refusal else [])]})
        if reply.tool:
            items.append({"type": "function_call", "name": reply.tool, "arguments": "{}"})
        return items

    def events(self, reply: Scripted) -> Iterator[Any]:
        yield {"type": "response.created", "response": {"object": "response", "status": "in_progress"}}
        for part in reply.reasoning:
            yield {"type": "response.reasoning_summary_text.delta", "delta": part}
        for part in reply.texts:
            yield {"type": "response.output_text.delta", "delta": part}
        yield {"type": "response.output_text.done", "text": reply.text}
        if reply.refusal:
            yield {"type": "response.refusal.delta", "delta": reply.refusal}
        whole = self.whole(reply)
        yield {"type": f"response.{whole['status']}", "response": whole}

    def error(self, words: str) -> Any:
        return {"type": "error", "code": "overloaded", "message": words, "error": {"message": words}}


PROTOCOLS: tuple[Protocol, ...] = (ChatCompletions(), Messages(), Gemini(), Ollama(), Responses())
