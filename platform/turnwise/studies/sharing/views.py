"""Pages *Sharing* and *Transfer* of a study with their forms, and the hand-over of a person's studies."""

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from turnwise.accounts import mail
from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.limits import too_many, too_often
from turnwise.accounts.models import User
from turnwise.accounts.people_views import for_admins
from turnwise.groups.queries import groups_of
from turnwise.studies.models import Role, Share, Study, Transfer
from turnwise.studies.queries import studies_of
from turnwise.studies.sharing import services
from turnwise.studies.sharing.permissions import Permission, may

_ROLES = [(role.value, role.label) for role in (Role.READER, Role.REVIEWER, Role.EDITOR)]
_NAME = {"autocomplete": "off", "spellcheck": "false", "autocapitalize": "none"}


class RoleForm(forms.Form):
    """A role with what it may have in addition."""

    role = forms.ChoiceField(label=gettext_lazy("Role"), choices=_ROLES)
    may_bundle = forms.BooleanField(
        label=gettext_lazy("A reader or reviewer may download the bundle"),
        required=False,
        help_text=gettext_lazy(
            "Bundles hold personal data: all conversations and answers, and what people said of themselves."
        ),
    )
    may_pay = forms.BooleanField(
        label=gettext_lazy("An editor may handle payments"),
        required=False,
        help_text=gettext_lazy("See and note payments, give bonuses, approve and reject at panels."),
    )

    @property
    def given(self) -> dict[str, Any]:
        """Role and additions of a valid form, as arguments of the services."""
        return {name: self.cleaned_data[name] for name in ("role", "may_bundle", "may_pay")}


class ShareForm(RoleForm):
    """Sharing with a person or with one of the user's groups."""

    name = forms.CharField(
        label=gettext_lazy("Their user name"),
        max_length=150,
        required=False,
        error_messages={"required": gettext_lazy("Write the name of a person who signs in here.")},
        widget=forms.TextInput(attrs=_NAME),
    )
    group = forms.ChoiceField(label=gettext_lazy("Or one of your groups"), required=False)

    def __init__(self, data: Any = None, *, user: User) -> None:
        super().__init__(data)
        groups = [(str(group.pk), group.name) for group in groups_of(user)]
        self.fields["group"].choices = [("", gettext_lazy("none")), *groups]  # type: ignore[attr-defined]  # a choice
        if not groups:
            del self.fields["group"]
            self.fields["name"].required = True
        self.order_fields(["name", "group", "role", "may_bundle", "may_pay"])

    def clean(self) -> dict[str, Any]:
        found = super().clean() or self.cleaned_data
        if found.get("name") and found.get("group"):
            raise forms.ValidationError(gettext_lazy("Write a name or choose a group, not both."))
        return found


class TransferForm(forms.Form):
    """The new owner, and whether the old one stays."""

    name = forms.CharField(
        label=gettext_lazy("User name of the new owner"),
        max_length=150,
        widget=forms.TextInput(attrs=_NAME),
    )
    keeps_editing = forms.BooleanField(
        label=gettext_lazy("The old owner stays as an editor with payments"), required=False, initial=True
    )


_MAY = {
    Role.EDITOR: gettext_lazy("%(who)s can now change it."),
    Role.REVIEWER: gettext_lazy("%(who)s can now review it."),
    Role.READER: gettext_lazy("%(who)s can now read it."),
}
MOST_LISTED = 50


