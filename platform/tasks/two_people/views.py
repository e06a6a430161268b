"""The pages of somebody who waits for another person, and then talks with them."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from crowd import refusals
from crowd.assigning import admit
from crowd.models import Participation
from crowd.practice_views import practice_first
from crowd.views import current_participation, page_of, worker_page
from dialogues.models import Dialogue
from studies.models import Study
from tasks.conversation.page import Opposite, chat_page
from tasks.two_people import queries
from tasks.two_people.models import TwoPeoplePlan
from tasks.two_people.task import TwoPeople


@require_POST
@worker_page
def start(request: HttpRequest, study: Study) -> HttpResponse:
    if study.task != TwoPeople.key:
        raise refusals.unknown_study()
    participation = current_participation(request, study)
    if first := practice_first(participation):
        return first
    if not hasattr(participation, "assignment") and queries.is_full(study, now=timezone.now()):
        raise refusals.full(may_become_free=True)
    admit(participation.pk)
    return redirect("two_people:talk", code=study.code)


@require_safe
@worker_page
def talk(request: HttpRequest, study: Study) -> HttpResponse:
    """The lobby, and the conversation once there is one."""
    participation = current_participation(request, study)
    if page_of(participation) != "two_people:talk":
        return redirect(page_of(participation), code=study.code)
    plan = TwoPeoplePlan.objects.get(study=study)
    dialogue = Dialogue.objects.filter(seats__assignment=participation.assignment).first()
    if dialogue:
        return chat_page(request, participation, dialogue, _opposite(participation, plan))
    return _lobby(request, participation, plan)


def _lobby(request: HttpRequest, participation: Participation, plan: TwoPeoplePlan) -> HttpResponse:
    study = participation.study
    shown = {
        "study": study,
        "plan": plan,
        "resume_code": participation.resume_code,
        "settings": {"socket": f"/ws/lobby/{study.code}/"},
    }
    return render(request, "tasks/two_people/lobby.html", shown)


def _opposite(participation: Participation, plan: TwoPeoplePlan) -> Opposite:
    """Who sits opposite, as the page calls them."""
    is_bot = participation.assignment.study_bot_id is not None
    partner = _("Partner"), _("Your partner")
    if not plan.disclosed:
        says = _("Your partner may be a person or a chatbot; you are not told which.")
        return Opposite(*partner, is_person=not is_bot, is_disclosed=False, says=says)
    if is_bot:
        says = _("Nobody else came, so you are talking with a chatbot, not with a person.")
        return Opposite(_("Chatbot"), _("The chatbot"), says=says)
    says = _("You are talking with another participant in this study: a person, not a chatbot.")
    return Opposite(*partner, is_person=True, says=says)
