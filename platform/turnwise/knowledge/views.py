import json
from collections.abc import Mapping
from itertools import zip_longest
from random import Random
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import Max
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.limits import reads_a_file, too_many, too_often
from turnwise.contexts import upload_previews
from turnwise.knowledge import reading, services
from turnwise.knowledge.building import Built
from turnwise.knowledge.files import as_json
from turnwise.knowledge.forms import BaseForm, FileForm, LookForm, SharingForm
from turnwise.knowledge.models import BaseVersion, KnowledgeBase
from turnwise.knowledge.queries import (
    articles_about,
    bases_of,
    built_from,
    editable_bases,
    found_entities,
    topics,
    versions_of,
)
from turnwise.knowledge.reading_sets import Configuration, TooLittleKnownError, reading_sets

_KEPT = f"knowledge {reading.SHAPE}"
PER_PAGE = 60
SHOWN = 50  # findings and entities of a preview


@require_GET
@login_required
def bases(request: HttpRequest) -> HttpResponse:
    found = bases_of(request.user).annotate(newest=Max("versions__number"))
    shipped = KnowledgeBase.objects.filter(owner=None, name=services.OPEN_KNOWLEDGE)
    shown = {
        "bases": found.select_related("owner").prefetch_related("versions").order_by("title", "pk"),
        "may_load_shipped": not shipped.exists(),
    }
    return render(request, "knowledge/bases.html", shown)


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
    shown = {
        "base": base,
        "versions": base.versions.all(),
        "may_edit": may_edit,
        "form": (form or SharingForm(initial=now)) if may_edit else None,
    }
    return render(request, "knowledge/base.html", shown, status=422 if form else 200)


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


@login_required
def new(request: AuthenticatedHttpRequest) -> HttpResponse:
    """A new base with its first version: what it is, and the file, then the preview."""
    form = BaseForm(request.POST or None, instance=KnowledgeBase(owner=request.user))
    return _new(request, form, None)


@login_required
def import_version(request: HttpRequest, pk: int) -> HttpResponse:
    """A new version of a base: the file, then the preview."""
    return _new(request, None, get_object_or_404(editable_bases(request.user), pk=pk))


def _new(request: HttpRequest, form: BaseForm | None, base: KnowledgeBase | None) -> HttpResponse:
    file_form = FileForm(request.POST or None, request.FILES or None)
    if request.method == "POST":
        if too_often(request, "upload", rate="30/m", key="user"):
            return too_many(request)
        if file_form.is_valid() & (form is None or form.is_valid()):
            about = {"base": base.pk if base else None, "fields": form.cleaned_data if form else {}}
            return _read(request, file_form.cleaned_data["file"], about)
    shown = {"form": form, "file_form": file_form, "base": base}
    return render(request, "knowledge/new.html", shown, status=422 if request.method == "POST" else 200)


@reads_a_file
def _read(
    request: AuthenticatedHttpRequest, file: Mapping[str, str], about: Mapping[str, Any]
) -> HttpResponse:
    upload = {**about, "origin": file["origin"], "built": reading.parsed_apart(file["text"])}
    return redirect("knowledge:preview", token=upload_previews.keep(request.user.pk, upload, of=_KEPT))


@login_required
def preview(request: AuthenticatedHttpRequest, token: str) -> HttpResponse:
    """What a file would bring; by POST it is brought."""
    upload = upload_previews.kept(request.user.pk, token, of=_KEPT)
    if upload is None:
        return upload_previews.gone(request, token, "knowledge:bases")
    known = get_object_or_404(editable_bases(request.user), pk=upload["base"]) if upload["base"] else None
    base = known or KnowledgeBase(owner=request.user, **upload["fields"])
    built = reading.built_from(upload["built"])
    if request.method == "POST" and built.may_be_imported:
        return _import(request, token, base, built, upload["origin"])
    shown = {
        "base": base,
        "built": built,
        "problems": built.problems[:SHOWN],
        "notes": built.notes[:SHOWN],
        "rows": built.entities[:SHOWN],
        "origin": upload["origin"],
    }
    return render(request, "knowledge/preview.html", shown, status=200 if built.may_be_imported else 422)


def _import(
    request: AuthenticatedHttpRequest, token: str, base: KnowledgeBase, built: Built, origin: str
) -> HttpResponse:
    try:
        with transaction.atomic():
            saved = base if base.pk else services.save_base(base)
            version = services.import_version(saved, built, origin=origin)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return redirect("knowledge:bases")
    upload_previews.forget(request.user.pk, token)
    upload_previews.led_to(token, version.get_absolute_url())
    messages.success(request, _("Imported as version %(number)d.") % {"number": version.number})
    return redirect(version)


# --- looking around --------------------------------------------------------------------------------


def _version(request: HttpRequest, pk: int, number: int) -> BaseVersion:
    return get_object_or_404(versions_of(request.user), base=pk, number=number)


@require_GET
@login_required
def version(request: HttpRequest, pk: int, number: int) -> HttpResponse:
    found = _version(request, pk, number)
    topic, text = request.GET.get("topic", "")[:60], request.GET.get("text", "")[:100].strip()
    entities = found_entities(found, topic=topic, text=text)
    shown = {
        "version": found,
        "base": found.base,
        "topics": topics(found),
        "topic": topic,
        "text": text,
        "page": Paginator(entities, PER_PAGE).get_page(request.GET.get("page")),
        "articles": Paginator(found.articles.all(), PER_PAGE).get_page(request.GET.get("articles")),
        "names": dict(found.entities.values_list("number", "name")),
    }
    return render(request, "knowledge/version.html", shown)


@require_GET
@login_required
def entity(request: HttpRequest, pk: int, number: int, entity: int) -> HttpResponse:
    found = _version(request, pk, number)
    one = get_object_or_404(found.entities, number=entity)
    shown = {"version": found, "base": found.base, "entity": one, "articles": articles_about(one)}
    return render(request, "knowledge/entity.html", shown)


@require_GET
@login_required
def article(request: HttpRequest, pk: int, number: int, article: int) -> HttpResponse:
    """An article, with the reading sets that two people would get, by configuration and seed."""
    found = _version(request, pk, number)
    one = get_object_or_404(found.articles, number=article)
    configuration, seed = LookForm(request.GET).chosen()
    to_read = one.to_read()
    try:
        first, second = reading_sets(to_read, configuration, Random(seed))
        why_not = ""
    except TooLittleKnownError as error:
        first, second, why_not = [], [], str(error)
    names = {known.name: n for known, n in zip(to_read.entities, one.named, strict=True)}
    shown = {
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
    return render(request, "knowledge/article.html", shown)


@require_GET
@login_required
def export(request: HttpRequest, pk: int, number: int) -> HttpResponse:
    found = _version(request, pk, number)
    text = json.dumps(as_json(built_from(found)), ensure_ascii=False, indent=1) + "\n"
    disposition = {"Content-Disposition": f'attachment; filename="{found.base.name}-v{found.number}.json"'}
    return HttpResponse(text, content_type="application/json", headers=disposition)
