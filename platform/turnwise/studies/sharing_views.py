"""Who sees a study besides its owner, and the tags by which lists are narrowed."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from turnwise.accounts.limits import too_many, too_often
from turnwise.studies import services
from turnwise.studies.queries import owned_studies_of, studies_of


@login_required
def sharing(request: HttpRequest, pk: int) -> HttpResponse:
    """Whom a study is shared with, for its owner."""
    study = get_object_or_404(owned_studies_of(request.user), pk=pk)
    name, role, refused = request.POST.get("name", "").strip()[:150], request.POST.get("role", ""), ""
    if request.method == "POST":
        # Else the names of all who sign in could be guessed here.
        if too_often(request, "share", rate="60/h", key="user"):
            return too_many(request)
        try:
            shared = services.share(study, name, may_change=role == "change")
        except ValidationError as error:
            refused = " ".join(error.messages)
        else:
            told = _("%(name)s can now change it.") if shared.may_change else _("%(name)s can now read it.")
            messages.success(request, told % {"name": shared.person})
            return redirect("studies:sharing", pk=pk)
    shares = study.shares.select_related("person")
    shown = {"study": study, "shares": shares, "refused": refused, "name": name, "role": role}
    return render(request, "studies/sharing.html", shown, status=422 if refused else 200)


@login_required
@require_POST
def stop(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(owned_studies_of(request.user), pk=pk)
    person = request.POST.get("person", "")
    if person.isdecimal() and len(person) < 10:
        services.stop_sharing(study, int(person))
    return redirect("studies:sharing", pk=pk)


@login_required
@require_POST
def tags(request: HttpRequest, pk: int) -> HttpResponse:
    """The tags of a study, separated by commas; a page to correct them if they are refused."""
    study = get_object_or_404(studies_of(request.user).filter(rehearsal_of=None), pk=pk)
    written = request.POST.get("tags", "")[:1000]
    try:
        services.set_tags(study, written.split(","))
    except ValidationError as error:
        shown = {"study": study, "written": written, "refused": " ".join(error.messages)}
        return render(request, "studies/tags.html", shown, status=422)
    return redirect(study)
