from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from turnwise.crowd import refusals
from turnwise.crowd.entry.worker_views import begin_work, current_participation, page_of, worker_page
from turnwise.crowd.models import Assignment, Participation
from turnwise.crowd.places.assignment import assign
from turnwise.dialogues import services
from turnwise.dialogues.models import Dialogue
from turnwise.dialogues.reading_material import ArticlesUsedUpError
from turnwise.studies.models import Study
from turnwise.tasks.conversation.page import PartnerDescription, chat_page


@require_POST
@worker_page
def start(request: HttpRequest, study: Study) -> HttpResponse:
    def begin(participation: Participation) -> HttpResponse:
        _begun(assign(participation.pk))
        return redirect("conversation:chat", code=study.code)

    return begin_work(request, study, begin)


@require_safe
@worker_page
def chat(request: HttpRequest, study: Study) -> HttpResponse:
    participation = current_participation(request, study)
    if page_of(participation) != "conversation:chat":
        return redirect(page_of(participation), code=study.code)
    dialogue = _begun(participation.assignment)
    bot = services.bot_of(participation.assignment)
    names = (_("Chatbot"), _("The chatbot")) if study.blind else (bot.title, bot.title)
    return chat_page(request, participation, dialogue, PartnerDescription(*names))


def _begun(assignment: Assignment) -> Dialogue:
    try:
        return services.begin(assignment)
    except ArticlesUsedUpError:
        raise refusals.full(may_become_free=True) from None
