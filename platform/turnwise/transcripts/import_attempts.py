"""Steps on the staff pages of conversations from elsewhere that may be refused."""

from collections.abc import Callable

from django.contrib import messages
from django.http import HttpRequest

from turnwise.transcripts.importing import ImportRefusedError
from turnwise.transcripts.relaying import RelayRefusedError


def attempt(request: HttpRequest, step: Callable[[], object], *, done: str = "") -> bool:
    """Take the step, and have the next page say `done`, or why the step was refused.

    Returns:
        Whether it was taken.
    """
    try:
        step()
    except (ImportRefusedError, RelayRefusedError) as error:
        messages.error(request, str(error))
        return False
    if done:
        messages.success(request, done)
    return True
