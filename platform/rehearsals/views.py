from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from rehearsals.services import delete_rehearsal
from studies.queries import studies_of


@require_POST
@login_required
def delete(request: HttpRequest, pk: int) -> HttpResponse:
    rehearsals = studies_of(request.user).filter(rehearsal_of__isnull=False)
    rehearsal = get_object_or_404(rehearsals.select_related("rehearsal_of"), pk=pk)
    assert rehearsal.rehearsal_of
    delete_rehearsal(rehearsal)
    messages.success(request, "The rehearsal is deleted, with its simulated workers and all they did.")
    return redirect(rehearsal.rehearsal_of)
