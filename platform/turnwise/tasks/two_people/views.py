"""The pages of a worker who waits for a partner and then talks with them."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from turnwise.crowd import refusals
from turnwise.crowd.entry.practice_views import practice_first
from turnwise.crowd.entry.worker_views import current_participation, page_of, worker_page
from turnwise.crowd.models import Participation
from turnwise.crowd.places.assignment import admit
from turnwise.dialogues.models import Dialogue
from turnwise.studies.models import Study
from turnwise.tasks.conversation.page import chat_page
from turnwise.tasks.two_people import queries
from turnwise.tasks.two_people.models import TwoPeoplePlan
from turnwise.tasks.two_people.page import describe_partner
from turnwise.tasks.two_people.task import TwoPeople


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
    """Show the lobby, or the conversation once it has begun."""
    participation = current_participation(request, study)
    if page_of(participation) != "two_people:talk":
        return redirect(page_of(participation), code=study.code)
    plan = TwoPeoplePlan.objects.get(study=study)
    dialogue = Dialogue.objects.filter(seats__assignment=participation.assignment).first()
    if dialogue:
        is_bot = participation.assignment.study_bot_id is not None
        return chat_page(request, participation, dialogue, describe_partner(plan, is_bot=is_bot))
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
