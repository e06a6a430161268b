"""Removal of a run with its labels, which can be undone for a day."""

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import ProtectedError
from django.utils.translation import gettext

from turnwise.accounts.models import User
from turnwise.judges.models import JudgeRun
from turnwise.responses.bot_jobs import AT_WORK
from turnwise.studies import bundles
from turnwise.studies.services import results_changed
from turnwise.trash.models import Deletion
from turnwise.trash.soft_delete import SoftDeleter


@transaction.atomic
def remove(run_id: int, *, by: User) -> Deletion | None:
    """Delete a run with its labels; None if it was deleted already.

    Raises:
        ValidationError: the run is under way, or something else rests on it.
    """
    runs = JudgeRun.objects.select_related("judge__bot", "study")
    run = runs.select_for_update(of=("self",)).filter(pk=run_id).first()
    if run is None:
        return None
    if run.state in AT_WORK:
        raise ValidationError(gettext("This run is under way. Cancel it first, then remove it."))
    if panel := run.panels.select_related("judge").first():
        raise ValidationError(
            gettext("The panel “%(title)s” rests on these labels. Remove it first.")
            % {"title": panel.judge.title}
        )
    deleter = SoftDeleter()
    try:
        deleter.delete(JudgeRun.objects.filter(pk=run.pk))
    except ProtectedError:
        raise ValidationError(
            gettext("Something else in this study rests on these labels. Remove that first.")
        ) from None
    results_changed(run.study_id)
    bundles.delete_bundles_quoting([run.study_id])
    what = gettext("Labels of %(title)s") % {"title": run.judge.shown_title}
    return deleter.store(what, by=by, study=run.study)
