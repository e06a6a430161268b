import json
from typing import Any

from csp.constants import SELF
from csp.decorators import csp_replace
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_GET, require_POST

from evaluation.questions import QUESTION_SETS, DeclarationError, QuestionSet
from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.models import User
from turnwise.questions import drafts, forms, services
from turnwise.questions.declaring import can_be_edited, declaration_of, draft_of, write_out_scores
from turnwise.questions.drafts import ChoiceDraft, Draft, QuestionDraft, UnreadableDraftError
from turnwise.questions.editor import Editor
from turnwise.questions.forms import ImportForm, list_subjects
from turnwise.questions.models import OwnSet, SetVersion
from turnwise.questions.queries import editable_sets, newest_of, readable, sets_of
from turnwise.questions.question_sets import question_set


@require_GET
@login_required
def sets(request: HttpRequest) -> HttpResponse:
    archived = request.GET.get("show") == "archived"
    mine = sets_of(request.user)
    found = newest_of(mine.filter(archived_at__isnull=not archived))
    context = {
        "own": [(each, question_set(each.key)) for each in found],
        "shipped": QUESTION_SETS.values(),
        "is_archived": archived,
        "archived": mine.exclude(archived_at=None).count(),
    }
    return render(request, "questions/sets.html", context)


@require_GET
@login_required
def researcher_set(request: HttpRequest, name: str) -> HttpResponse:
    found = get_object_or_404(sets_of(request.user), name=name)
    newest = found.versions.first()
    assert newest
    context = {
        "set": found,
        "versions": found.versions.select_related("made_by"),
        "may_edit": editable_sets(request.user).filter(pk=found.pk).exists(),
        **_set_context(newest.key),
    }
    return render(request, "questions/set.html", context)


@require_GET
@login_required
def questions(request: HttpRequest, key: str) -> HttpResponse:
    """Show one version of a set, or a set that comes with Turnwise."""
    _refuse_unreadable(request, key)
    version = SetVersion.objects.filter(key=key).select_related("own_set", "made_by").first()
    is_listed = version is not None and sets_of(request.user).filter(pk=version.own_set_id).exists()
    context = {"version": version, "is_listed": is_listed, **_set_context(key)}
    return render(request, "questions/questions.html", context)


def _refuse_unreadable(request: HttpRequest, key: str) -> None:
    if not readable(request.user, key):
        raise Http404


def _set_context(key: str) -> dict[str, Any]:
    found = question_set(key)
    return {
        "asked": found,
        "about": list_subjects(found.subjects),
        "subjects": forms.subjects_of(found.subjects),
        "languages": sorted(found.translations),
    }


@require_GET
@login_required
def export(request: HttpRequest, key: str) -> HttpResponse:
    _refuse_unreadable(request, key)
    text = json.dumps(question_set(key).to_json(), ensure_ascii=False, indent=1) + "\n"
    name = f'attachment; filename="{key}.json"'
    return HttpResponse(text, content_type="application/json", headers={"Content-Disposition": name})


@require_POST
@login_required
def share(request: HttpRequest, name: str) -> HttpResponse:
    found = get_object_or_404(editable_sets(request.user), name=name)
    services.set_shared(found.pk, request.POST.get("shared") == "yes")
    return redirect(found)


@require_POST
@login_required
def archive(request: HttpRequest, name: str) -> HttpResponse:
    found = get_object_or_404(editable_sets(request.user), name=name)
    services.set_archived(found.pk, request.POST.get("archived") == "yes")
    return redirect(found)


# --- the editor ------------------------------------------------------------------------------------


@login_required
def new(request: AuthenticatedHttpRequest) -> HttpResponse:
    """A new set: empty, or a copy of another."""
    if request.method == "POST":
        return _take(request, None)
    copied = request.GET.get("from", "")
    if not copied:
        return _editor(request, Editor(_empty(), is_new=True), None)
    _refuse_unreadable(request, copied)
    found = question_set(copied)
    draft = draft_of(found).model_copy(update={"key": "", "title": f"{found.title} (copy)"})
    return _editor(request, Editor(draft, is_new=True), None, of=found)


def _empty() -> Draft:
    yes_or_no = [ChoiceDraft(label="Yes"), ChoiceDraft(label="No")]
    return Draft(subjects=["turn"], questions=[QuestionDraft(stored="yes_no", choices=yes_or_no)])


@login_required
def edit(request: AuthenticatedHttpRequest, name: str) -> HttpResponse:
    """The newest version as a draft; saved, it is the next one."""
    found = get_object_or_404(editable_sets(request.user), name=name)
    if request.method == "POST":
        return _take(request, found)
    newest = found.versions.first()
    assert newest
    asked = question_set(newest.key)
    draft = draft_of(asked).model_copy(update={"key": found.name})
    return _editor(request, Editor(draft, is_new=False), found, of=asked, seen=newest.number)


