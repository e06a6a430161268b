"""The way of a worker through a study, page after page, as its preview shows it.

The whole way of a study's workers, for who makes it: every page as they get it, in a frame.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from csp.constants import SELF
from csp.decorators import csp_replace
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import override
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_GET

from turnwise.crowd.entry import practice
from turnwise.crowd.entry.worker_views import end_page_context, instructions_context
from turnwise.crowd.languages import ENGLISH, catalog_of
from turnwise.crowd.models import CODED, Outcome, StudyPanel
from turnwise.crowd.panels import Arrival, WayBack, panel_of, panels_of
from turnwise.crowd.worker_task import EXAMPLE_CODE, PreviewOptions, WorkerTask, WorkPreview, work_of
from turnwise.studies.asks import Moment
from turnwise.studies.models import ConsentVersion, Study, language_name
from turnwise.studies.queries import studies_of
from turnwise.studies.services import record_preview
from turnwise.studies.tasks import task_of

END = "end-"
# What a panel's link would tell of somebody who came by it.
_EXAMPLE_LINK_DATA = {"submit_to": "https://workersandbox.mturk.com", "hit": "example", "study": "example"}


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


def preview_pages(study: Study) -> list[PreviewPage]:
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
    ends = possible_outcomes(together=task.together, talks=task.has_conversations)
    return found + [_page(study, f"{END}{end.value}", str(end.label), is_end=True) for end in ends]


def possible_outcomes(*, together: int, talks: bool) -> Sequence[Outcome]:
    """The ways in which the work of a task can end for somebody, the usual one first."""
    of_two = (Outcome.PARTNER_LEFT, Outcome.NO_PARTNER) if together > 1 else ()
    of_bots = (Outcome.BOT_FAILED,) if talks else ()
    every = (Outcome.TIMED_OUT, Outcome.SCREENED_OUT, Outcome.STUDY_FULL, Outcome.WITHDRAWN)
    return (Outcome.COMPLETE, *of_bots, *of_two, *every)


def _page(study: Study, key: str, title: str, *, is_end: bool = False) -> PreviewPage:
    return PreviewPage(key, title, reverse("crowd:preview_page", args=[study.pk, key]), is_end)


def _questionnaire(study: Study, key: str, title: str) -> PreviewPage:
    return PreviewPage(key, title, reverse("questionnaires:preview", args=[study.pk, key]))


def next_address(study: Study, key: str, wishes: PreviewOptions) -> str:
    """Of the page to which somebody comes after this one; after an end, of that end itself."""
    way = preview_pages(study)
    at = next((number for number, page in enumerate(way) if page.key == key), 0)
    following = way[at] if way[at].is_end else way[at + 1]
    return f"{following.address}?{urlencode(wishes.query)}"


def example_return_path(taken: StudyPanel, outcome: Outcome, own_code: str) -> WayBack:
    """How somebody who came by a panel would go back at this end, with a code that is none."""
    arrival = Arrival(taken.panel, "example", "example", _EXAMPLE_LINK_DATA, taken.pk)
    return panel_of(taken).return_path(arrival, taken, outcome, own_code)


def previewed(study: Study, page: str, wishes: PreviewOptions) -> WorkPreview | None:
    """A page of the work itself; None if the study has no such page."""
    of_task = work_of(study).previewed
    if page not in of_task.pages_of(study):
        return None
    return of_task(study, page, wishes, then=next_address(study, page, wishes))


View = Callable[..., HttpResponse]
PHONE, DESKTOP, LIGHT, DARK = "phone", "desktop", "light", "dark"


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several things that can be chosen beside the page.

    Attributes:
        title: what it is called.
        address: of the preview that shows it.
        is_chosen: whether it is shown now.
        shows: of a page, its own address, by which the list follows whoever walks within the frame.
    """

    title: str
    address: str
    is_chosen: bool
    shows: str = ""


def framed(view: View) -> View:
    """A page of workers for who makes the study, whom the preview's own page may frame."""
    page: View = xframe_options_sameorigin(require_GET(login_required(view)))
    allowed: Any = csp_replace({"frame-ancestors": [SELF]})(page)  # its types know views of one parameter
    framed_page: View = allowed
    return framed_page


def study_with_workers(request: HttpRequest, pk: int) -> Study:
    """The study, if this person works on it and people take part in it."""
    study = get_object_or_404(studies_of(request.user), pk=pk)
    if not isinstance(task_of(study), WorkerTask):
        raise Http404("No workers take part in such a study.")
    return study


