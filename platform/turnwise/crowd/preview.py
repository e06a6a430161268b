"""Preview of a study: a researcher sees each worker page in a frame, with a socket that stores nothing."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from channels.generic.websocket import AsyncWebsocketConsumer
from csp.constants import SELF
from csp.decorators import csp_replace
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_GET
from typing_extensions import override

from turnwise.accounts.access import user_of
from turnwise.crowd.entry import practice
from turnwise.crowd.entry.worker_views import end_page_context, instructions_context
from turnwise.crowd.languages import ENGLISH, catalog_of, socket_language
from turnwise.crowd.models import CODED, Outcome, StudyPanel
from turnwise.crowd.panels import Arrival, ReturnPath, panel_of, panels_of
from turnwise.crowd.worker_task import (
    EXAMPLE_CODE,
    FrameAnswers,
    PreviewOptions,
    WorkerTask,
    WorkPreview,
    work_of,
)
from turnwise.languages.live_texts import live_languages
from turnwise.live.database import in_database
from turnwise.live.frames import Frame, RateLimit, RefusedError, as_json, parse_frame
from turnwise.studies.asks import Moment
from turnwise.studies.conditions.factors import conditions_of
from turnwise.studies.models import ConsentVersion, Study, language_name
from turnwise.studies.queries import studies_of
from turnwise.studies.services import record_preview
from turnwise.studies.sharing.permissions import Permission, may
from turnwise.studies.tasks import task_of

END = "end-"
# Example of the values in a panel's link.
_EXAMPLE_LINK_DATA = {"submit_to": "https://workersandbox.mturk.com", "hit": "example", "study": "example"}


@dataclass(frozen=True, slots=True)
class PreviewPage:
    """One page of the preview.

    Attributes:
        key: key in the preview's address.
        title: title for the researcher.
        address: address of the page, without options.
        is_end: True for a last page, of which there is one per outcome.
    """

    key: str
    title: str
    address: str
    is_end: bool = False


def preview_pages(study: Study) -> list[PreviewPage]:
    """Pages of a study's workers in order, followed by the last pages of all possible outcomes."""
    task = work_of(study)
    moments = {ask.moment for ask in study.questionnaires}
    pages = [_page(study, "consent", _("Consent")), _page(study, "instructions", _("Instructions"))]
    if Moment.BEFORE_WORK in moments:
        pages.append(_questionnaire(study, "before", _("Questions before")))
    if practice.number_of_examples(study):
        pages.append(_page(study, "practice", _("Practice")))
    pages += [_page(study, key, str(title)) for key, title in task.previewed.pages_of(study).items()]
    if Moment.AFTER_WORK in moments:
        pages.append(_questionnaire(study, "after", _("Questions after")))
    ends = possible_outcomes(together=task.together, talks=task.has_conversations)
    return pages + [_page(study, f"{END}{end.value}", str(end.label), is_end=True) for end in ends]


def possible_outcomes(*, together: int, talks: bool) -> Sequence[Outcome]:
    """Possible outcomes of a task's work, the usual one first."""
    of_two = (Outcome.PARTNER_LEFT, Outcome.NO_PARTNER) if together > 1 else ()
    of_bots = (Outcome.BOT_FAILED,) if talks else ()
    every = (Outcome.TIMED_OUT, Outcome.SCREENED_OUT, Outcome.STUDY_FULL, Outcome.WITHDRAWN)
    return (Outcome.COMPLETE, *of_bots, *of_two, *every)


def _page(study: Study, key: str, title: str, *, is_end: bool = False) -> PreviewPage:
    return PreviewPage(key, title, reverse("crowd:preview_page", args=[study.pk, key]), is_end)


def _questionnaire(study: Study, key: str, title: str) -> PreviewPage:
    return PreviewPage(key, title, reverse("questionnaires:preview", args=[study.pk, key]))


def next_address(study: Study, key: str, options: PreviewOptions) -> str:
    """Address of the page after this one; a last page leads to itself."""
    pages = preview_pages(study)
    at = next((number for number, page in enumerate(pages) if page.key == key), 0)
    following = pages[at] if pages[at].is_end else pages[at + 1]
    return f"{following.address}?{urlencode(options.query)}"


