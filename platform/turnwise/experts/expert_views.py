"""Page *Experts* of a judging study: invitations, shares with progress, declaration of adjudication."""

from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from turnwise.accounts import mail
from turnwise.accounts.limits import too_many, too_often
from turnwise.crowd.models import Invitation
from turnwise.crowd.panels.links import PARAMETER
from turnwise.experts import disputes, invitations, services
from turnwise.experts.forms import ADJUDICATOR, InviteForm, ShareForm, StepsForm
from turnwise.judging.queue.queued_task import QueuedTask
from turnwise.judging.queue.services import plan_of
from turnwise.judging.views import judging_study
from turnwise.studies.models import Study
from turnwise.studies.sharing.permissions import Permission
from turnwise.studies.tasks import task_of


class NewLink(NamedTuple):
    """A link that is shown once.

    Attributes:
        name: name of the expert.
        address: the link.
        letter: `mailto:` address of a letter with the link; empty without an e-mail address.
        mailed_to: e-mail address to which it was mailed; empty if it was not.
    """

    name: str
    address: str
    letter: str
    mailed_to: str


def experts_study(request: HttpRequest, pk: int, permission: Permission = Permission.CHANGE) -> Study:
    """A judging study on which the person has the permission, and whose items an adjudicator may decide.

    Raises:
        Http404: there is none.
    """
    study = judging_study(request, pk, permission)
    task = task_of(study)
    if study.rehearsal_of_id or not (isinstance(task, QueuedTask) and task.has_adjudication):
        raise Http404("Experts are invited to studies in which people judge one item after the other.")
    return study


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def experts(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the experts with their progress; by POST, declare adjudication."""
    study = experts_study(request, pk)
    form = _steps_form(study, request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        try:
            services.set_steps(study, form.chosen)
        except ValidationError as error:
            form.add_error(None, " ".join(error.messages))
        else:
            messages.success(request, _("Saved."))
            return redirect("experts:experts", pk=pk)
    return _page(request, study, steps_form=form, status=422 if form.is_bound else 200)


def _steps_form(study: Study, data: Any = None) -> StepsForm:
    is_fixed = study.state != Study.State.DRAFT
    return StepsForm(data, steps=disputes.adjudication_steps(study), is_fixed=is_fixed)


def _page(
    request: HttpRequest,
    study: Study,
    *,
    steps_form: StepsForm | None = None,
    invite_form: InviteForm | None = None,
    link: NewLink | None = None,
    status: int = 200,
) -> HttpResponse:
    plan, rows = plan_of(study), invitations.experts_of(study)
    items = study.items.filter(right_answers__isnull=True, removed_at=None).count()
    shares = [
        row.invitation.share or items
        for row in rows
        if not row.invitation.is_adjudicator and not row.invitation.revoked_at
    ]
    context = {
        "study": study,
        "plan": plan,
        "rows": rows,
        "items": items,
        "wanted": items * plan.raters_per_item,
        "promised": sum(min(share, items) for share in shares),
        "judges": len(shares),
        "steps": plan.adjudication_steps,
        "is_draft": study.state == Study.State.DRAFT,
        "steps_form": steps_form or _steps_form(study),
        "invite_form": invite_form or InviteForm(),
        "link": link,
    }
    return render(request, "experts/experts.html", context, status=status)


@require_POST
@login_required
def invite(request: HttpRequest, pk: int) -> HttpResponse:
    """Invite an expert, and show the link once."""
    study = experts_study(request, pk)
    if too_often(request, "experts", rate="300/h", key="user"):
        return too_many(request)
    form = InviteForm(request.POST)
    if not form.is_valid():
        return _page(request, study, invite_form=form, status=422)
    given = form.cleaned_data
    try:
        invitation, secret = invitations.invite(
            study,
            given["name"],
            email=given["email"],
            share=given["share"] or 0,
            is_adjudicator=given["role"] == ADJUDICATOR,
        )
    except ValidationError as error:
        form.add_error("name" if hasattr(error, "error_dict") else None, " ".join(error.messages))
        return _page(request, study, invite_form=form, status=422)
    return _page(request, study, link=_new_link(request, invitation, secret))


def _new_link(request: HttpRequest, invitation: Invitation, secret: str) -> NewLink:
    study = invitation.study
    if invitation.is_adjudicator:
        path = reverse("experts:enter", args=[secret])
    else:
        path = f"{study.get_entry_url()}?{urlencode({PARAMETER: secret})}"
    address = request.build_absolute_uri(path)
    text = _("Dear %(name)s,\n\nthis is your personal link to “%(title)s”:\n%(link)s") % {
        "name": invitation.name, "title": study.title, "link": address,
    }  # fmt: skip
    parts = urlencode({"subject": study.title, "body": text}, quote_via=quote)
    letter = f"mailto:{quote(invitation.email, safe='@')}?{parts}" if invitation.email else ""
    mailed = mail.send(invitation.email, study.title, text)
    return NewLink(invitation.name, address, letter, invitation.email if mailed else "")


@require_POST
@login_required
def change(request: HttpRequest, pk: int, expert: int) -> HttpResponse:
    """Change an expert's share, replace the link, revoke it, or erase name and e-mail address."""
    study = experts_study(request, pk)
    invitation = get_object_or_404(study.invitations.exclude(digest=None), pk=expert)
    named = {"name": invitation.name}
    action = request.POST.get("action", "")
    if action == "link":
        secret = invitations.replace_link(invitation)
        return _page(request, study, link=_new_link(request, invitation, secret))
    if action == "revoke":
        invitations.revoke(invitation)
        messages.success(request, _("The link of %(name)s is revoked. Judgments and decisions stay.") % named)
    elif action == "erase":
        invitations.erase(invitation)
        messages.success(request, _("The name and the e-mail address are erased, and the link is revoked."))
    elif action == "share":
        _change_share(request, invitation)
    else:
        messages.error(
            request, _("“%(action)s” is not an action. Nothing was changed.") % {"action": action[:40]}
        )
    return redirect("experts:experts", pk=pk)


def _change_share(request: HttpRequest, invitation: Invitation) -> None:
    form = ShareForm(request.POST)
    if not form.is_valid():
        messages.error(request, " ".join(str(each) for each in form.errors["share"]))
        return
    try:
        invitations.set_share(invitation, form.cleaned_data["share"] or 0)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, _("The number of items of %(name)s is saved.") % {"name": invitation.name})
