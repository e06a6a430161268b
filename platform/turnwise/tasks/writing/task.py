"""The task *Write responses to given contexts*, its forms, and its preview, which stores nothing."""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar

from django import forms
from django.db.models import F, QuerySet
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from typing_extensions import override

from evaluation.texts.lengths import MAX_MESSAGE_CHARS
from turnwise.accounts.models import User
from turnwise.contexts.models import Context
from turnwise.contexts.queries import versions_of
from turnwise.crowd.running.spending import people_needed
from turnwise.crowd.worker_task import EXAMPLE_CODE, FrameAnswers, ItemsPreview, WorkerTask
from turnwise.live.frames import Frame, RefusedError, field
from turnwise.rehearsals.rehearsed_task import Crowd, RehearsedTask
from turnwise.responses.checks import problem_of
from turnwise.responses.models import Response
from turnwise.responses.queries import counted_responses
from turnwise.studies.forms import FIELDS, StudyForm
from turnwise.studies.models import PrimaryAnalysis, Study
from turnwise.studies.outlook import PlannedStudy, Unit, parse_count
from turnwise.studies.queries import count_expression, counts_of
from turnwise.studies.starting.intentions import Aim, Intention, Material
from turnwise.studies.tasks import Plan, Rows, Share, Stage, copied_row, register
from turnwise.tasks.plan_pages import PlanForm, PlanPage
from turnwise.tasks.writing import rehearsal
from turnwise.tasks.writing.models import WritingPlan
from turnwise.tasks.writing.services import (
    REFUSALS,
    context_frame,
    has_enough_responses,
    replace_pilot_responses,
)


def written_and_target(studies: QuerySet[Study]) -> Rows:
    """Rows of (study key, responses written, target)."""
    written = count_expression(counted_responses(Response.objects.all()), "run__study")
    wanted = F("context_version__size") * F("responses_per_context")
    return WritingPlan.objects.filter(study__in=studies).values_list("study", written, wanted)


