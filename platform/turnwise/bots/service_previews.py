"""Previews in the form of a chat service's bot: the messages as sent, and the service's models."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from chatbots.base import Context, Passage, Setting, Speaker, Turn
from chatbots.errors import ChatbotError
from chatbots.registry import REGISTRY
from chatbots.services.chat import ChatServiceBot
from chatbots.services.chat_settings import ChatConfiguration
from turnwise.bots.forms import PREFIX, BotForm

SECONDS = 10.0
"""Longest wait for a service's list of models."""

EXAMPLE = Context(
    (
        Turn(Speaker.HUMAN, "Hi!"),
        Turn(Speaker.BOT, "Hello! How was your day?"),
        Turn(Speaker.HUMAN, "Fine. I went for a walk."),
    ),
    seed=1,
    material=(Passage("Example of what a study may give the bot to read.", "A title"),),
    setting=Setting(
        language="English",
        scenario="Example of the situation that a study gives to people.",
        persona="Example of the persona that a study gives to the bot.",
    ),
)


@dataclass(frozen=True, slots=True)
class Preview:
    """Content of a preview in the form.

    Attributes:
        sent: JSON of a request; empty if it is not shown.
        models: names of the service's models; empty if they are not shown.
        why_not: why nothing can be shown; empty if something is.
    """

    sent: str = ""
    models: tuple[str, ...] = ()
    why_not: str = ""


def is_chat_service(adapter: str) -> bool:
    """True if the adapter's form can show previews."""
    return issubclass(REGISTRY.bot_class(adapter), ChatServiceBot)


def requested(sent: Mapping[str, str], form: BotForm) -> Preview | None:
    """Return the preview that a button of the form requests; None if it requests none."""
    kind = sent.get("preview", "")
    if kind not in ("messages", "models") or not is_chat_service(form.adapter):
        return None
    form.is_valid()
    settings = form.settings()
    if kind == "models":
        settings["model"] = settings.get("model") or "any"  # no list depends on it
    try:
        return _preview(kind, form, settings)
    except ChatbotError as error:
        return Preview(why_not=str(error))


def _preview(kind: str, form: BotForm, settings: dict[str, Any]) -> Preview:
    bot_class = REGISTRY.bot_class(form.adapter)
    configuration = REGISTRY.configuration(form.adapter, settings)
    assert issubclass(bot_class, ChatServiceBot)
    assert isinstance(configuration, ChatConfiguration)
    if kind == "messages":
        content = bot_class.preview(configuration, EXAMPLE)
        return Preview(json.dumps(content, ensure_ascii=False, indent=2))
    hasty = configuration.model_copy(update={"timeout": SECONDS, "retries": 0, "requests_per_minute": None})
    models = tuple(bot_class.list_models(hasty))
    form.fields[PREFIX + "model"].widget.attrs["list"] = "models"
    return Preview(models=models) if models else Preview(why_not=_("The service offers no models."))
