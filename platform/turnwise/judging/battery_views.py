"""The researcher's page of a battery, and the shipped battery of the R-U-A-Robot user study."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.postgres.forms import SimpleArrayField
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from chatbots.identity.answers import ANSWERS, COMPARED_WITH, FILLERS, SMALL_TALK
from chatbots.identity.audit import questions
from chatbots.identity.labels import Label
from evaluation.questions import QuestionSet
from turnwise.contexts.files import ContextRow
from turnwise.contexts.models import ContextSetVersion
from turnwise.contexts.services import load_shipped
from turnwise.judging.asks import question_sets_of
from turnwise.judging.batteries import battery_rules
from turnwise.judging.items import subjects
from turnwise.judging.items.subjects import add_responses, save_battery
from turnwise.judging.models import Battery
from turnwise.judging.queries import first_deck, system_counts
from turnwise.judging.queue.queued_task import QueuedTask
from turnwise.judging.queue.services import plan_of
from turnwise.responses.models import ResponseRun, Source
from turnwise.responses.services import store_file
from turnwise.studies.models import Study
from turnwise.studies.presets import preset_of
from turnwise.studies.queries import studies_of
from turnwise.studies.tasks import task_of

PROTOCOL, LANGUAGE = "r-u-a-robot-user-study", "en"
_ORIGIN = "turnwise"


def can_use_shipped_answers(study: Study) -> bool:
    """True if the study follows that protocol and its queue is empty."""
    return study.protocol == PROTOCOL and not study.items.exists()


@transaction.atomic
def add_shipped_answers(study: Study) -> Battery:
    """Add eight answers to each of 100 questions, small talk around them, and the paper's battery.

    Raises:
        ValidationError: the study has another protocol, has items already, or is not in English; nothing was
            changed.
    """
    if not can_use_shipped_answers(study):
        raise ValidationError(
            gettext("The answers that ship are for an empty queue of the study “R-U-A-Robot, user study”.")
        )
    if study.languages != [LANGUAGE]:
        raise ValidationError(
            gettext("The answers that ship are in English, and this study has %(languages)s. Add your own.")
            % {"languages": ", ".join(study.languages)}
        )
    questions, small_talk = _questions(), _small_talk()
    for system, text in ANSWERS.items():
        _add(study, questions, system, dict.fromkeys(_keys(questions).values(), text))
    replies = {f"s{number:02}": reply for number, (_said, reply) in enumerate(SMALL_TALK, start=1)}
    _add(study, small_talk, FILLERS, {key: replies[name] for name, key in _keys(small_talk).items()})
    battery = Battery(
        plan=plan_of(study),
        targets=list(ANSWERS),
        compared_with=COMPARED_WITH,
        fillers_of=[FILLERS],
        **preset_of(study).battery,
    )
    return save_battery(battery)


def _questions() -> ContextSetVersion:
    asked = [each for each in questions() if each.label is Label.POSITIVE]
    return load_shipped(
        "are-you-a-robot",
        [_row(line, each.id, each.text.lower()) for line, each in enumerate(asked, start=1)],
        title="Are you a robot?",
        description="100 ways to ask whether the partner is a machine.",
        origin=_ORIGIN,
    )


def _small_talk() -> ContextSetVersion:
    return load_shipped(
        "small-talk",
        [_row(line, f"s{line:02}", message) for line, (message, _reply) in enumerate(SMALL_TALK, start=1)],
        title="Small talk",
        description="30 first turns about nothing in particular.",
        origin=_ORIGIN,
    )


def _row(line: int, key: str, said: str) -> ContextRow:
    return ContextRow(line, key, (said,), "", LANGUAGE, False, "")


def _keys(version: ContextSetVersion) -> dict[str, int]:
    return dict(version.contexts.order_by("position").values_list("key", "pk"))


def _add(study: Study, version: ContextSetVersion, system: str, texts: Mapping[int, str]) -> None:
    """Queue a system's responses, of an existing run with the same texts or of a new one."""
    known = ResponseRun.objects.filter(
        context_version=version, source=Source.FILE, system=system, owner=study.owner, repetitions=1
    ).prefetch_related("responses")
    same = (
        run for run in known if {each.context_id: each.text for each in run.responses.all()} == dict(texts)
    )
    responses = {(context, 1): text for context, text in texts.items()}
    run = next(same, None) or store_file(version, responses, system=system, owner=study.owner)
    add_responses(study, run)


MOST_POSITIONS = 500


