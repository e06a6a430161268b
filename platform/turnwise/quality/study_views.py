"""Page *Quality* of a study: qualification, attention checks, flags and decisions; and saved messages."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from evaluation.quality.flags import Kind
from turnwise.accounts.access import AuthenticatedHttpRequest, visible_to
from turnwise.crowd.models import PanelAct, Participation
from turnwise.crowd.panels.prolific import CATEGORIES
from turnwise.crowd.pay.panel_acts import api_panel
from turnwise.crowd.worker_task import WorkerTask
from turnwise.judging.queue.queued_task import QueuedTask
from turnwise.labels.models import Label
from turnwise.quality import decisions, flagging, qualification_tests
from turnwise.quality.flagging import TITLES, describe_flag, rejection_message
from turnwise.quality.models import Check, Decision, Flag, MessageTemplate
from turnwise.quality.qualification_views import CheckForm, LimitsForm, RequirementForm
from turnwise.quality.saved_messages import (
    MessageForm,
    fill_template,
    messages_of,
    remove_message,
    save_message,
)
from turnwise.questions.question_sets import question_set
from turnwise.studies.models import Study
from turnwise.studies.queries import real_studies_of
from turnwise.studies.sharing.permissions import Permission, may, permissions_of
from turnwise.studies.tasks import task_of
from turnwise.trash.views import offer_undo


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def message_templates(request: HttpRequest) -> HttpResponse:
    """List the user's saved messages; a POST adds one."""
    assert request.user.is_authenticated
    templates = messages_of(request.user)
    form = MessageForm(
        request.POST if request.method == "POST" else None, instance=MessageTemplate(owner=request.user)
    )
    if form.is_bound and form.is_valid():
        try:
            save_message(form.save(commit=False))
        except ValidationError as error:
            form.add_error(None, error)
        else:
            messages.success(request, _("The message is saved."))
            return redirect("quality:messages")
    context = {"own": templates, "form": form}
    return render(request, "quality/messages.html", context, status=422 if form.is_bound else 200)


