"""The researcher's pages of anchor packs: make, list, rename and delete them, mix one into a queue."""

from collections.abc import Generator
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db.models import Exists, OuterRef
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.crypto import get_random_string
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.limits import reads_a_file
from turnwise.judging.anchors import pack_changes, packs, study_anchors
from turnwise.judging.anchors.forms import AddPackForm, MakePackForm, PackFileForm
from turnwise.judging.anchors.pack_files import import_pack, pack_lines, pack_table
from turnwise.judging.batteries.battery_rules import battery_of
from turnwise.judging.models import Anchor, AnchorPack
from turnwise.judging.queue.queued_task import QueuedTask
from turnwise.judging.views import judging_study
from turnwise.labels.models import Label
from turnwise.live.downloads import attachment
from turnwise.questions.question_sets import question_set
from turnwise.studies.models import Study
from turnwise.studies.queries import readable_studies_of, studies_of
from turnwise.studies.sharing.permissions import Permission
from turnwise.studies.tasks import task_of
from turnwise.trash.views import offer_undo

PER_PAGE = 50
LARGEST_SEED = 2**31


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def anchors(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the anchors of a queue; by POST, mix a pack in."""
    study = judging_study(request, pk)
    assert request.user.is_authenticated
    form = AddPackForm(request.POST or None, study=study, user=request.user)
    if request.method == "POST" and form.is_valid():
        pack = form.cleaned_data["pack"]
        try:
            added = study_anchors.add_pack(study, pack)
        except ValidationError as error:
            form.add_error(None, error)
        else:
            messages.success(request, _describe_added(pack, added))
            return redirect("judging:anchors", pk=pk)
    task = task_of(study)
    context = {
        "study": study,
        "form": form,
        "packs": study_anchors.packs_in(study),
        "battery": battery_of(study),
        "has_anchors": isinstance(task, QueuedTask) and task.has_anchors and not study.rehearsal_of_id,
    }
    return render(
        request, "judging/anchors/study.html", context, status=200 if request.method != "POST" else 422
    )


def _describe_added(pack: AnchorPack, added: study_anchors.Added) -> str:
    says = ngettext(
        "%(n)s anchor of “%(pack)s” is in the queue. Raters are not told.",
        "%(n)s anchors of “%(pack)s” are in the queue. Raters are not told.",
        added.anchors,
    ) % {"n": f"{added.anchors:,}", "pack": pack}
    if not added.left_out:
        return says
    left_out = ngettext(
        "%(n)s was left out: it is in another language, or in the queue already.",
        "%(n)s were left out: they are in other languages, or in the queue already.",
        added.left_out,
    ) % {"n": f"{added.left_out:,}"}
    return f"{says} {left_out}"


@require_POST
@login_required
def remove_anchors(request: HttpRequest, pk: int) -> HttpResponse:
    """Take the anchors of a pack out of the queue."""
    study = judging_study(request, pk)
    sent = request.POST.get("pack", "")
    pack = AnchorPack.objects.filter(pk=int(sent) if sent.isdecimal() and len(sent) < 19 else 0).first()
    if pack is None:
        messages.error(request, _("There is no such anchor pack. Take out one that this page lists."))
        return redirect("judging:anchors", pk=pk)
    try:
        number = study_anchors.remove_pack(study, pack)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        says = ngettext(
            "%(n)s anchor is out of the queue. Choose the pack again to put it back.",
            "%(n)s anchors are out of the queue. Choose the pack again to put them back.",
            number,
        )
        messages.success(request, says % {"n": f"{number:,}"})
    return redirect("judging:anchors", pk=pk)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def make_pack(request: HttpRequest, pk: int) -> HttpResponse:
    """Make an anchor pack from the judgments of a study that one may read."""
    study = get_object_or_404(studies_of(request.user, Permission.READ).filter(rehearsal_of=None), pk=pk)
    assert request.user.is_authenticated
    form = MakePackForm(request.POST or None, study=study)
    if request.method == "POST" and form.is_valid():
        try:
            pack = packs.make_pack(
                study, form.choice(), owner=request.user, seed=random_seed(), now=timezone.now()
            )
        except ValidationError as error:
            form.add_error(None, error)
        else:
            messages.success(
                request, _("“%(pack)s” is made. Its anchors and values never change.") % {"pack": pack}
            )
            return redirect("judging:pack", pack=pack.pk)
    context = {
        "study": study,
        "form": form,
        "is_closed": study.state not in (Study.State.OPEN, Study.State.PAUSED),
    }
    return render(
        request, "judging/anchors/make.html", context, status=200 if request.method != "POST" else 422
    )


def random_seed() -> int:
    """A seed for the choice of anchors."""
    return int(get_random_string(9, "0123456789"))


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@reads_a_file
def pack_list(request: HttpRequest) -> HttpResponse:
    """List the packs that one may use, and closed studies; by POST, import a pack from a file."""
    assert request.user.is_authenticated
    form = PackFileForm(request.POST, request.FILES) if request.method == "POST" else PackFileForm()
    if request.method == "POST" and form.is_valid():
        try:
            pack = import_pack(form.cleaned_data["file"], owner=request.user, now=timezone.now())
        except ValidationError as error:
            form.add_error("file", error)
        else:
            messages.success(request, _("“%(pack)s” is imported.") % {"pack": pack})
            return redirect("judging:pack", pack=pack.pk)
    shown = Paginator(packs.packs_of(request.user), PER_PAGE).get_page(request.GET.get("page"))
    # Drafts have judgments if these came with an imported file.
    under_way = (Study.State.OPEN, Study.State.PAUSED)
    finished = readable_studies_of(request.user).filter(rehearsal_of=None).exclude(state__in=under_way)
    labels = Label.objects.filter(study=OuterRef("pk"), pair=None, participation=None)
    judged = finished.filter(Exists(labels)).order_by("-pk")
    context = {
        "packs": [(each, question_set(each.question_set).title) for each in shown],
        "page": shown,
        "finished": judged[:PER_PAGE],
        "form": form,
    }
    status = 200 if request.method != "POST" else 422
    return render(request, "judging/anchors/packs.html", context, status=status)


@require_GET
@login_required
def pack_page(request: HttpRequest, pack: int) -> HttpResponse:
    """Show a pack with its anchors and the studies that use it."""
    found = get_object_or_404(packs.packs_of(request.user), pk=pack)
    questions = question_set(found.question_set)
    shown = Paginator(found.anchors.all(), PER_PAGE).get_page(request.GET.get("page"))
    is_own = pack_changes.own_packs(request.user).filter(pk=found.pk).exists()
    context = {
        "pack": found,
        "questions": questions,
        "scores": questions.scores,
        "anchors": _rows(list(shown), questions.scores),
        "page": shown,
        "studies": readable_studies_of(request.user)
        .filter(pk__in=pack_changes.studies_using(found).values("pk"))
        .order_by("-pk"),
        "is_own": is_own,
        "why_kept": pack_changes.why_kept(found, request.user) if is_own else "",
    }
    return render(request, "judging/anchors/pack.html", context)


def _rows(anchors: list[Anchor], scores: Any) -> list[dict[str, Any]]:
    return [
        {
            "anchor": anchor,
            "before": before,
            "text": text,
            "known": [
                {
                    "title": score.title,
                    "value": score.factor * anchor.known[score.key]["value"],
                    "error": score.factor * anchor.known[score.key]["error"],
                    "raters": anchor.known[score.key]["raters"],
                }
                if score.key in anchor.known
                else {"title": score.title}
                for score in scores
            ],
        }
        for anchor, (before, text) in zip(anchors, packs.texts_of(anchors), strict=True)
    ]


@require_GET
@login_required
def pack_file(request: HttpRequest, pack: int) -> StreamingHttpResponse:
    """Download a pack as JSON Lines, which another installation can import."""
    return pack_attachment(request, get_object_or_404(packs.packs_of(request.user), pk=pack))


def pack_attachment(request: HttpRequest, pack: AnchorPack) -> StreamingHttpResponse:
    """A pack as a download of JSON Lines."""

    def lines() -> Generator[str]:
        yield from pack_lines(pack)

    name = f"turnwise-anchors-{pack.pk}.jsonl"
    return attachment(request, lines(), "application/jsonl; charset=utf-8", name)


@require_GET
@login_required
def pack_csv(request: HttpRequest, pack: int) -> StreamingHttpResponse:
    """Download the anchors of a pack with their values as a table."""
    return table_attachment(request, get_object_or_404(packs.packs_of(request.user), pk=pack))


def table_attachment(request: HttpRequest, pack: AnchorPack) -> StreamingHttpResponse:
    """A pack as a download of CSV."""

    def lines() -> Generator[str]:
        yield pack_table(pack)

    return attachment(request, lines(), "text/csv; charset=utf-8", f"turnwise-anchors-{pack.pk}.csv")


@require_POST
@login_required
def rename(request: HttpRequest, pack: int) -> HttpResponse:
    found = get_object_or_404(pack_changes.own_packs(request.user), pk=pack)
    try:
        pack_changes.rename_pack(found, request.POST.get("title", ""))
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        found.refresh_from_db()
        messages.success(request, _("All its versions are called “%(title)s”.") % {"title": found.title})
    return redirect("judging:pack", pack=pack)


@require_POST
@login_required
def delete(request: AuthenticatedHttpRequest, pack: int) -> HttpResponse:
    found = get_object_or_404(pack_changes.own_packs(request.user), pk=pack)
    try:
        deletion = pack_changes.delete_pack(found.pk, by=request.user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return redirect("judging:pack", pack=pack)
    if deletion:
        offer_undo(request, _("“%(pack)s” is deleted.") % {"pack": found}, deletion)
    return redirect("judging:packs")