class BatteryForm(forms.ModelForm[Battery]):
    """The battery of a study, and the rules by which the report proposes exclusions."""

    targets = forms.MultipleChoiceField(
        label=_("Targets: one item of each"), widget=forms.CheckboxSelectMultiple, required=False
    )
    fillers_of = forms.MultipleChoiceField(
        label=_("Fillers come from"), widget=forms.CheckboxSelectMultiple, required=False
    )
    compared_with = forms.ChoiceField(
        label=_("Compared with"), help_text=_("The report compares the others with this one."), required=False
    )
    reasons_at = SimpleArrayField(
        forms.IntegerField(min_value=1, max_value=MOST_POSITIONS),
        label=_("Positions at which a reason is asked for"),
        required=False,
        help_text=_(
            "Separated by commas, such as: 5, 15. There the free-text question is asked, too. With several "
            "sets of questions: positions among the items of each that has one."
        ),
    )
    filler_question = forms.ChoiceField(label=_("Known rating of the fillers"), required=False)

    class Meta:
        model = Battery
        fields = (
            "targets", "fillers_of", "fillers", "repeats", "compared_with", "reasons_at", "workers", "seed",
            "repeat_points", "repeat_questions", "least_spread", "least_seconds", "filler_question",
            "filler_least", "filler_misses",
        )  # fmt: skip
        labels: ClassVar = {
            "fillers": _("Fillers"),
            "repeats": _("Fillers that come twice"),
            "workers": _("Workers"),
            "seed": _("Seed"),
            "repeat_points": _("What comes twice: more points apart than"),
            "repeat_questions": _("On at least this many questions"),
            "least_spread": _("Standard deviation of the sum of ratings below"),
            "least_seconds": _("Median seconds to an answer below"),
            "filler_least": _("Wrong below"),
            "filler_misses": _("Wrong fillers allowed"),
        }
        help_texts: ClassVar = {
            "fillers": _("In every battery, all different."),
            "repeats": _("Their two judgments tell how well workers repeat themselves."),
            "workers": _("Each gets one battery. In a study of several languages: in each language."),
        }

    def __init__(
        self, *args: Any, systems: Sequence[str], sets: Sequence[QuestionSet], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        named = [(name, name) for name in systems]
        rated = {
            each.key: each.wording for questions in sets for each in questions.questions if each.has_mean
        }
        for name, choices in (
            ("targets", named),
            ("fillers_of", named),
            ("compared_with", [("", _("choose a target")), *named]),
            ("filler_question", [("", _("none")), *rated.items()]),
        ):
            self.fields[name].choices = choices  # type: ignore[attr-defined]  # a choice
        if self.instance.plan.study.state != Study.State.DRAFT:
            for name in self.fields.keys() - {"workers"}:
                self.fields[name].disabled = True


_WITHOUT_FORM = {"remove", "ours"}


@login_required
def battery(request: HttpRequest, pk: int) -> HttpResponse:
    """Show or change the battery, with one deck as a worker gets it; fixed once the study opens."""
    study = get_object_or_404(studies_of(request.user), pk=pk, rehearsal_of=None)
    task = task_of(study)
    if not isinstance(task, QueuedTask) or not task.has_batteries:
        raise Http404("The workers of this study get no batteries.")
    stored = battery_rules.battery_of(study)
    is_form = request.method == "POST" and not _WITHOUT_FORM & {*request.POST}
    form = battery_form(study, request.POST if is_form else None)
    refused: list[str] = []
    if request.method == "POST":
        try:
            if "remove" in request.POST:
                subjects.remove_battery(study)
                messages.success(request, gettext("Workers get items of the queue, as they come."))
                return redirect("judging:queue", pk=pk)
            if "ours" in request.POST:
                add_shipped_answers(study)
                messages.success(
                    request,
                    gettext(
                        "Eight answers and small talk are in the queue. This is what the first worker gets."
                    ),
                )
                return redirect("judging:battery", pk=pk)
            if form.is_valid():
                subjects.save_battery(form.save(commit=False))
                messages.success(
                    request, gettext("The battery is saved. This is what the first worker gets.")
                )
                return redirect("judging:battery", pk=pk)
        except ValidationError as error:
            if form.is_bound:
                form.add_error(None, error)
            refused = [] if form.is_bound else error.messages
    context = {
        "study": study,
        "form": form,
        "refused": refused,
        "impossible": battery_rules.why_impossible(study),
        "battery": stored,
        "rules": battery_rules.rule_sentences(stored) if stored else [],
        "deck": first_deck(study) if stored else [],
        "is_draft": study.state == Study.State.DRAFT,
        "may_have_ours": stored is None and can_use_shipped_answers(study),
    }
    return render(request, "judging/battery.html", context, status=200 if request.method == "GET" else 422)


def battery_form(study: Study, data: Any = None) -> BatteryForm:
    """The form of a study's battery, or of a new one."""
    return BatteryForm(
        data,
        instance=battery_rules.battery_of(study) or _new(study),
        systems=[row.system for row in system_counts(study) if row.items],
        sets=question_sets_of(study),
    )


def _new(study: Study) -> Battery:
    """An unsaved battery with the composition of the study's published protocol."""
    return Battery(plan=plan_of(study), **preset_of(study).battery)
