"""Pages of languages: the list, the table of a language's texts, its settings, files of its texts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.core.paginator import Page, Paginator
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from turnwise.accounts.access import AuthenticatedHttpRequest, visible_to
from turnwise.accounts.limits import reads_a_file, too_many, too_often
from turnwise.languages import files, queries, services
from turnwise.languages.catalog_files import FileFault, FileFaultsError
from turnwise.languages.forms import FilterForm, NewLanguageForm, SettingsForm
from turnwise.languages.models import Language
from turnwise.languages.queries import TextRow

PER_PAGE = 25
MOST_SHOWN = 50
RATE = "300/h"
_FILTERS = ("find", "only", "area", "page")
_FILES = {
    "csv": (files.csv_file, "text/csv; charset=utf-8"),
    "po": (files.catalog_text, "text/x-gettext-translation; charset=utf-8"),
}


@dataclass(frozen=True, slots=True)
class EditedRow:
    """A row of the table with the values that its fields show.

    Attributes:
        row: the text with its translations.
        fields: for each plural form the name of its field, its label, and its value.
        faults: what is wrong with the values.
        longest: most characters of a value.
        lines: height of a field in lines.
    """

    row: TextRow
    fields: Sequence[tuple[str, str, str]]
    faults: Sequence[str] = field(default=())
    longest: int = 0
    lines: int = 1


@never_cache
@login_required
@require_http_methods(["GET", "POST"])
def languages(request: AuthenticatedHttpRequest) -> HttpResponse:
    """List the languages with the share that is translated; a POST adds one."""
    form = NewLanguageForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        if too_often(request, "languages", rate=RATE, key="user"):
            return too_many(request)
        try:
            return redirect(services.add_language(request.user, **form.cleaned_data))
        except ValidationError as error:
            form.add_error(None, error)
    context = {"form": form, "all_progress": queries.all_progress()}
    return render(request, "languages/languages.html", context, status=422 if form.errors else 200)


@never_cache
@login_required
@require_http_methods(["GET", "POST"])
def language(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    """Table of a language's texts, a page at a time; a POST saves the page."""
    if request.method == "GET":
        return _table(request, get_object_or_404(Language, pk=pk), request.GET)
    found = get_object_or_404(queries.editable_languages(request.user), pk=pk)
    if too_often(request, "languages", rate=RATE, key="user"):
        return too_many(request)
    query = QueryDict(request.POST.get("query", "")[:1000])
    try:
        changed = services.save_translations(found, request.user, _sent(request.POST), seen=_seen(request))
    except services.RefusedTranslationsError as refused:
        return _table(request, found, query, sent=_sent(request.POST), faults=refused.faults)
    _tell(request, changed)
    filters = {name: query[name] for name in _FILTERS if name in query}
    return redirect(f"{found.get_absolute_url()}?{urlencode(filters)}")


def _seen(request: HttpRequest) -> int:
    """The newest revision when the page was opened; 0 if the form does not say it."""
    seen = request.POST.get("seen", "")
    return int(seen) if seen.isascii() and seen.isdecimal() and len(seen) < 19 else 0


def _sent(form: QueryDict) -> dict[str, list[str]]:
    """Forms by key of the text; fields are called `text-KEY-NUMBER`."""
    found: dict[str, dict[int, str]] = {}
    for name in form:
        kind, _dash, rest = name.partition("-")
        key, _dash, number = rest.partition("-")
        if kind == "text" and number.isascii() and number.isdecimal() and len(number) < 3:
            found.setdefault(key, {})[int(number)] = str(form[name])
    return {key: [forms[n] for n in sorted(forms)] for key, forms in found.items()}


def _tell(request: HttpRequest, changed: int) -> None:
    if not changed:
        messages.info(request, _("Nothing was changed."))
        return
    says = ngettext(
        "%(n)d text is saved. Workers read it within seconds.",
        "%(n)d texts are saved. Workers read them within seconds.",
        changed,
    )
    messages.success(request, says % {"n": changed})


