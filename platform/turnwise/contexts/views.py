from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import Count, Max
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.limits import reading_goes_on_at, reads_a_file, too_many, too_often
from turnwise.contexts import files, reading, services, upload_previews
from turnwise.contexts.files import Parsed
from turnwise.contexts.forms import ContextSetForm, FileForm, FilterForm, SubsetForm
from turnwise.contexts.models import Context, ContextSet, ContextSetVersion
from turnwise.contexts.queries import changes, choices, editable_sets, filtered, sets_of, versions_of

PER_PAGE = 100
SHOWN = 50  # findings and contexts of a preview

_KEPT = f"contexts {reading.SHAPE}"
_FORMATS = {
    "jsonl": (files.jsonl_lines, "application/jsonl"),
    "csv": (files.csv_lines, "text/csv; charset=utf-8"),
    "txt": (files.text_lines, "text/plain; charset=utf-8"),
}


@require_GET
@login_required
def sets(request: HttpRequest) -> HttpResponse:
    found = sets_of(request.user).annotate(newest=Max("versions__number"), of=Count("versions"))
    open_mtb = ContextSet.objects.filter(owner=None, name=services.OPEN_MTB)
    shown = {
        "sets": found.select_related("owner").order_by("title", "pk"),
        "may_load_open_mtb": not open_mtb.exists(),
    }
    return render(request, "contexts/sets.html", shown)


@require_POST
@login_required
def load_open_mtb(request: HttpRequest) -> HttpResponse:
    return redirect(services.load_open_mtb())


@require_GET
@login_required
def show(request: HttpRequest, pk: int) -> HttpResponse:
    context_set = get_object_or_404(sets_of(request.user), pk=pk)
    context = {
        "set": context_set,
        "versions": context_set.versions.all(),
        "may_edit": editable_sets(request.user).filter(pk=pk).exists(),
    }
    return render(request, "contexts/set.html", context)


@login_required
def new(request: AuthenticatedHttpRequest) -> HttpResponse:
    """A new set with its first version: what it is, and the file, then the preview."""
    form = ContextSetForm(request.POST or None, instance=ContextSet(owner=request.user))
    file_form = FileForm(request.POST or None, request.FILES or None)
    if request.method == "POST":
        return _take_upload(request, form, file_form, None)
    return render(request, "contexts/new.html", {"form": form, "file_form": file_form})


@login_required
def import_version(request: HttpRequest, pk: int) -> HttpResponse:
    """A new version of a set: the file, then the preview."""
    context_set = get_object_or_404(editable_sets(request.user), pk=pk)
    file_form = FileForm(request.POST or None, request.FILES or None)
    if request.method == "POST":
        return _take_upload(request, None, file_form, context_set)
    return render(request, "contexts/new.html", {"file_form": file_form, "set": context_set})


def _take_upload(
    request: HttpRequest, form: ContextSetForm | None, file_form: FileForm, context_set: ContextSet | None
) -> HttpResponse:
    if too_often(request, "upload", rate="30/m", key="user"):
        return too_many(request)
    if file_form.is_valid() & (form is None or form.is_valid()):
        about = {
            "set": context_set.pk if context_set else None,
            "fields": form.cleaned_data if form else {},
        }
        return _read(request, file_form.cleaned_data, about)
    shown = {"form": form, "file_form": file_form, "set": context_set}
    return render(request, "contexts/new.html", shown, status=422)


@reads_a_file
def _read(
    request: AuthenticatedHttpRequest, given: Mapping[str, Any], about: Mapping[str, Any]
) -> HttpResponse:
    file = given["file"]
    parsed = reading.parsed_apart(file["text"], file["ending"], language=given["language"])
    upload = {**about, "origin": file["origin"], "parsed": parsed}
    return redirect("contexts:preview", token=upload_previews.keep(request.user.pk, upload, of=_KEPT))


