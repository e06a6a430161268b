"""Staff pages about privacy: withdrawals, erasure, finding a participant, redaction, removal of pictures."""

import re

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
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
from turnwise.privacy import erasure, text_review, withdrawal
from turnwise.privacy.personal_data import review_texts
from turnwise.privacy.stored_data import count_stored
from turnwise.studies.queries import studies_of

MOST = 100
PICTURES_PER_PAGE = 24


def find_participations(user: User | AnonymousUser, sought: str) -> QuerySet[Participation]:
    """Find all participations of a person in the studies that this user may see.

    Args:
        user: user who searches.
        sought: panel ID, submission, pseudonym, completion code or resume code.
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
    # A match in one study finds the worker's participations in all others, too.
    whole = everywhere.filter(worker__in=matching.values("worker"))
    return whole.select_related("study", "worker", "assignment", "withdrawal").order_by("-pk")


@require_safe
@login_required
def overview(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(studies_of(request.user), pk=pk)
    people = Participation.objects.filter(study=study)
    context = {
        "study": study,
        "people": people.count(),
        "erased": people.filter(erased_at__isnull=False).count(),
        "overdue": erasure.due_for_erasure(timezone.now(), study).count(),
        "withdrawals": Withdrawal.objects.filter(participation__study=study).select_related(
            "participation__assignment", "by"
        ),
    }
    return render(request, "privacy/overview.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def withdraw(request: HttpRequest, pk: int, participation: int) -> HttpResponse:
    """Show how much is stored about a participant; a POST erases it at their request."""
    study = get_object_or_404(studies_of(request.user), pk=pk)
    people = Participation.objects.select_related("study", "worker", "withdrawal")
    person = get_object_or_404(people, pk=participation, study=study)
    refused = ""
    if request.method == "POST":
        assert request.user.is_authenticated
        try:
            message = _erase(person, request.POST.get("what", "everything"), request.user)
        except ValidationError as error:
            refused = " ".join(error.messages)
        else:
            messages.success(request, message % {"who": person.pseudonym})
            return redirect("privacy:overview", pk=study.pk)
    shown = {"stored": count_stored(person), "is_owed": erasure.has_unpaid_amount(person), "refused": refused}
    context = {"study": study, "own": person, **shown}
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
    """Find a person in all studies that the user may see."""
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
    context = {
        "study": study,
        "looked": review_texts(study, after=_whole_number(request.GET.get("after", ""))),
        "redacted": Redaction.objects.filter(study=study, undone_at=None).select_related("by"),
        "undone": Redaction.objects.filter(study=study, undone_at__isnull=False).select_related(
            "by", "undone_by"
        ),
        "review": redaction.last_review(study),
    }
    if study.takes_pictures:
        pictures = Paginator(text_review.sent_pictures(study), PICTURES_PER_PAGE)
        context["pictures"] = pictures.get_page(request.GET.get("page"))
    return render(request, "privacy/texts.html", context)


@require_POST
@login_required
def redact(request: HttpRequest, pk: int) -> HttpResponse:
    """Redact the selected texts, or all texts on the page, and record the review."""
    study = get_object_or_404(studies_of(request.user), pk=pk)
    assert request.user.is_authenticated
    chosen = request.POST.getlist("shown" if "all" in request.POST else "text")
    typed = [(Kind.OTHER, each) for each in request.POST.getlist("own")]
    # Texts that arrived while the page was open were not reviewed.
    seen = _whole_number(request.POST.get("seen", ""))
    try:
        done = text_review.redact(study, [*map(_parsed, chosen), *typed], seen=seen, by=request.user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return redirect("privacy:texts", pk=pk)
    message = ngettext("%(n)d text is redacted.", "%(n)d texts are redacted.", done) % {"n": done}
    messages.success(
        request, message if chosen or typed else _("It is recorded that you reviewed the texts.")
    )
    further = _whole_number(request.POST.get("after", ""))
    address = reverse("privacy:texts", args=[pk])
    return redirect(f"{address}?after={further}" if further else address)


@require_POST
@login_required
def undo(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(studies_of(request.user), pk=pk)
    assert request.user.is_authenticated
    undone = get_object_or_404(Redaction, study=study, pk=_whole_number(request.POST.get("redaction", "")))
    text_review.undo(undone, by=request.user)
    messages.success(request, _("It leaves the platform as it was written again."))
    return redirect("privacy:texts", pk=pk)


@require_POST
@login_required
def remove_pictures(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete the selected pictures for good."""
    study = get_object_or_404(studies_of(request.user), pk=pk)
    try:
        removed = text_review.remove(study, [*map(_whole_number, request.POST.getlist("picture"))])
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        request.changes_nothing = True  # type: ignore[attr-defined]  # for the audit log
    else:
        text = ngettext("%(n)d picture is removed.", "%(n)d pictures are removed.", removed)
        messages.success(request, text % {"n": removed})
    page = _whole_number(request.POST.get("page", ""))
    address = reverse("privacy:texts", args=[pk])
    return redirect(f"{address}?page={page}" if page else address)


def _parsed(value: str) -> tuple[Kind, str]:
    """Parse the form's value: kind and text.

    Raises:
        ValidationError: the kind is unknown.
    """
    kind, _mark, text = value.partition(" ")
    if kind not in Kind.__members__:
        raise ValidationError(_("“%(kind)s” is not a kind of personal data.") % {"kind": kind[:40]})
    return Kind[kind], text


def _whole_number(text: str) -> int:
    """Parse a whole number; 0 for anything else."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0
