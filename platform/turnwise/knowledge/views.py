import json
from collections.abc import Mapping
from itertools import zip_longest
from random import Random
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Max
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_POST
from typing_extensions import override

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.contexts.versioned_pages import SHOWN, ImportPages
from turnwise.knowledge import files, services
from turnwise.knowledge.building import Built
from turnwise.knowledge.files import as_json
from turnwise.knowledge.forms import BaseForm, FileForm, LookForm, SharingForm
from turnwise.knowledge.models import BaseVersion, KnowledgeBase
from turnwise.knowledge.queries import (
    articles_about,
    bases_of,
    built_from,
    editable_bases,
    find_entities,
    topics,
    versions_of,
)
from turnwise.knowledge.reading_sets import Configuration, TooLittleKnownError, reading_sets

PER_PAGE = 60


@require_GET
@login_required
def bases(request: HttpRequest) -> HttpResponse:
    found = bases_of(request.user).annotate(newest=Max("versions__number"))
    shipped = KnowledgeBase.objects.filter(owner=None, name=services.OPEN_KNOWLEDGE)
    context = {
        "bases": found.select_related("owner").prefetch_related("versions").order_by("title", "pk"),
        "may_load_shipped": not shipped.exists(),
    }
    return render(request, "knowledge/bases.html", context)


@require_POST
@login_required
def load_shipped(request: HttpRequest) -> HttpResponse:
    return redirect(services.load_shipped())


@require_GET
@login_required
def show(request: HttpRequest, pk: int) -> HttpResponse:
    return _show(request, pk)


def _show(request: HttpRequest, pk: int, form: SharingForm | None = None) -> HttpResponse:
    base = get_object_or_404(bases_of(request.user).select_related("owner"), pk=pk)
    named = ", ".join(base.shared_with.order_by("username").values_list("username", flat=True))
    now = {"open_to_all": base.open_to_all, "shared_with": named}
    may_edit = editable_bases(request.user).filter(pk=pk).exists()
    context = {
        "base": base,
        "versions": base.versions.all(),
        "may_edit": may_edit,
        "form": (form or SharingForm(initial=now)) if may_edit else None,
    }
    return render(request, "knowledge/base.html", context, status=422 if form else 200)


@require_POST
@login_required
def share(request: HttpRequest, pk: int) -> HttpResponse:
    base = get_object_or_404(editable_bases(request.user), pk=pk)
    form = SharingForm(request.POST)
    if not form.is_valid():
        return _show(request, pk, form)
    services.share(base, named=form.cleaned_data["shared_with"], open_to_all=form.cleaned_data["open_to_all"])
    messages.success(request, _("Saved who can use “%(base)s”.") % {"base": base.title})
    return redirect(base)


class _Import(ImportPages[KnowledgeBase, BaseVersion, Built]):
    namespace = "knowledge"
    listing = "knowledge:bases"
    heading = gettext_lazy("Import a knowledge base")
    shape = files.SHAPE
    model = KnowledgeBase
    form = BaseForm
    file_form = FileForm

    @override
    def read(self, submitted: Mapping[str, Any]) -> dict[str, Any]:
        return files.parse_in_subprocess(submitted["file"]["text"])

    @override
    def content_of(self, values: dict[str, Any]) -> Built:
        return files.built_from_json(values)

    @override
    def details(self, versioned: KnowledgeBase, content: Built) -> dict[str, Any]:
        return {"rows": content.entities[:SHOWN]}

    @override
    def store(self, versioned: KnowledgeBase, content: Built, *, origin: str) -> BaseVersion:
        return services.import_version(versioned, content, origin=origin)

    @override
    def success(self, version: BaseVersion) -> str:
        return _("Imported as version %(number)d.") % {"number": version.number}

    @override
    def after_refusal(self, token: str) -> HttpResponse:
        return redirect(self.listing)


_import = _Import()


@login_required
def new(request: AuthenticatedHttpRequest) -> HttpResponse:
    return _import.new(request)


@login_required
def import_version(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    return _import.import_version(request, pk)


@login_required
def preview(request: AuthenticatedHttpRequest, token: str) -> HttpResponse:
    return _import.preview(request, token)


# --- pages of one version --------------------------------------------------------------------------


def _version(request: HttpRequest, pk: int, number: int) -> BaseVersion:
    return get_object_or_404(versions_of(request.user), base=pk, number=number)


@require_GET
@login_required
def version(request: HttpRequest, pk: int, number: int) -> HttpResponse:
    found = _version(request, pk, number)
    topic, text = request.GET.get("topic", "")[:60], request.GET.get("text", "")[:100].strip()
    entities = find_entities(found, topic=topic, text=text)
    context = {
        "version": found,
        "base": found.base,
        "topics": topics(found),
        "topic": topic,
        "text": text,
        "page": Paginator(entities, PER_PAGE).get_page(request.GET.get("page")),
        "articles": Paginator(found.articles.all(), PER_PAGE).get_page(request.GET.get("articles")),
        "names": dict(found.entities.values_list("number", "name")),
    }
    return render(request, "knowledge/version.html", context)


@require_GET
@login_required
def entity(request: HttpRequest, pk: int, number: int, entity: int) -> HttpResponse:
    found = _version(request, pk, number)
    one = get_object_or_404(found.entities, number=entity)
    context = {"version": found, "base": found.base, "entity": one, "articles": articles_about(one)}
    return render(request, "knowledge/entity.html", context)


@require_GET
@login_required
def article(request: HttpRequest, pk: int, number: int, article: int) -> HttpResponse:
    """Show an article, with the reading sets of two people by configuration and seed."""
    found = _version(request, pk, number)
    one = get_object_or_404(found.articles, number=article)
    configuration, seed = LookForm(request.GET).selection()
    to_read = one.to_read()
    try:
        first, second = reading_sets(to_read, configuration, Random(seed))
        why_not = ""
    except TooLittleKnownError as error:
        first, second, why_not = [], [], str(error)
    names = {known.name: n for known, n in zip(to_read.entities, one.named, strict=True)}
    context = {
        "version": found,
        "base": found.base,
        "article": one,
        "names": names,
        "sections": list(zip_longest(first, second)),
        "why_not": why_not,
        "configuration": configuration,
        "configurations": list(Configuration),
        "seed": seed,
    }
    return render(request, "knowledge/article.html", context)


@require_GET
@login_required
def export(request: HttpRequest, pk: int, number: int) -> HttpResponse:
    found = _version(request, pk, number)
    text = json.dumps(as_json(built_from(found)), ensure_ascii=False, indent=1) + "\n"
    disposition = {"Content-Disposition": f'attachment; filename="{found.base.name}-v{found.number}.json"'}
    return HttpResponse(text, content_type="application/json", headers=disposition)