def _own_study(request: HttpRequest, pk: int) -> Study:
    return get_object_or_404(studies_of(request.user, Permission.SHARE).select_related("owner"), pk=pk)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def sharing(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    """People and groups with whom a study is shared, for its owner; a POST adds one."""
    study = _own_study(request, pk)
    form = ShareForm(request.POST if request.method == "POST" else None, user=request.user)
    if request.method == "POST":
        # Otherwise callers could guess the names of accounts.
        if too_often(request, "share", rate="60/h", key="user"):
            return too_many(request)
        if form.is_valid():
            try:
                share = _shared(request.user, study, form)
            except ValidationError as error:
                form.add_error("name", " ".join(error.messages))
            else:
                messages.success(request, _share_in_words(share))
                return redirect("studies:sharing", pk=pk)
    shares = study.shares.select_related("person", "group")
    context = {
        "study": study,
        "shares": [(each, RoleForm(_role_of(each), auto_id=f"id_%s_{each.pk}")) for each in shares],
        "form": form,
        "pending": services.open_transfer_of(study),
        "history": study.transfers.filter(outcome=Transfer.Outcome.ACCEPTED)[:MOST_LISTED],
    }
    return render(request, "studies/sharing/sharing.html", context, status=422 if form.errors else 200)


def _shared(user: User, study: Study, form: ShareForm) -> Share:
    if key := form.cleaned_data.get("group"):
        return services.share_with_group(study, services.group_for_sharing(user, key), **form.given)
    return services.share_with_person(study, form.cleaned_data["name"], **form.given)


def _share_in_words(share: Share) -> str:
    return str(_MAY[Role(share.role)]) % {"who": share.party}


def _role_of(share: Share) -> dict[str, object]:
    return {"role": share.role, "may_bundle": share.may_bundle, "may_pay": share.may_pay}


@require_POST
@login_required
def change_share(request: HttpRequest, pk: int, share: int) -> HttpResponse:
    """Change a role, or stop sharing."""
    study = _own_study(request, pk)
    found = get_object_or_404(study.shares.select_related("person", "group"), pk=share)
    if "stop" in request.POST:
        services.stop_sharing(study, found.pk)
        messages.success(request, _("The study is no longer shared with %(who)s.") % {"who": found.party})
        return redirect("studies:sharing", pk=pk)
    form = RoleForm(request.POST)
    if form.is_valid():
        messages.success(request, _share_in_words(services.change_role(found, **form.given)))
    else:
        messages.error(
            request,
            _("“%(role)s” is not a role in a study. Choose editor, reviewer or reader. Nothing was changed.")
            % {"role": request.POST.get("role", "")[:20]},
        )
    return redirect("studies:sharing", pk=pk)


@require_GET
@login_required
def transfer(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    """Page of a transfer: the form of an offer for the owner, or the open offer."""
    return _transfer_page(request, get_object_or_404(Study.objects.select_related("owner"), pk=pk))


def _transfer_page(
    request: AuthenticatedHttpRequest, study: Study, form: TransferForm | None = None
) -> HttpResponse:
    pending = services.open_transfer_of(study)
    is_offered = pending is not None and pending.to_id == request.user.pk
    may_offer = may(request.user, Permission.SHARE, study)
    if not (is_offered or may_offer):
        raise Http404("Only the owner of a study can transfer it.")
    context = {
        "study": study,
        "pending": pending,
        "is_offered": is_offered,
        "may_offer": may_offer,
        "form": form or TransferForm(),
        "has_panel_token": study.panels.exclude(token="").exists(),
    }
    return render(request, "studies/sharing/transfer.html", context, status=422 if form else 200)


@require_POST
@login_required
def offer_transfer(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    """Offer the study to another account; an admin of the installation can transfer it at once."""
    study = _own_study(request, pk)
    if too_often(request, "share", rate="60/h", key="user"):
        return too_many(request)
    form = TransferForm(request.POST)
    if not form.is_valid():
        return _transfer_page(request, study, form)
    act = services.transfer_at_once if "at_once" in request.POST else services.offer
    given = form.cleaned_data
    try:
        made = act(study, given["name"], keeps_editing=given["keeps_editing"], by=request.user)
    except ValidationError as error:
        form.add_error("name", " ".join(error.messages))
        return _transfer_page(request, study, form)
    if made.outcome:
        messages.success(request, _("%(name)s owns the study now.") % {"name": made.to_name})
        return redirect("studies:sharing", pk=pk)
    _mail_offer(request, made)
    messages.success(
        request,
        _("The study is offered to %(name)s, who finds the offer on Home.") % {"name": made.to_name},
    )
    return redirect("studies:transfer", pk=pk)


def _mail_offer(request: HttpRequest, made: Transfer) -> None:
    """Mail the offer to the new owner, if they have an address and the installation sends mail."""
    assert made.to is not None
    link = request.build_absolute_uri(reverse("studies:transfer", args=[made.study_id]))
    text = _(
        "%(by)s offers you the study “%(title)s”. Once you accept, it is yours; until then nothing "
        "changes:\n\n%(link)s\n"
    ) % {"by": made.from_name, "title": made.study.title, "link": link}
    mail.send(mail.mailbox_of(made.to), _("You are offered a study"), text)


@require_POST
@login_required
def withdraw_transfer(request: HttpRequest, pk: int) -> HttpResponse:
    study = _own_study(request, pk)
    try:
        made = services.withdraw(study)
    except services.NoOfferError:
        messages.error(request, _no_offer())
    else:
        messages.success(request, _("The offer to %(name)s is withdrawn.") % {"name": made.to_name})
    return redirect("studies:transfer", pk=pk)


@require_POST
@login_required
def accept_transfer(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    try:
        made = services.accept(pk, by=request.user)
    except services.NoOfferError:
        raise Http404(_no_offer()) from None
    messages.success(request, _("“%(title)s” is yours now.") % {"title": made.study.title})
    return redirect(made.study)


@require_POST
@login_required
def decline_transfer(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    try:
        made = services.decline(pk, by=request.user)
    except services.NoOfferError:
        raise Http404(_no_offer()) from None
    messages.success(
        request, _("You declined “%(title)s”. It stays where it was.") % {"title": made.study.title}
    )
    return redirect("workspace:home")


def _no_offer() -> str:
    return _("There is no open offer of this study: it was accepted, declined or withdrawn.")


@require_http_methods(["GET", "HEAD", "POST"])
@for_admins
def hand_over(request: AuthenticatedHttpRequest, person: int) -> HttpResponse:
    """List the studies of a person; by POST, transfer all of them at once."""
    owner = get_object_or_404(User, pk=person)
    form = TransferForm(request.POST if request.method == "POST" else None, initial={"keeps_editing": False})
    if form.is_bound and form.is_valid():
        given = form.cleaned_data
        try:
            n = services.hand_over_all(
                owner, given["name"], keeps_editing=given["keeps_editing"], by=request.user
            )
        except ValidationError as error:
            form.add_error("name", " ".join(error.messages))
        else:
            says = ngettext("%(n)d study has a new owner.", "%(n)d studies have a new owner.", n) % {"n": n}
            messages.success(request, says)
            return redirect("accounts:people")
    owned = Study.objects.filter(owner=owner, rehearsal_of=None)
    context = {
        "owner": owner,
        "studies": owned.order_by("-pk")[:MOST_LISTED],
        "number": owned.count(),
        "form": form,
    }
    return render(request, "studies/sharing/hand_over.html", context, status=422 if form.errors else 200)
