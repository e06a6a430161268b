"""What a researcher sees of people's data in a study: who withdrew, what is erased when."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from crowd.models import Participation, Withdrawal
from privacy import erasing, withdrawing
from studies.queries import studies_of


@require_safe
@login_required
def overview(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(studies_of(request.user), pk=pk)
    people = Participation.objects.filter(study=study)
    shown = {
        "study": study,
        "people": people.count(),
        "erased": people.filter(erased_at__isnull=False).count(),
        "overdue": erasing.due_for_erasure(timezone.now()).filter(study=study).count(),
        "withdrawals": Withdrawal.objects.filter(participation__study=study).select_related(
            "participation__assignment", "by"
        ),
    }
    return render(request, "privacy/overview.html", shown)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def withdraw(request: HttpRequest, pk: int, participation: int) -> HttpResponse:
    """Withdraw somebody's data at their request, after a question whether that is meant."""
    study = get_object_or_404(studies_of(request.user), pk=pk)
    own = get_object_or_404(Participation, pk=participation, study=study)
    if request.method != "POST":
        return render(request, "privacy/withdraw_for.html", {"study": study, "own": own})
    assert request.user.is_authenticated
    withdrawing.withdraw(own.pk, by=request.user)
    messages.success(
        request, _("The data of %(who)s are withdrawn. The report follows.") % {"who": own.pseudonym}
    )
    return redirect("privacy:overview", pk=study.pk)