def example_return_path(setup: StudyPanel, outcome: Outcome, own_code: str) -> ReturnPath:
    """Return path to a panel after this outcome, with an example arrival and code."""
    arrival = Arrival(setup.panel, "example", "example", _EXAMPLE_LINK_DATA, setup.pk)
    return panel_of(setup).return_path(arrival, setup, outcome, own_code)


def previewed(study: Study, page: str, options: PreviewOptions) -> WorkPreview | None:
    """Preview of a page of the work; None if the study has no such page."""
    of_task = work_of(study).previewed
    if page not in of_task.pages_of(study):
        return None
    return of_task(study, page, options, then=next_address(study, page, options))


View = Callable[..., HttpResponse]
PHONE, DESKTOP, LIGHT, DARK = "phone", "desktop", "light", "dark"


@dataclass(frozen=True, slots=True)
class Choice:
    """One choice in the preview's controls.

    Attributes:
        title: its title.
        address: address of the preview with this choice.
        is_chosen: True if it is shown now.
        shows: address of the page itself, by which the list follows navigation within the frame.
    """

    title: str
    address: str
    is_chosen: bool
    shows: str = ""


def framed(view: View) -> View:
    """Decorate a view of a worker page for researchers: sign-in required, and the preview may frame it."""
    page: View = xframe_options_sameorigin(require_GET(login_required(view)))
    allowed: Any = csp_replace({"frame-ancestors": [SELF]})(page)  # typed for views with one parameter
    framed_page: View = allowed
    return framed_page


def study_with_workers(request: HttpRequest, pk: int) -> Study:
    """Get a study that the user may see and that has workers, or raise Http404."""
    study = get_object_or_404(studies_of(request.user, Permission.REVIEW), pk=pk)
    if not isinstance(task_of(study), WorkerTask):
        raise Http404("No workers take part in such a study.")
    return study


@require_GET
@login_required
def preview(request: HttpRequest, pk: int) -> HttpResponse:
    """Show one of the pages in a frame, with the controls above it."""
    study = study_with_workers(request, pk)
    options, pages = PreviewOptions.of(request.GET, study), preview_pages(study)
    page = next((each for each in pages if each.key == request.GET.get("page")), pages[0])
    size = DESKTOP if request.GET.get("size") == DESKTOP else PHONE
    scheme = DARK if request.GET.get("scheme") == DARK else LIGHT
    query = {"page": page.key, "size": size, "scheme": scheme, **options.query}
    context = {
        "study": study,
        "page": page,
        "size": size,
        "scheme": scheme,
        "address": f"{page.address}?{urlencode(options.query)}",
        "way": [_to(each, query, page) for each in pages if not each.is_end],
        "ends": [_to(each, query, page) for each in pages if each.is_end],
        "choices": _choices(study, options, query, page),
        "has_script": page.key in work_of(study).previewed.pages_of(study),
    }
    if study.previewed_at is None and may(request.user, Permission.CHANGE, study):
        record_preview(study.pk)
        study.refresh_from_db(fields=["previewed_at"])  # so that the page names the step after it
    return render(request, "crowd/preview.html", context)


def _to(page: PreviewPage, query: Mapping[str, str], current: PreviewPage) -> Choice:
    return Choice(page.title, _query(query, page=page.key), page == current, page.address)


def _query(query: Mapping[str, str], **changed: str) -> str:
    return f"?{urlencode({name: value for name, value in {**query, **changed}.items() if value})}"