def _take(request: AuthenticatedHttpRequest, found: OwnSet | None) -> HttpResponse:
    try:
        draft = drafts.parse_draft(request.POST)
    except UnreadableDraftError:
        return HttpResponseBadRequest("These are not the fields of this page. Reload the page.")
    if found:
        draft.key = found.name
    seen = _number(request.POST.get("seen", ""))
    step = request.POST.get("do", "save")
    try:
        if step != "save":
            path = write_out_scores(draft) if step == "scores" else drafts.apply_step(draft, step)
            editor = Editor(draft, is_new=found is None, step=(step.partition(":")[0], path))
            return _editor(request, editor, found, seen=seen)
        version = _saved(draft, found, by=request.user, seen=seen)
    except DeclarationError as error:
        editor = Editor(draft, is_new=found is None, error=error)
        return _editor(request, editor, found, seen=seen, status=422)
    messages.success(
        request, _("“%(title)s” is saved as %(key)s.") % {"title": version.title, "key": version.key}
    )
    return redirect(version.own_set)


def _saved(draft: Draft, found: OwnSet | None, *, by: User, seen: int | None) -> SetVersion:
    if found is None:
        return services.create_set(declaration_of(draft), owner=by)
    return services.add_version(found.pk, declaration_of(draft), by=by, seen=seen)


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) < 9 else None


def _editor(
    request: HttpRequest,
    editor: Editor,
    found: OwnSet | None,
    *,
    of: QuestionSet | None = None,
    seen: int | None = None,
    status: int = 200,
) -> HttpResponse:
    context = {
        "editor": editor,
        "set": found,
        "seen": seen,
        "subjects": forms.subjects_of(editor.draft.subjects),
        "is_partial": of is not None and not can_be_edited(of),
    }
    return render(request, "questions/editor.html", context, status=status)


# --- JSON -------------------------------------------------------------------------------------------


@login_required
def import_set(request: AuthenticatedHttpRequest) -> HttpResponse:
    return _import(request, None)


@login_required
def import_version(request: AuthenticatedHttpRequest, name: str) -> HttpResponse:
    return _import(request, get_object_or_404(editable_sets(request.user), name=name))


def _import(request: AuthenticatedHttpRequest, found: OwnSet | None) -> HttpResponse:
    form = ImportForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        try:
            version = _imported(form.cleaned_data["declaration"], found, by=request.user)
            messages.success(
                request, _("“%(title)s” is saved as %(key)s.") % {"title": version.title, "key": version.key}
            )
            return redirect(version.own_set)
        except DeclarationError as error:
            form.add_error("file" if form.cleaned_data.get("file") else "text", str(error))
    status = 200 if request.method == "GET" else 422
    return render(request, "questions/import.html", {"form": form, "set": found}, status=status)


def _imported(declaration: object, found: OwnSet | None, *, by: User) -> SetVersion:
    if found is None:
        return services.create_set(declaration, owner=by)
    return services.add_version(found.pk, declaration, by=by)


# --- as workers see it --------------------------------------------------------------------------------


@csp_replace({"frame-ancestors": [SELF]})  # type: ignore[arg-type]  # views may have more parameters
@xframe_options_sameorigin
@require_GET
@login_required
def as_worker(request: HttpRequest, key: str) -> HttpResponse:
    """The questions in the worker's dock, about something to try them on. Nothing is stored."""
    _refuse_unreadable(request, key)
    return forms.preview_page(
        request, question_set(key), request.GET.get("language", ""), request.GET.get("about", "")
    )


@csp_replace({"frame-ancestors": [SELF]})
@xframe_options_sameorigin
@require_POST
@login_required
def preview(request: HttpRequest) -> HttpResponse:
    """Preview an unsaved draft of the editor on the worker's page."""
    try:
        draft = drafts.parse_draft(request.POST)
        draft.key, draft.title = draft.key or "draft", draft.title or "Draft"
        draft.source = draft.source or "draft"
        found = QuestionSet.from_json(declaration_of(draft))
    except UnreadableDraftError:
        return HttpResponseBadRequest("These are not the fields of the editor.")
    except DeclarationError as error:
        faults = Editor(draft, is_new=True, error=error).faults
        return render(request, "questions/not_yet.html", {"faults": faults})
    return forms.preview_page(
        request, found, request.POST.get("show_in", ""), request.POST.get("show_as", "")
    )
