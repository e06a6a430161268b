"""Page *Deleted*, and the button *Undo* in messages about deletions."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.trash import soft_delete
from turnwise.trash.models import UNDO_PERIOD, Deletion
from turnwise.trash.soft_delete import deletions_of


@require_GET
@login_required
def deleted(request: AuthenticatedHttpRequest) -> HttpResponse:
    rows = [(each, each.at + UNDO_PERIOD) for each in deletions_of(request.user)[:200]]
    return render(request, "trash/deleted.html", {"rows": rows})


@require_POST
@login_required
def put_back(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    deletion = get_object_or_404(deletions_of(request.user), pk=pk)
    try:
        soft_delete.restore(pk)
    except soft_delete.RestoreRefusedError as error:
        messages.error(request, str(error))
        return redirect("trash:deleted")
    messages.success(request, _("It is back: %(what)s.") % {"what": deletion.what})
    return redirect(deletion.study) if deletion.study else redirect("trash:deleted")


def offer_undo(request: AuthenticatedHttpRequest, message: str, deletion: Deletion) -> None:
    """Show a message about a deletion on the next page, with a button that undoes it."""
    messages.success(request, message, extra_tags=reverse("trash:put_back", args=[deletion.pk]))