def _choices(
    study: Study, options: PreviewOptions, query: Mapping[str, str], page: PreviewPage
) -> list[tuple[str, list[Choice]]]:
    """Groups of choices with their titles; groups with only one choice are left out."""
    languages = [(code, language_name(code)) for code in study.languages or [ENGLISH]]
    of_study = {code.lower() for code, _name in languages}
    languages += [
        (each.code, _("%(language)s (not offered)") % {"language": each.name})
        for each in live_languages()
        if each.catalog not in of_study
    ]
    offered = [
        (_("Width"), "size", [(PHONE, _("Phone")), (DESKTOP, _("Desktop"))]),
        (_("Colours"), "scheme", [(LIGHT, _("Light")), (DARK, _("Dark"))]),
        (_("Language"), "language", languages),
    ]
    if page.is_end:
        panels = [(str(each.pk or ""), str(panel_of(each).title)) for each in panels_of(study)]
        offered.append((_("Comes by"), "panel", panels))
    if page.key in ("instructions", "work"):
        offered += [(factor, "condition", levels) for factor, levels in _levels(study, options)]
    if page.key == "work" and work_of(study).has_conversations and work_of(study).together == 1:
        offered.append((_("Replies"), "bot", [("", _("Scripted")), *_bots(study)]))
    return [(title, _among(query, key, values)) for title, key, values in offered if len(values) > 1]


def _levels(study: Study, options: PreviewOptions) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """By factor of the study, its levels, each with the number of the condition that it leads to."""
    every, current = list(conditions_of(study.factors)), options.condition_in(study)
    for factor in study.factors:
        name, levels = factor["name"], [level["name"] for level in factor["levels"]]
        yield name, [(str(every.index({**current, name: level}) + 1), level) for level in levels]


def _among(query: Mapping[str, str], key: str, values: Sequence[tuple[str, str]]) -> list[Choice]:
    selected = query.get(key, "")
    if selected not in dict(values):
        selected = values[0][0]
    return [Choice(name, _query(query, **{key: value}), value == selected) for value, name in values]


def _bots(study: Study) -> list[tuple[str, str]]:
    """Active bots of the study that answer by themselves, without a human operator."""
    active = study.study_bots.filter(bot__active=True).select_related("bot").order_by("pk")
    return [(str(each.bot_id), each.bot.title) for each in active if not each.bot.is_operated]


@framed
def preview_page(request: HttpRequest, pk: int, page: str) -> HttpResponse:
    """Show one worker page, without storing anything."""
    study = study_with_workers(request, pk)
    options = PreviewOptions.of(request.GET, study)
    if page not in {each.key for each in preview_pages(study)}:
        raise Http404("The study has no such page.")
    with translation.override(catalog_of(options.language) or ENGLISH):
        template, context = _template_and_context(study, page, options)
        return render(request, template, context | {"study": study, "staged": staged(study, page, options)})


def staged(study: Study, page: str, options: PreviewOptions) -> dict[str, Any]:
    """Links of a previewed page, for its template: the next page and the page after leaving."""
    after, left = next_address(study, page, options), f"{END}{Outcome.WITHDRAWN.value}"
    leave = f"{reverse('crowd:preview_page', args=[study.pk, left])}?{urlencode(options.query)}"
    return {"next": after, "address": after.partition("?")[0], "leave": leave, "wishes": options.query}


def _template_and_context(study: Study, page: str, options: PreviewOptions) -> tuple[str, dict[str, Any]]:
    task, work = work_of(study), previewed(study, page, options)
    if work:
        return work.template_and_context()
    if page == "practice":
        return "crowd/practice.html", {"settings": practice.page_settings(study)}
    if page == "instructions":
        return task.instructions, instructions_context(study, options.condition_in(study)) | {
            "resume_code": EXAMPLE_CODE
        }
    if page.startswith(END):
        return "crowd/thanks.html", _end(study, Outcome(page.removeprefix(END)), options)
    consent = study.consent_versions.last()
    return "crowd/welcome.html", {
        "task": task,
        "consent": consent or ConsentVersion(number=1, text=_("There is no consent text yet.")),
    }


def _end(study: Study, outcome: Outcome, options: PreviewOptions) -> dict[str, Any]:
    every = panels_of(study)
    setup = next((each for each in every if each.pk == options.panel), every[0])
    back = example_return_path(setup, outcome, EXAMPLE_CODE if outcome in CODED else "")
    return end_page_context(study, outcome, back) | {"worker": EXAMPLE_CODE, "own_link": "#main"}


