"""Answers that a worker's page sends in one form field, as JSON."""

import json
from typing import Any

from django.http import HttpRequest

_LONGEST = 100_000


def answers_in(request: HttpRequest) -> dict[str, Any] | None:
    """What was sent, by name; None if it cannot be read."""
    sent = request.POST.get("answers", "")
    try:
        answers = json.loads(sent) if len(sent) <= _LONGEST else None
    except (ValueError, RecursionError):
        answers = None
    return answers if isinstance(answers, dict) else None