class WritingPlanForm(PlanForm[WritingPlan]):
    """Form of the contexts and the number of responses."""

    attribute = "writing"

    class Meta:
        model = WritingPlan
        fields = ("context_version", "responses_per_context", "batch_size")
        help_texts = {"batch_size": _("Then the worker is done.")}

    @override
    def offer(self, user: User) -> None:
        field = self.fields["context_version"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = versions_of(user)
        field.empty_label = None


class WritingForm(StudyForm):
    """Form of the study's fields; the contexts have their own."""

    class Meta(StudyForm.Meta):
        fields = (*FIELDS, "pilot_size")
        help_texts: ClassVar[Mapping[str, str | Promise]] = {
            "pilot_size": _(
                "After this many people nobody new is admitted until you have looked and go on. What they "
                "wrote is then left out: others write in their place, and nobody is given it to judge. A "
                "study of responses has no scores of its own, so there is nothing else to leave them out of. "
                "0: no pilot."
            )
        }


class WritingPage(PlanPage[WritingPlan]):
    """Forms of the study and of its contexts."""

    template = "tasks/writing/form.html"
    study_form = WritingForm

    plan_form_class = WritingPlanForm

    @override
    def plan(self) -> WritingPlan:
        return self.plan_form.save(commit=False)

    @override
    def study(self) -> Study:
        study = super().study()
        if study.state == Study.State.DRAFT:  # the study has no scores; a pilot never counts
            study.primary_analysis = (
                PrimaryAnalysis.WITHOUT_EXCLUDED if study.pilot_size else PrimaryAnalysis.ALL
            )
        return study


MOST_SHOWN = 3


class WritingPreviewed(ItemsPreview):
    """Preview with the first few contexts."""

    undone = "unwritten", REFUSALS["unwritten"]

    @override
    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        plan = WritingPlan.objects.filter(study=self.study).first()
        there = Context.objects.filter(version=plan.context_version_id) if plan else Context.objects.none()
        spoken = there.filter(language=self.language)
        rows = list(spoken.order_by("pk")[:MOST_SHOWN]) or list(there.order_by("pk")[:MOST_SHOWN])
        self.items = [context_frame(row) for row in rows]

    @override
    def template_and_context(self) -> tuple[str, dict[str, Any]]:
        settings = {"socket": self.socket, "name": self.name, "max_chars": MAX_MESSAGE_CHARS}
        return "tasks/writing/write.html", {"resume_code": EXAMPLE_CODE, "settings": settings}

    def _left(self) -> list[dict[str, Any]]:
        """The next context, as a list, because workers hold one at a time."""
        return [item for item in self.items if item["key"] not in self.done][:1]

    @override
    def items_frame(self) -> Frame:
        done = [item | {"text": self.done[item["key"]]} for item in self.items if item["key"] in self.done]
        return {"items": self._left(), "written": done}

    @override
    def answers(self) -> Mapping[str, FrameAnswers]:
        return {"write": self.write, "finish": self.finish}

    async def write(self, frame: Frame) -> AsyncIterator[Frame]:
        key, text = field(frame, "item", str), field(frame, "text", str)
        item = next((each for each in self.items if each["key"] == key), None)
        if item is None:
            raise RefusedError("given_away", REFUSALS["given_away"])
        others = [response for context, response in self.done.items() if context != key]
        if problem := problem_of(text, item["turns"], others):
            raise RefusedError("unfit", problem)
        self.done[key] = text
        yield {"type": "written", "item": key, "text": text, "items": self._left(), "progress": self.progress}


@register
class Writing(WorkerTask, RehearsedTask):
    """Workers write responses to given contexts; others judge them."""

    key = "writing"
    title = "Write responses to given contexts"
    menu = "Write responses"
    order = 2
    intentions = (Intention(Aim.IN_PLACE, Material.CONTEXTS),)
    form = WritingPage
    overview = "tasks/writing/overview.html"
    manual = "static-evaluation"
    namespace = "writing"
    unit = Unit.RESPONSE
    stages = (Stage.DESIGN, Stage.PREVIEW, Stage.REHEARSE, Stage.RECRUIT, Stage.MONITOR, Stage.JUDGE)

    begin = "writing:start"
    go_on = "writing:write"
    heading = _("Write what you would say")
    welcome = "tasks/writing/welcome.html"
    instructions = "tasks/writing/instructions.html"
    saved = _("All your responses are saved.")
    previewed = WritingPreviewed

    enough = _("%(n)s write all that is wanted, or as much of it as they can.")

    @override
    def why_not_open(self, study: Study) -> str:
        if hasattr(study, "writing"):
            return ""
        return "Choose the contexts that people should respond to, then open the study."

    @override
    def plan_of_copy(self, study: Study) -> Plan | None:
        plan: Plan | None = copied_row(getattr(study, "writing", None))
        return plan

    @override
    def holds(self, study: Study) -> Mapping[str, int]:
        plan = getattr(study, "writing", None)
        return {"contexts": plan.context_version.size if plan else 0}

    @override
    def pilot_over(self, study: Study) -> None:
        replace_pilot_responses(study)

    @override
    def completed_and_planned(self, studies: QuerySet[Study]) -> Rows:
        return written_and_target(studies)

    @override
    def planned(
        self, study: Study | None, sent: Mapping[str, str], wanted: Sequence[int]
    ) -> PlannedStudy | None:
        each, share = (
            parse_count(sent.get("writing-responses_per_context")),
            parse_count(sent.get("writing-batch_size")),
        )
        version = parse_count(sent.get("writing-context_version"))
        contexts = Context.objects.filter(version=version).count()
        if not (contexts and each and share):
            return None
        responses = contexts * each
        return PlannedStudy(Unit.RESPONSE, responses, people_needed(responses, Share(share, each)))

    @override
    def shares(self, studies: QuerySet[Study]) -> Rows:
        plans = WritingPlan.objects.filter(study__in=studies)
        return plans.values_list("study", "batch_size", "responses_per_context")

    @override
    def overview_context(self, study: Study) -> Mapping[str, Any]:
        written, _wanted = counts_of([study]).get(study.pk, (0, 0))
        return {"written": written}

    @override
    def is_full(self, study: Study, now: datetime) -> bool:
        return has_enough_responses(study, now)

    @override
    def enough_workers(self, study: Study) -> int:
        return rehearsal.enough_workers(study)

    @override
    def copied(self, study: Study, workers: int) -> Study:
        return rehearsal.copy_with_contexts(study, workers)

    @override
    def crowd(self, rehearsed: Study, server: str, workers: int) -> Crowd:
        return rehearsal.writing_crowd(rehearsed, server, workers)