@require_GET
@login_required
def preview(request: HttpRequest, pk: int) -> HttpResponse:
    """The frame with one of the pages, and what can be chosen above it."""
    study = study_with_workers(request, pk)
    wishes, way = PreviewOptions.of(request.GET, study), preview_pages(study)
    page = next((each for each in way if each.key == request.GET.get("page")), way[0])
    size = DESKTOP if request.GET.get("size") == DESKTOP else PHONE
    scheme = DARK if request.GET.get("scheme") == DARK else LIGHT
    told = {"page": page.key, "size": size, "scheme": scheme, **wishes.query}
    shown = {
        "study": study,
        "page": page,
        "size": size,
        "scheme": scheme,
        "address": f"{page.address}?{urlencode(wishes.query)}",
        "way": [_to(each, told, page) for each in way if not each.is_end],
        "ends": [_to(each, told, page) for each in way if each.is_end],
        "choices": _choices(study, told, page),
        "has_script": page.key in work_of(study).previewed.pages_of(study),
    }
    if study.previewed_at is None:
        record_preview(study.pk)
        study.refresh_from_db(fields=["previewed_at"])  # so that the page names the step after it
    return render(request, "crowd/preview.html", shown)


def _to(page: PreviewPage, told: Mapping[str, str], here: PreviewPage) -> Choice:
    return Choice(page.title, _query(told, page=page.key), page == here, page.address)


def _query(told: Mapping[str, str], **changed: str) -> str:
    return f"?{urlencode({name: value for name, value in {**told, **changed}.items() if value})}"


def _choices(study: Study, told: Mapping[str, str], page: PreviewPage) -> list[tuple[str, list[Choice]]]:
    """What can be chosen, each with its name; where there is nothing to choose, nothing is offered."""
    languages = [(code, language_name(code)) for code in study.languages]
    offered = [
        (_("Width"), "size", [(PHONE, _("Phone")), (DESKTOP, _("Desktop"))]),
        (_("Colours"), "scheme", [(LIGHT, _("Light")), (DARK, _("Dark"))]),
        (_("Language"), "language", languages),
    ]
    if page.is_end:
        panels = [(str(each.pk or ""), str(panel_of(each).title)) for each in panels_of(study)]
        offered.append((_("Comes by"), "panel", panels))
    elif page.key == "work" and work_of(study).has_conversations and work_of(study).together == 1:
        offered.append((_("Replies"), "bot", [("", _("Scripted")), *_bots(study)]))
    return [(title, _among(told, key, values)) for title, key, values in offered if len(values) > 1]


def _among(told: Mapping[str, str], key: str, values: Sequence[tuple[str, str]]) -> list[Choice]:
    chosen = told.get(key, "")
    if chosen not in dict(values):
        chosen = values[0][0]
    return [Choice(name, _query(told, **{key: value}), value == chosen) for value, name in values]


def _bots(study: Study) -> list[tuple[str, str]]:
    """Those of the study that can be asked: nobody sits in their place."""
    wanted = study.study_bots.filter(bot__active=True).select_related("bot").order_by("pk")
    return [(str(each.bot_id), each.bot.title) for each in wanted if not each.bot.is_operated]


@framed
def preview_page(request: HttpRequest, pk: int, page: str) -> HttpResponse:
    """One page of the way as a worker gets it, with no way to begin."""
    study = study_with_workers(request, pk)
    wishes = PreviewOptions.of(request.GET, study)
    if page not in {each.key for each in preview_pages(study)}:
        raise Http404("The study has no such page.")
    with override(catalog_of(wishes.language) or ENGLISH):
        template, shown = _template_and_context(study, page, wishes)
        return render(request, template, shown | {"study": study, "staged": staged(study, page, wishes)})


def staged(study: Study, page: str, wishes: PreviewOptions) -> dict[str, Any]:
    """Where a previewed page leads, for its template: with all that is wished, and without."""
    after, left = next_address(study, page, wishes), f"{END}{Outcome.WITHDRAWN.value}"
    leave = f"{reverse('crowd:preview_page', args=[study.pk, left])}?{urlencode(wishes.query)}"
    return {"next": after, "address": after.partition("?")[0], "leave": leave, "wishes": wishes.query}


def _template_and_context(study: Study, page: str, wishes: PreviewOptions) -> tuple[str, dict[str, Any]]:
    task, work = work_of(study), previewed(study, page, wishes)
    if work:
        return work.template_and_context()
    if page == "practice":
        return "crowd/practice.html", {"settings": practice.page_settings(study)}
    if page == "instructions":
        return task.instructions, instructions_context(study) | {"resume_code": EXAMPLE_CODE}
    if page.startswith(END):
        return "crowd/thanks.html", _end(study, Outcome(page.removeprefix(END)), wishes)
    consent = study.consent_versions.last()
    return "crowd/welcome.html", {
        "task": task,
        "consent": consent or ConsentVersion(number=1, text=_("There is no consent text yet.")),
    }


def _end(study: Study, outcome: Outcome, wishes: PreviewOptions) -> dict[str, Any]:
    every = panels_of(study)
    taken = next((each for each in every if each.pk == wishes.panel), every[0])
    back = example_return_path(taken, outcome, EXAMPLE_CODE if outcome in CODED else "")
    return end_page_context(study, outcome, back) | {"worker": EXAMPLE_CODE, "own_link": "#main"}
