"""Reporting refused steps on the staff pages of imported and relayed conversations."""

from collections.abc import Callable

from django.contrib import messages
from django.http import HttpRequest

from turnwise.transcripts.importing import ImportRefusedError
from turnwise.transcripts.relaying import RelayRefusedError


def attempt(request: HttpRequest, step: Callable[[], object], *, done: str = "") -> bool:
    """Run the step, and add a message for the next page: `done`, or why the step was refused.

    Returns:
        True if the step succeeded.
    """
    try:
        step()
    except (ImportRefusedError, RelayRefusedError) as error:
        messages.error(request, str(error))
        return False
    if done:
        messages.success(request, done)
    return True