def _table(
    request: AuthenticatedHttpRequest,
    found: Language,
    query: QueryDict,
    *,
    sent: Mapping[str, Sequence[str]] | None = None,
    faults: Mapping[str, Sequence[str]] | None = None,
    file_faults: Sequence[FileFault] = (),
) -> HttpResponse:
    form = FilterForm(query)
    filters = form.cleaned_data if form.is_valid() else {}
    rows = queries.rows_of(found)
    narrowed = [row for row in rows if row.text.key in sent] if sent else queries.filtered(rows, **filters)
    page: Page[Any] = Paginator(narrowed, PER_PAGE).get_page(1 if sent else query.get("page"))
    missing = sum(row.is_missing for row in rows)
    context = {
        "language": found,
        "form": form,
        "page": page,
        "rows": [_edited(found, row, sent or {}, faults or {}) for row in page],
        "progress": queries.Progress(found, len(rows) - missing, len(rows)),
        "may_edit": queries.may_edit(request.user, found),
        "may_administer": queries.may_administer(request.user, found),
        "seen": _seen(request) if sent else found.revisions.values_list("pk", flat=True).first(),
        "query": query.urlencode(),
        "is_narrowed": any(filters.values()),
        "is_refused": bool(faults),
        "file_faults": file_faults[:MOST_SHOWN],
        "more_faults": max(0, len(file_faults) - MOST_SHOWN),
        "megabytes": files.MOST_BYTES // 1_000_000,
    }
    return render(request, "languages/language.html", context, status=422 if faults or file_faults else 200)


def _edited(
    found: Language, row: TextRow, sent: Mapping[str, Sequence[str]], faults: Mapping[str, Sequence[str]]
) -> EditedRow:
    text = row.text
    labels = queries.form_labels(found, text)
    values = [*sent.get(text.key, row.forms), *[""] * len(labels)][: len(labels)]
    fields = [(f"text-{text.key}-{n}", label, values[n]) for n, label in enumerate(labels)]
    lines = min(8, 1 + max(len(text.english), len(text.plural)) // 60)
    return EditedRow(row, fields, faults.get(text.key, ()), text.most, lines)


@never_cache
@login_required
@require_http_methods(["GET", "POST"])
def settings_page(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    """Names, direction, use and translators of a language, with its last changes."""
    found = get_object_or_404(visible_to(request.user, Language.objects.all(), owner="created_by"), pk=pk)
    # Otherwise callers could guess the names of accounts.
    if request.method == "POST" and too_often(request, "share", rate="60/h", key="user"):
        return too_many(request)
    form = SettingsForm(request.POST if request.method == "POST" else None, instance=found)
    if request.method == "POST" and form.is_valid():
        values = dict(form.cleaned_data)
        editors = values.pop("editors")
        services.change_language(found, request.user, editors, **values)
        messages.success(request, _("Saved."))
        return redirect(found)
    revisions = found.revisions.select_related("author")[:MOST_SHOWN]
    context = {
        "language": Language.objects.get(pk=pk),
        "form": form,
        "revisions": revisions,
        "most": MOST_SHOWN,
    }
    return render(request, "languages/settings.html", context, status=422 if form.errors else 200)


@require_GET
@login_required
def download(request: HttpRequest, pk: int, ending: str) -> HttpResponse:
    """All texts of a language with their translations, as a file."""
    found = get_object_or_404(Language, pk=pk)
    if ending not in _FILES:
        raise Http404("Texts are written as .csv or .po.")
    write, content_type = _FILES[ending]
    response = HttpResponse(write(found), content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="turnwise-{found.code}.{ending}"'
    return response


@never_cache
@require_POST
@login_required
@reads_a_file
def upload(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    """Save the translations of a file, all of them or none."""
    found = get_object_or_404(queries.editable_languages(request.user), pk=pk)
    sent = request.FILES.get("file")
    if sent is None:
        messages.error(request, _("Choose a file first."))
        return redirect(found)
    try:
        if (sent.size or 0) > files.MOST_BYTES:
            raise FileFaultsError([files.too_large()])
        changed = files.upload(found, request.user, sent.name or "", sent.read())
    except FileFaultsError as error:
        return _table(request, found, QueryDict(), file_faults=error.faults)
    _tell(request, changed)
    return redirect(found)