BURST = 40
FRAMES_PER_SECOND = 5.0
CLOSE_CODES = {"no_session": 4401, "unknown_dialogue": 4404, "too_fast": 4429}
SIGNED_OUT = "You are signed out. Reload the page to sign in."
NO_SUCH_STUDY = "You do not work on such a study, or it has no such page."
# Frames that the preview ignores.
UNANSWERED = ("here", "typing", "more_time")
OF_THE_WORK = (
    "turn", "label", "retry", "finish", "give_up", "end_alone", "judge", "write",
)  # fmt: skip


class PreviewConsumer(AsyncWebsocketConsumer):
    """Socket of one tab in which a researcher tries the work; its state ends with the tab."""

    previewed: WorkPreview | None = None
    is_open = False

    @override
    async def __call__(self, *arguments: Any) -> None:
        self.running_tasks: set[asyncio.Task[None]] = set()
        try:
            await super().__call__(*arguments)
        finally:  # Channels does not call disconnect after an error
            for task in self.running_tasks:
                task.cancel()

    @override
    async def connect(self) -> None:
        await self.accept()
        self.is_open = True
        self.allowance = RateLimit(BURST, FRAMES_PER_SECOND)
        query = QueryDict(self.scope.get("query_string", b""))
        translation.activate(await socket_language(query.get("language", "")))
        try:
            self.previewed = await in_database(self._find, query)
        except RefusedError as refusal:
            return await self.refuse(refusal, {})
        self._tell(self.previewed.begin(), {})

    def _find(self, query: QueryDict) -> WorkPreview:
        user = user_of(self.scope)
        if user is None:
            raise RefusedError("no_session", SIGNED_OUT)
        study = studies_of(user, Permission.REVIEW).filter(pk=self.scope["url_route"]["kwargs"]["pk"]).first()
        found = None
        if study and isinstance(task_of(study), WorkerTask):
            # `language` is the language of the researcher's page, `shown_in` that of the preview.
            options = PreviewOptions.of(query, study, language="shown_in")
            found = previewed(study, query.get("page", ""), options)
        if found is None:
            raise RefusedError("unknown_dialogue", NO_SUCH_STUDY)
        return found

    def frame_handlers(self) -> dict[str, FrameAnswers | None]:
        """Handlers by frame type; None for types that are accepted and ignored."""
        answers = self.previewed.answers() if self.previewed else {}
        return {"ping": self.ping, **dict.fromkeys((*UNANSWERED, *OF_THE_WORK)), **answers}

    @override
    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if self.previewed is None or not self.is_open:
            return
        frame: Frame = {}
        try:
            if not self.allowance.spend():
                raise RefusedError("too_fast")
            handlers = self.frame_handlers()
            frame = parse_frame(text_data, handlers)
        except RefusedError as refusal:
            return await self.refuse(refusal, frame)
        if answer := handlers[frame["type"]]:
            self._tell(answer(frame), frame)

    async def ping(self, frame: Frame) -> AsyncIterator[Frame]:
        yield {"type": "pong"}

    def _tell(self, frames: AsyncIterator[Frame], request: Frame) -> None:
        """Send frames as they are produced, in a task, so that the page is still heard meanwhile."""
        task = asyncio.create_task(self._say_all(frames, request))
        self.running_tasks.add(task)
        task.add_done_callback(self.running_tasks.discard)

    async def _say_all(self, frames: AsyncIterator[Frame], request: Frame) -> None:
        try:
            async for frame in frames:
                await self.say(frame)
        except RefusedError as refusal:
            await self.refuse(refusal, request)

    async def say(self, frame: Frame) -> None:
        if self.is_open:
            await self.send(text_data=as_json(frame))

    async def refuse(self, refusal: RefusedError, frame: Frame) -> None:
        echoed_fields = ("key", "position", "ask", "item")
        echoed = {name: frame[name] for name in echoed_fields if isinstance(frame.get(name), str | int)}
        await self.say({"type": "refused", "reason": refusal.reason, "say": refusal.say, **echoed})
        if refusal.reason in CLOSE_CODES:
            self.is_open = False
            await self.close(code=CLOSE_CODES[refusal.reason])

    @override
    async def disconnect(self, code: int) -> None:
        self.is_open = False
