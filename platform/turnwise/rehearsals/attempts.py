"""Rehearsals that are started with a button, and what is told of them meanwhile."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import connections, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from turnwise.accounts.models import User
from turnwise.live.errors import why_ended
from turnwise.live.locks import REHEARSALS, is_worked_on, only_here
from turnwise.rehearsals.models import Attempt
from turnwise.rehearsals.rehearsed import RehearsedTask
from turnwise.rehearsals.run import Say
from turnwise.studies.models import Study
from turnwise.studies.tasks import task_of

MOST_WORKERS = 500
# Of all studies together: each has a web server of its own and keeps bots busy.
MOST_AT_ONCE = 2
# A process that has not begun, or said anything, for so long is looked after.
PATIENCE = timedelta(minutes=2)
_DONE = re.compile(r"(\d+) of \d+ workers are done")


@transaction.atomic
def begin(study: Study, workers: int, *, by: User) -> Attempt:
    """Note that a rehearsal is wanted; `turnwise.rehearsals.tasks` sends it on its way.

    Raises:
        ValidationError: it cannot be rehearsed, or not now; says why and what to do.
    """
    if study.rehearsal_of_id or not isinstance(task_of(study), RehearsedTask):
        raise ValidationError(_("Nobody takes part in this study, so there is nothing to rehearse."))
    if missing := task_of(study).why_not_open(study):
        raise ValidationError(missing)
    if not 1 <= workers <= MOST_WORKERS:
        raise ValidationError(
            _("%(workers)s simulated workers cannot come. Use a number from 1 to %(most)s.")
            % {"workers": workers, "most": MOST_WORKERS}
        )
    under_way = [each for each in Attempt.objects.select_for_update() if look_after(each).is_under_way]
    if any(each.study_id == study.pk for each in under_way):
        raise ValidationError(_("This study is already being rehearsed. Wait until that is over."))
    if len(under_way) >= MOST_AT_ONCE:
        said = ngettext(
            "%(n)s rehearsal is in progress. Start this one once it is over.",
            "%(n)s rehearsals are in progress. Start this one once one of them is over.",
            len(under_way),
        )
        raise ValidationError(said % {"n": len(under_way)})
    now = timezone.now()
    fresh = {"workers": workers, "by": by, "state": Attempt.State.QUEUED, "done": 0, "said": "", "reason": ""}
    attempt, _is_new = Attempt.objects.update_or_create(
        study=study, defaults=fresh | {"started_at": now, "told_at": now}
    )
    return attempt


def look_after(attempt: Attempt) -> Attempt:
    """The attempt as it is; one whose process is gone has failed."""
    silent = timezone.now() - attempt.told_at > PATIENCE
    if attempt.is_under_way and silent and not is_worked_on(REHEARSALS, attempt.study_id):
        _fail(attempt, _("Its process ended unexpectedly; the log says why. Rehearse again."))
        attempt.refresh_from_db()
    return attempt


@contextmanager
def noted(study: Study, say: Say) -> Iterator[Say]:
    """Tell what is said inside also to the study's page, and how it ended.

    Raises:
        ValidationError: nobody wants it any more, or another process is at it.
    """
    attempt = Attempt.objects.filter(study=study).first()
    with only_here(REHEARSALS, study.pk) as is_ours:
        if attempt is None or not is_ours or not attempt.is_under_way:
            raise ValidationError(_("“%(title)s” is not waiting for a rehearsal.") % {"title": study.title})

        mine = Attempt.objects.filter(pk=attempt.pk)

        def note(words: str) -> None:
            through = _DONE.match(words)
            # The page says in its own words how many are through.
            news: dict[str, Any] = {"done": int(through[1]), "said": ""} if through else {"said": words}
            mine.update(state=Attempt.State.RUNNING, told_at=timezone.now(), **news)

        def told(words: str) -> None:
            say(words)
            notes.submit(note, words)

        # What is said in the midst of an event loop, too, is written down in order by one thread.
        with ThreadPoolExecutor(1) as notes:
            try:
                yield told
            except BaseException as error:
                notes.submit(_fail, attempt, str(error) or why_ended(error))
                raise
            else:
                notes.submit(mine.update, state=Attempt.State.DONE, told_at=timezone.now())
            finally:
                notes.submit(connections.close_all)


def give_up(study: Study, reason: str) -> None:
    """It cannot be sent on its way."""
    for attempt in Attempt.objects.filter(study=study):
        _fail(attempt, reason)


def _fail(attempt: Attempt, reason: str) -> None:
    Attempt.objects.filter(pk=attempt.pk).update(
        state=Attempt.State.FAILED, reason=reason, told_at=timezone.now()
    )
