"""The researchers' pages of qualifications: make one, see how people fare, have a study want it."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import ProtectedError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from turnwise.accounts.requests import AuthenticatedHttpRequest
from turnwise.quality import qualifying
from turnwise.quality.forms import EXAMPLE, QualificationForm, RequirementForm
from turnwise.quality.models import Qualification
from turnwise.quality.queries import qualifications_of
from turnwise.studies.queries import studies_of
from turnwise.trash.services import Kept
from turnwise.trash.views import tell


@require_GET
@login_required
def qualifications(request: HttpRequest) -> HttpResponse:
    rows = [
        (each, qualifying.outcome_of(each), qualifying.warning(each))
        for each in qualifications_of(request.user)
    ]
    return render(request, "quality/qualifications.html", {"rows": rows})


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def new(request: HttpRequest) -> HttpResponse:
    assert request.user.is_authenticated
    return _edited(request, Qualification(owner=request.user))


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def qualification(request: HttpRequest, pk: int) -> HttpResponse:
    return _edited(request, get_object_or_404(qualifications_of(request.user), pk=pk))


def _edited(request: HttpRequest, own: Qualification) -> HttpResponse:
    form = QualificationForm(request.POST if request.method == "POST" else None, instance=own)
    if request.method == "POST" and form.is_valid():
        try:
            saved = qualifying.save(form.save(commit=False))
        except ValidationError as error:
            form.add_error(None, error)
        else:
            messages.success(request, _("Saved. Studies require it once you choose it there."))
            return redirect("quality:qualification", pk=saved.pk)
    context = {
        "form": form,
        "own": own,
        "outcome": qualifying.outcome_of(own) if own.pk else None,
        "warning": qualifying.warning(own) if own.pk else "",
        "studies": studies_of(request.user).filter(requirement__qualification=own) if own.pk else [],
        "example": EXAMPLE,
    }
    status = 422 if request.method == "POST" else 200
    return render(request, "quality/qualification.html", context, status=status)


@require_POST
@login_required
def delete(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    own = get_object_or_404(qualifications_of(request.user), pk=pk)
    kept = Kept()
    try:
        with transaction.atomic():
            kept.delete(Qualification.objects.filter(pk=own.pk))
            deletion = kept.store(own.title, by=request.user)
    except ProtectedError:
        messages.error(request, _("Studies require it, or people have tried it, so it is kept."))
        return redirect("quality:qualification", pk=pk)
    tell(request, _("The qualification is deleted."), deletion)
    return redirect("quality:qualifications")


@require_POST
@login_required
def require(request: HttpRequest, pk: int) -> HttpResponse:
    """Have a study want a qualification, or none."""
    study = get_object_or_404(studies_of(request.user), pk=pk, rehearsal_of=None)
    assert request.user.is_authenticated
    form = RequirementForm(request.POST, user=request.user, study=study)
    if form.is_valid():
        qualifying.require(study, form.cleaned_data["qualification"])
        messages.success(request, _("Saved. It applies to workers who have not started."))
    else:
        messages.error(request, _("There is no such qualification. No changes were made."))
    return redirect("quality:study", pk=pk)
