"""The way of a worker through a study, page after page, as its preview shows it."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext as _

from turnwise.crowd import practice
from turnwise.crowd.models import Outcome, StudyPanel
from turnwise.crowd.panels import Arrival, WayBack, panel_of
from turnwise.crowd.previewed import Previewed, Wishes
from turnwise.crowd.work import work_of
from turnwise.studies.asks import Moment
from turnwise.studies.models import Study

END = "end-"
# What a panel's link would tell of somebody who came by it.
_TOLD = {"submit_to": "https://workersandbox.mturk.com", "hit": "example", "study": "example"}


@dataclass(frozen=True, slots=True)
class PreviewPage:
    """One page of the way.

    Attributes:
        key: in the address of the preview.
        title: for the researcher.
        address: of the page itself, without wishes.
        is_end: whether it is one of the ways in which somebody's part can end.
    """

    key: str
    title: str
    address: str
    is_end: bool = False


def way_of(study: Study) -> list[PreviewPage]:
    """The pages of a study's workers in their order, with every way in which it can end."""
    task = work_of(study)
    asked = {ask.moment for ask in study.questionnaires}
    found = [_page(study, "consent", _("Consent")), _page(study, "instructions", _("Instructions"))]
    if Moment.BEFORE_WORK in asked:
        found.append(_questionnaire(study, "before", _("Questions before")))
    if practice.number_of_examples(study):
        found.append(_page(study, "practice", _("Practice")))
    found += [_page(study, key, str(title)) for key, title in task.previewed.pages_of(study).items()]
    if Moment.AFTER_WORK in asked:
        found.append(_questionnaire(study, "after", _("Questions after")))
    ends = ends_of(together=task.together, talks=task.has_conversations)
    return found + [_page(study, f"{END}{end.value}", str(end.label), is_end=True) for end in ends]


def ends_of(*, together: int, talks: bool) -> Sequence[Outcome]:
    """The ways in which the work of a task can end for somebody, the usual one first."""
    of_two = (Outcome.PARTNER_LEFT, Outcome.NO_PARTNER) if together > 1 else ()
    of_bots = (Outcome.BOT_FAILED,) if talks else ()
    every = (Outcome.TIMED_OUT, Outcome.SCREENED_OUT, Outcome.STUDY_FULL, Outcome.WITHDRAWN)
    return (Outcome.COMPLETE, *of_bots, *of_two, *every)


def _page(study: Study, key: str, title: str, *, is_end: bool = False) -> PreviewPage:
    return PreviewPage(key, title, reverse("crowd:preview_page", args=[study.pk, key]), is_end)


def _questionnaire(study: Study, key: str, title: str) -> PreviewPage:
    return PreviewPage(key, title, reverse("questionnaires:preview", args=[study.pk, key]))


def address_after(study: Study, key: str, wishes: Wishes) -> str:
    """Of the page to which somebody comes after this one; after an end, of that end itself."""
    way = way_of(study)
    at = next((number for number, page in enumerate(way) if page.key == key), 0)
    following = way[at] if way[at].is_end else way[at + 1]
    return f"{following.address}?{urlencode(wishes.query)}"


def way_back_of_example(taken: StudyPanel, outcome: Outcome, own_code: str) -> WayBack:
    """How somebody who came by a panel would go back at this end, with a code that is none."""
    arrival = Arrival(taken.panel, "example", "example", _TOLD, taken.pk)
    return panel_of(taken).way_back(arrival, taken, outcome, own_code)


def previewed(study: Study, page: str, wishes: Wishes) -> Previewed | None:
    """A page of the work itself; None if the study has no such page."""
    of_task = work_of(study).previewed
    if page not in of_task.pages_of(study):
        return None
    return of_task(study, page, wishes, then=address_after(study, page, wishes))
