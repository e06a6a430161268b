from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db.models import Count, Max
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_POST
from typing_extensions import override

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.limits import limit_file_reading
from turnwise.contexts import files, reading, services
from turnwise.contexts.files import Parsed
from turnwise.contexts.forms import ContextSetForm, FileForm, FilterForm, SubsetForm
from turnwise.contexts.models import Context, ContextSet, ContextSetVersion
from turnwise.contexts.queries import changes, choices, editable_sets, filtered, sets_of, versions_of
from turnwise.contexts.versioned_pages import SHOWN, ImportPages

PER_PAGE = 100
_FORMATS = {
    "jsonl": (files.jsonl_lines, "application/jsonl"),
    "csv": (files.csv_lines, "text/csv; charset=utf-8"),
    "txt": (files.text_lines, "text/plain; charset=utf-8"),
}


@require_GET
@login_required
def sets(request: HttpRequest) -> HttpResponse:
    rows = sets_of(request.user).annotate(newest=Max("versions__number"), of=Count("versions"))
    open_mtb = ContextSet.objects.filter(owner=None, name=services.OPEN_MTB)
    context = {
        "sets": rows.select_related("owner").order_by("title", "pk"),
        "may_load_open_mtb": not open_mtb.exists(),
    }
    return render(request, "contexts/sets.html", context)


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


class _Import(ImportPages[ContextSet, ContextSetVersion, Parsed]):
    namespace = "contexts"
    listing = "contexts:sets"
    heading = gettext_lazy("Import a context set")
    shape = reading.SHAPE
    model = ContextSet
    form = ContextSetForm
    file_form = FileForm

    @override
    def read(self, submitted: Mapping[str, Any]) -> dict[str, Any]:
        file = submitted["file"]
        return reading.parse_in_subprocess(file["text"], file["ending"], language=submitted["language"])

    @override
    def content_of(self, values: dict[str, Any]) -> Parsed:
        return reading.parsed_from_json(values)

    @override
    def details(self, versioned: ContextSet, content: Parsed) -> dict[str, Any]:
        return {
            "rows": content.rows[:SHOWN],
            "counts": files.counts(content.rows),
            "changes": changes(versioned, content.rows),
        }

    @override
    def store(self, versioned: ContextSet, content: Parsed, *, origin: str) -> ContextSetVersion:
        return services.import_version(versioned, content.rows, origin=origin)

    @override
    def success(self, version: ContextSetVersion) -> str:
        return _("%(size)s contexts are imported as version %(number)s.") % {
            "size": f"{version.size:,}",
            "number": version.number,
        }


_import = _Import()


@login_required
def new(request: AuthenticatedHttpRequest) -> HttpResponse:
    return _import.new(request)


@login_required
def import_version(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    return _import.import_version(request, pk)


@login_required
@limit_file_reading(lambda request: request.path)
def preview(request: AuthenticatedHttpRequest, token: str) -> HttpResponse:
    return _import.preview(request, token)


def _version(request: HttpRequest, pk: int, number: int) -> ContextSetVersion:
    return get_object_or_404(versions_of(request.user), context_set=pk, number=number)


@require_GET
@login_required
def version(request: HttpRequest, pk: int, number: int) -> HttpResponse:
    return _version_page(request, _version(request, pk, number), SubsetForm())


@require_POST
@login_required
def subset(request: AuthenticatedHttpRequest, pk: int, number: int) -> HttpResponse:
    """Create a set of some contexts of a version; the address has the filters of the table."""
    version_row = _version(request, pk, number)
    form = SubsetForm(request.POST)
    if form.is_valid():
        filters = FilterForm(choices(version_row), request.GET).filters()
        try:
            created = services.draw_subset(version_row, filters, owner=request.user, **form.cleaned_data)
        except ValidationError as error:
            form.add_error(None, error)
        else:
            messages.success(
                request, _("This is the new set. Have bots respond to it, or people write for it.")
            )
            return redirect(created)
    return _version_page(request, version_row, form)


def _version_page(request: HttpRequest, row: ContextSetVersion, of_subset: SubsetForm) -> HttpResponse:
    form = FilterForm(choices(row), request.GET)
    filters = form.filters()
    page = Paginator(filtered(row.contexts.all(), filters), PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "version": row,
        "set": row.context_set,
        "form": form,
        "page": page,
        "is_narrowed": any(asdict(filters).values()),
        "subset_form": of_subset,
    }
    return render(request, "contexts/version.html", context, status=422 if of_subset.errors else 200)


@require_GET
@login_required
def export(request: HttpRequest, pk: int, number: int, ending: str) -> HttpResponse:
    row = _version(request, pk, number)
    lines, content_type = _FORMATS[ending]
    contexts: Sequence[Context] = list(row.contexts.all())
    written: Iterable[str] = lines(contexts)
    name = f"{row.context_set.name}-v{row.number}.{ending}"
    disposition = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse("".join(written), content_type=content_type, headers=disposition)
