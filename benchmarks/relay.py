"""A bare relay for `streaming.py` to compare the product with: a thread writes, a socket sends each token."""

import asyncio
import json
import threading
import time

from channels.generic.websocket import AsyncWebsocketConsumer

from benchmarks.clock_bot.clock import THINKING_SECONDS, TOKEN_SECONDS, TOKENS
from benchmarks.floors import bare


class Relay(AsyncWebsocketConsumer):
    """Sends a growing reply to each frame; stores nothing."""

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        loop, tokens = asyncio.get_running_loop(), asyncio.Queue[str]()

        def write() -> None:
            time.sleep(THINKING_SECONDS)
            for _ in range(TOKENS):
                loop.call_soon_threadsafe(tokens.put_nowait, f"{time.time():.4f} ")
                time.sleep(TOKEN_SECONDS)

        threading.Thread(target=write, daemon=True).start()
        for _ in range(TOKENS):
            await self._say({"type": "bot_text", "text": await tokens.get()})
        await self._say({"type": "bot_turn"})

    async def _say(self, frame: dict[str, str]) -> None:
        await self.send(text_data=json.dumps(frame))


relay = bare(Relay)
