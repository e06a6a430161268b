"""What a researcher sees of people's data in a study: who withdrew, what is erased when.

Finding somebody who asks for their data: by whatever they have of a study.

Likely personal data in a study's texts: what is found, what is redacted, and what is taken back.
"""

import re

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from evaluation.texts.personal_data import Kind
from turnwise.accounts.limits import too_many, too_often
from turnwise.accounts.models import User
from turnwise.crowd import redaction
from turnwise.crowd.models import Participation, Redaction, Withdrawal, Worker
from turnwise.privacy import erasure, withdrawal
from turnwise.privacy.personal_data import review_texts, studies_that_judge
from turnwise.privacy.stored_data import count_stored
from turnwise.studies import bundles
from turnwise.studies.models import Study
from turnwise.studies.queries import studies_of
from turnwise.studies.services import results_changed
from turnwise.trash import soft_delete as trash

MOST = 100


def find_participations(user: User | AnonymousUser, sought: str) -> QuerySet[Participation]:
    """Where somebody took part, in studies that this person works on; admins work on all.

    Args:
        user: who looks.
        sought: a panel's id of them, a submission, a pseudonym, a completion code or a resume code.
    """
    everywhere = Participation.objects.filter(study__in=studies_of(user), study__rehearsal_of=None)
    sought = sought.strip()
    if not sought:
        return everywhere.none()
    capitals = sought.upper()
    letters = re.sub(r"[^A-Z0-9]", "", capitals)
    named = Worker.objects.filter(Q(panel_id=sought) | Q(pseudonym=capitals)).values("pk")
    matching = everywhere.filter(
        Q(worker__in=named)
        | Q(pseudonym=capitals)
        | Q(submission=sought)
        | Q(completion_code=capitals)
        | Q(resume_code=f"{letters[:5]}-{letters[5:]}")
    )
    # Whoever is found by one study's code is found in the others, too.
    whole = everywhere.filter(worker__in=matching.values("worker"))
    return whole.select_related("study", "worker", "assignment", "withdrawal").order_by("-pk")


@require_safe
@login_required
def overview(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(studies_of(request.user), pk=pk)
    people = Participation.objects.filter(study=study)
    shown = {
        "study": study,
        "people": people.count(),
        "erased": people.filter(erased_at__isnull=False).count(),
        "overdue": erasure.due_for_erasure(timezone.now(), study).count(),
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
            said = _erase(own, request.POST.get("what", "everything"), request.user)
        except ValidationError as error:
            refused = " ".join(error.messages)
        else:
            messages.success(request, said % {"who": own.pseudonym})
            return redirect("privacy:overview", pk=study.pk)
    shown = {"stored": count_stored(own), "is_owed": erasure.has_unpaid_amount(own), "refused": refused}
    context = {"study": study, "own": own, **shown}
    return render(request, "privacy/withdraw_for.html", context, status=422 if refused else 200)


def _erase(own: Participation, what: str, by: User) -> str:
    if what == "ids":
        erasure.erase_ids(own.pk)
        return _("The ids of %(who)s are erased; what they said stays.")
    if what != "everything":
        raise ValidationError(_("“%(what)s” is not something to erase.") % {"what": what[:20]})
    withdrawal.withdraw(own.pk, by=by)
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
        {"sought": sought, "people": find_participations(request.user, sought)[:MOST]},
    )


@require_safe
@login_required
def texts(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(studies_of(request.user), pk=pk)
    if too_often(request, "texts", rate="30/m", key="user"):
        return too_many(request)
    shown = {
        "study": study,
        "looked": review_texts(study, after=_whole_number(request.GET.get("after", ""))),
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
    is_newest = _whole_number(request.POST.get("seen", "")) >= study.results_version
    chosen = request.POST.getlist("shown" if "all" in request.POST else "text")
    own = [(Kind.OTHER, each) for each in request.POST.getlist("own")]
    try:
        with transaction.atomic():
            done = redaction.redact(study, [*map(_parsed, chosen), *own], by=request.user)
            if done:
                _update_dependents(study)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return redirect("privacy:texts", pk=pk)
    if is_newest:
        redaction.note_review(study, by=request.user)
    said = ngettext("%(n)d text is redacted.", "%(n)d texts are redacted.", done) % {"n": done}
    messages.success(request, said if chosen or own else _("It is recorded that you reviewed the texts."))
    further = _whole_number(request.POST.get("after", ""))
    address = reverse("privacy:texts", args=[pk])
    return redirect(f"{address}?after={further}" if further else address)


@require_POST
@login_required
def undo(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(studies_of(request.user), pk=pk)
    assert request.user.is_authenticated
    own = get_object_or_404(Redaction, study=study, pk=_whole_number(request.POST.get("redaction", "")))
    with transaction.atomic():
        redaction.undo(own.pk, by=request.user)
        _update_dependents(study)
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


def _whole_number(text: str) -> int:
    """A whole number as a page sends it; 0 for anything else."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0


def _update_dependents(study: Study) -> None:
    """Have the reports of studies that judge these texts follow, too, and no bundle stay as it was."""
    for other in sorted(studies_that_judge([study.pk]) - {study.pk}):
        results_changed(other)
    bundles.delete_bundles_quoting([study.pk])
    trash.purge_studies([study.pk])
