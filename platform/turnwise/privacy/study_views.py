"""What a researcher sees of people's data in a study: who withdrew, what is erased when."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from turnwise.accounts.limits import too_many, too_often
from turnwise.accounts.models import User
from turnwise.crowd.models import Participation, Withdrawal
from turnwise.privacy import erasing, finding, withdrawing
from turnwise.privacy.stored import counted_of
from turnwise.studies.queries import studies_of


@require_safe
@login_required
def overview(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(studies_of(request.user), pk=pk)
    people = Participation.objects.filter(study=study)
    shown = {
        "study": study,
        "people": people.count(),
        "erased": people.filter(erased_at__isnull=False).count(),
        "overdue": erasing.due_for_erasure(timezone.now(), study).count(),
        "withdrawals": Withdrawal.objects.filter(participation__study=study).select_related(
            "participation__assignment", "by"
        ),
    }
    return render(request, "privacy/overview.html", shown)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def withdraw(request: HttpRequest, pk: int, participation: int) -> HttpResponse:
    """What is stored about somebody; erased at their request, after a question whether that is meant."""
    study = get_object_or_404(studies_of(request.user), pk=pk)
    people = Participation.objects.select_related("study", "worker", "withdrawal")
    own = get_object_or_404(people, pk=participation, study=study)
    refused = ""
    if request.method == "POST":
        assert request.user.is_authenticated
        try:
            said = _erased(own, request.POST.get("what", "everything"), request.user)
        except ValidationError as error:
            refused = " ".join(error.messages)
        else:
            messages.success(request, said % {"who": own.pseudonym})
            return redirect("privacy:overview", pk=study.pk)
    shown = {"stored": counted_of(own), "is_owed": erasing.is_owed(own), "refused": refused}
    context = {"study": study, "own": own, **shown}
    return render(request, "privacy/withdraw_for.html", context, status=422 if refused else 200)


def _erased(own: Participation, what: str, by: User) -> str:
    if what == "ids":
        erasing.erase_ids(own.pk)
        return _("The ids of %(who)s are erased; what they said stays.")
    if what != "everything":
        raise ValidationError(_("“%(what)s” is not something to erase.") % {"what": what[:20]})
    withdrawing.withdraw(own.pk, by=by)
    return _("The data of %(who)s are withdrawn. The report is being updated.")


@require_safe
@login_required
def find(request: HttpRequest) -> HttpResponse:
    """Look somebody up in all studies that one works on."""
    if too_often(request, "find_person", rate="60/m", key="user"):
        return too_many(request)
    sought = request.GET.get("find", "").strip()[:120]
    return render(
        request,
        "privacy/find.html",
        {"sought": sought, "people": finding.found(request.user, sought)[: finding.MOST]},
    )