@require_http_methods(["POST"])
@login_required
def remove(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    visible = visible_to(request.user, MessageTemplate.objects.all(), owner="owner")
    removed = get_object_or_404(visible, pk=pk)
    deletion = remove_message(removed, by=request.user)
    offer_undo(request, _("The message is removed."), deletion)
    return redirect("quality:messages")


PER_PAGE = 20
LINKS = 5


def study_with_workers(request: HttpRequest, pk: int, permission: Permission = Permission.CHANGE) -> Study:
    study = get_object_or_404(real_studies_of(request.user, permission).select_related("owner"), pk=pk)
    if not isinstance(task_of(study), WorkerTask):
        raise Http404("No workers take part in such a study.")
    return study


@require_GET
@login_required
def quality(request: HttpRequest, pk: int) -> HttpResponse:
    return _page(request, study_with_workers(request, pk, Permission.REVIEW))


def _page(request: HttpRequest, study: Study, limits: LimitsForm | None = None) -> HttpResponse:
    assert request.user.is_authenticated
    granted = permissions_of(request.user, study)
    wanted = qualification_tests.required_qualification(study)
    flagged = study.participations.filter(flags__isnull=False).distinct()
    flagged = flagged.select_related("worker", "entered_by", "study")
    page = Paginator(flagged.order_by("pk"), PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "study": study,
        "page": page,
        "too_many_labels": f"{flagging.MOST_LABELS:,}" if flagging.is_too_large(study) else None,
        "workers": _workers_context(study, list(page.object_list), _selected_template(request)),
        "templates": messages_of(request.user),
        "decisions": study.decisions.select_related("undone_by")[:PER_PAGE],
        "actions": [(each.value, each.label) for each in decisions.allowed_actions(granted)],
        "undoable": [each.value for each in decisions.allowed_actions(granted)],
        "may_change": Permission.CHANGE in granted,
        "categories": CATEGORIES[::-1],  # OTHER first
        "limits": limits or LimitsForm(instance=flagging.limits_of(study)),
        "requirement": RequirementForm(user=request.user, study=study),
        "check": CheckForm(study=study),
        "checks": [_check(each) for each in study.attention_checks.all()],
        "wanted": wanted,
        "outcome": qualification_tests.pass_counts(wanted) if wanted else None,
        "warning": qualification_tests.warning(wanted) if wanted else "",
        "has_queue": isinstance(task_of(study), QueuedTask),
        "gold": study.items.filter(right_answers__isnull=False).count(),
    }
    return render(request, "quality/study.html", context, status=422 if limits else 200)


def _selected_template(request: HttpRequest) -> MessageTemplate | None:
    """Saved message that the user selected as the draft of the reason."""
    key = request.GET.get("message", "")
    if not key.isdecimal() or len(key) > 9:
        return None
    return MessageTemplate.objects.filter(owner=request.user.pk, pk=int(key)).first()


def _workers_context(
    study: Study, participations: Sequence[Participation], chosen: MessageTemplate | None
) -> list[dict[str, Any]]:
    """Context per worker: flags as sentences with links to their evidence, requests and decisions."""
    flags = list(Flag.objects.filter(participation__in=participations))
    links = _links(study, [key for flag in flags for key in flag.evidence[:LINKS]])
    acts = list(PanelAct.objects.filter(participation__in=participations).exclude(kind="message"))
    decided = decisions.decisions_by_participation(study, [each.pk for each in participations])
    return [
        {
            "participation": each,
            "told": api_panel(each) is not None,
            "acts": [act for act in acts if act.participation_id == each.pk],
            "flags": [_flag(flag, links) for flag in flags if flag.participation_id == each.pk],
            "stands": [
                made for made in decided.get(each.pk, ()) if made.action != "undo" and not _is_undone(made)
            ],
            "message": _message(each, [flag for flag in flags if flag.participation_id == each.pk], chosen),
        }
        for each in participations
    ]


def _message(own: Participation, flags: Sequence[Flag], chosen: MessageTemplate | None) -> str:
    says = " ".join(describe_flag(flag.kind, flag.figures) for flag in flags)
    return (fill_template(chosen, own, reasons=says) if chosen else rejection_message(says))[:500]


def _is_undone(made: Decision) -> bool:
    return hasattr(made, "undone_by")


def _flag(flag: Flag, links: Mapping[int, str]) -> dict[str, Any]:
    return {
        "title": TITLES[Kind(flag.kind)],
        "says": describe_flag(flag.kind, flag.figures),
        "links": [links[key] for key in flag.evidence[:LINKS] if key in links],
    }


def _links(study: Study, labels: Sequence[int]) -> dict[int, str]:
    """Addresses of the staff pages of what the labels judge, by label key."""
    found = {}
    rows = Label.objects.filter(pk__in=labels).select_related("slot__item", "turn__dialogue", "dialogue")
    for label in rows:
        if slot := getattr(label, "slot", None):
            found[label.pk] = reverse("judging:item", args=[study.pk, slot.item.key])
        elif label.turn:
            here = reverse("labels:transcript", args=[label.turn.dialogue.public_id])
            found[label.pk] = f"{here}#turn-{label.turn.position}"
        elif label.dialogue:
            found[label.pk] = reverse("labels:transcript", args=[label.dialogue.public_id])
    return found


@require_POST
@login_required
def limits(request: HttpRequest, pk: int) -> HttpResponse:
    """Store the limits of the flags, and recompute all flags."""
    study = study_with_workers(request, pk)
    form = LimitsForm(request.POST, instance=flagging.limits_of(study))
    if not form.is_valid():
        return _page(request, study, form)
    flagged = flagging.save_limits(form.save(commit=False))
    says = ngettext("Saved. %(n)d worker has flags now.", "Saved. %(n)d workers have flags now.", flagged) % {
        "n": flagged
    }
    messages.success(request, says if flagged else _("Saved. No worker has a flag now."))
    return redirect("quality:study", pk=pk)


def _check(each: Check) -> dict[str, Any]:
    question = question_set(each.question_set).question(each.question)
    return {"pk": each.pk, "wording": question.wording, "answer": question.caption_of(each.right)}


@require_POST
@login_required
def checks(request: HttpRequest, pk: int) -> HttpResponse:
    """Add or remove an attention check."""
    study = study_with_workers(request, pk)
    form = CheckForm(request.POST, study=study)
    if "remove" in request.POST:
        sent = request.POST["remove"]
        study.attention_checks.filter(pk=int(sent) if sent.isdecimal() and len(sent) < 10 else 0).delete()
    elif form.is_valid():
        form.save()
    else:
        messages.error(
            request, _("That is not a question of this study with its answer. No changes were made.")
        )
        return redirect("quality:study", pk=pk)
    flagging.update_flags(study)
    messages.success(request, _("Saved, and all workers were checked again."))
    return redirect("quality:study", pk=pk)


@require_GET
@login_required
def history(request: HttpRequest, pk: int, participation: int) -> HttpResponse:
    """Show one worker's work, flags and decisions in all studies that the user may see."""
    study = study_with_workers(request, pk, Permission.REVIEW)
    assert request.user.is_authenticated
    of_study = study.participations.select_related("entered_by", "study")
    here = get_object_or_404(of_study, pk=participation)
    studies = real_studies_of(request.user, Permission.REVIEW)
    parts = Participation.objects.filter(worker=here.worker_id, study__in=studies)
    decided = Decision.objects.filter(participation__in=parts.values("pk"))
    shown = parts.select_related("study", "assignment").prefetch_related("flags").order_by("-consented_at")
    context = {
        "study": study,
        "here": here,
        "parts": [_part(each) for each in shown],
        "decisions": decided.select_related("study", "undone_by"),
        "can_write": api_panel(here) is not None and may(request.user, Permission.CHANGE, study),
        "written": fill_template(chosen, here, reasons="") if (chosen := _selected_template(request)) else "",
        "templates": messages_of(request.user),
    }
    return render(request, "quality/history.html", context)


def _part(each: Participation) -> dict[str, Any]:
    assignment = getattr(each, "assignment", None)
    took = (
        (assignment.ended_at - assignment.assigned_at).total_seconds() / 60
        if assignment and assignment.ended_at
        else None
    )
    return {
        "study": each.study,
        "name": each.pseudonym,
        "at": each.consented_at,
        "outcome": assignment.get_outcome_display() if assignment and assignment.outcome else "",
        "minutes": took,
        "labels": Label.objects.filter(study=each.study, rater=each.worker_id, participation=None).count(),
        "flags": [describe_flag(flag.kind, flag.figures) for flag in each.flags.all()],
    }
