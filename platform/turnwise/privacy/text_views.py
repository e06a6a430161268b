"""Likely personal data in a study's texts: what is found, what is redacted, and what is taken back."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from evaluation.personal_data import Kind
from turnwise.accounts.limits import too_many, too_often
from turnwise.crowd import redaction
from turnwise.crowd.models import Redaction
from turnwise.privacy.looking import looked
from turnwise.privacy.redacting import studies_that_judge
from turnwise.studies import bundles
from turnwise.studies.models import Study
from turnwise.studies.queries import studies_of
from turnwise.studies.services import results_changed
from turnwise.trash import services as trash


@require_safe
@login_required
def texts(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(studies_of(request.user), pk=pk)
    if too_often(request, "texts", rate="30/m", key="user"):
        return too_many(request)
    shown = {
        "study": study,
        "looked": looked(study, after=_whole(request.GET.get("after", ""))),
        "redacted": Redaction.objects.filter(study=study, undone_at=None).select_related("by"),
        "undone": Redaction.objects.filter(study=study, undone_at__isnull=False).select_related(
            "by", "undone_by"
        ),
        "review": redaction.last_review(study),
    }
    return render(request, "privacy/texts.html", shown)


@require_POST
@login_required
def redact(request: HttpRequest, pk: int) -> HttpResponse:
    """Redact what was chosen, or everything that the page showed; and note that it was looked through."""
    study = get_object_or_404(studies_of(request.user), pk=pk)
    assert request.user.is_authenticated
    study.refresh_from_db(fields=["results_version"])
    # What came while the page was open was not seen.
    is_newest = _whole(request.POST.get("seen", "")) >= study.results_version
    chosen = request.POST.getlist("shown" if "all" in request.POST else "text")
    own = [(Kind.OTHER, each) for each in request.POST.getlist("own")]
    try:
        with transaction.atomic():
            done = redaction.redact(study, [*map(_parsed, chosen), *own], by=request.user)
            if done:
                _follow(study)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return redirect("privacy:texts", pk=pk)
    if is_newest:
        redaction.note_review(study, by=request.user)
    said = ngettext("%(n)d text is redacted.", "%(n)d texts are redacted.", done) % {"n": done}
    messages.success(request, said if chosen or own else _("It is recorded that you reviewed the texts."))
    further = _whole(request.POST.get("after", ""))
    address = reverse("privacy:texts", args=[pk])
    return redirect(f"{address}?after={further}" if further else address)


@require_POST
@login_required
def undo(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(studies_of(request.user), pk=pk)
    assert request.user.is_authenticated
    own = get_object_or_404(Redaction, study=study, pk=_whole(request.POST.get("redaction", "")))
    with transaction.atomic():
        redaction.undo(own.pk, by=request.user)
        _follow(study)
    messages.success(request, _("It leaves the platform as it was written again."))
    return redirect("privacy:texts", pk=pk)


def _parsed(value: str) -> tuple[Kind, str]:
    """A kind and a text, as the form sends them.

    Raises:
        ValidationError: there is no such kind.
    """
    kind, _mark, text = value.partition(" ")
    if kind not in Kind.__members__:
        raise ValidationError(_("“%(kind)s” is not a kind of personal data.") % {"kind": kind[:40]})
    return Kind[kind], text


def _whole(text: str) -> int:
    """A whole number as a page sends it; 0 for anything else."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0


def _follow(study: Study) -> None:
    """Have the reports of studies that judge these texts follow, too, and no bundle stay as it was."""
    for other in sorted(studies_that_judge([study.pk]) - {study.pk}):
        results_changed(other)
    bundles.forget([study.pk])
    trash.forget([study.pk])