@login_required
@reading_goes_on_at(lambda request: request.path)
def preview(request: AuthenticatedHttpRequest, token: str) -> HttpResponse:
    """What a file would bring; by POST it is brought."""
    upload = upload_previews.kept(request.user.pk, token, of=_KEPT)
    if upload is None:
        return upload_previews.gone(request, token, "contexts:sets")
    known = get_object_or_404(editable_sets(request.user), pk=upload["set"]) if upload["set"] else None
    context_set = known or ContextSet(owner=request.user, **upload["fields"])
    parsed = reading.parsed_from(upload["parsed"])
    if request.method == "POST" and parsed.may_be_imported:
        return _import(request, token, context_set, parsed, upload["origin"])
    return _show_preview(request, context_set, parsed, upload["origin"])


def _show_preview(request: HttpRequest, context_set: ContextSet, parsed: Parsed, origin: str) -> HttpResponse:
    context = {
        "set": context_set,
        "parsed": parsed,
        "problems": parsed.problems[:SHOWN],
        "notes": parsed.notes[:SHOWN],
        "rows": parsed.rows[:SHOWN],
        "counts": files.counts(parsed.rows),
        "origin": origin,
        "changes": changes(context_set, parsed.rows),
    }
    return render(request, "contexts/preview.html", context, status=200 if parsed.may_be_imported else 422)


def _import(
    request: AuthenticatedHttpRequest, token: str, context_set: ContextSet, parsed: Parsed, origin: str
) -> HttpResponse:
    try:
        with transaction.atomic():
            saved = context_set if context_set.pk else services.save_set(context_set)
            version = services.import_version(saved, parsed.rows, origin=origin)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return redirect("contexts:preview", token=token)
    upload_previews.forget(request.user.pk, token)
    upload_previews.led_to(token, version.get_absolute_url())
    messages.success(
        request,
        _("%(size)s contexts are imported as version %(number)s.")
        % {"size": f"{version.size:,}", "number": version.number},
    )
    return redirect(version)


def _version(request: HttpRequest, pk: int, number: int) -> ContextSetVersion:
    return get_object_or_404(versions_of(request.user), context_set=pk, number=number)


@require_GET
@login_required
def version(request: HttpRequest, pk: int, number: int) -> HttpResponse:
    return _version_page(request, _version(request, pk, number), SubsetForm())


@require_POST
@login_required
def subset(request: AuthenticatedHttpRequest, pk: int, number: int) -> HttpResponse:
    """Make a set of some contexts of a version; its address has the filters, as that of the table."""
    found = _version(request, pk, number)
    form = SubsetForm(request.POST)
    if form.is_valid():
        filters = FilterForm(choices(found), request.GET).filters()
        try:
            made = services.draw_subset(found, filters, owner=request.user, **form.cleaned_data)
        except ValidationError as error:
            form.add_error(None, error)
        else:
            messages.success(
                request, _("This is the new set. Have bots respond to it, or people write for it.")
            )
            return redirect(made)
    return _version_page(request, found, form)


def _version_page(request: HttpRequest, found: ContextSetVersion, of_subset: SubsetForm) -> HttpResponse:
    form = FilterForm(choices(found), request.GET)
    filters = form.filters()
    page = Paginator(filtered(found.contexts.all(), filters), PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "version": found,
        "set": found.context_set,
        "form": form,
        "page": page,
        "is_narrowed": any(asdict(filters).values()),
        "subset_form": of_subset,
    }
    return render(request, "contexts/version.html", context, status=422 if of_subset.errors else 200)


@require_GET
@login_required
def export(request: HttpRequest, pk: int, number: int, ending: str) -> HttpResponse:
    found = _version(request, pk, number)
    lines, content_type = _FORMATS[ending]
    contexts: Sequence[Context] = list(found.contexts.all())
    written: Iterable[str] = lines(contexts)
    name = f"{found.context_set.name}-v{found.number}.{ending}"
    disposition = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse("".join(written), content_type=content_type, headers=disposition)
