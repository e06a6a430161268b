"""The task of comparing pairs, its forms, and a demo study of ELIZA and GenericBot."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _
from typing_extensions import override

from evaluation.protocols.facts import Evaluation
from evaluation.questions import QuestionSet, Subject
from evaluation.report.bundles.columns import Table
from evaluation.report.bundles.tables import pair_tables
from evaluation.report.studies.pairs import AskOfPairs, pair_result
from evaluation.texts.uninformative_contexts import SHORT, Fit
from turnwise.accounts.models import User
from turnwise.contexts.files import ContextRow
from turnwise.contexts.models import ContextSet
from turnwise.contexts.services import import_version, save_set
from turnwise.dialogues.queries import with_dialogues
from turnwise.exports.turn_files import PAIR_JUDGMENTS
from turnwise.judging.asks import asks_of_readers
from turnwise.judging.items import pairs
from turnwise.judging.items.pairs import PairSource
from turnwise.judging.items.subjects import add_all_items_of
from turnwise.judging.queue.queued_task import QueuedTask
from turnwise.questions.question_sets import question_set
from turnwise.rehearsals.rehearsed_task import Crowd, RehearsedTask
from turnwise.reports.queries import analysis_plan
from turnwise.reports.report_kinds import Computation, ReportedTask
from turnwise.responses.models import ResponseRun
from turnwise.responses.queries import real_runs_of
from turnwise.responses.services import store_file
from turnwise.studies.asks import About, AskSpec, By
from turnwise.studies.demo_studies import CONSENT_TO_READ
from turnwise.studies.form_fields import AskForm, AskForms
from turnwise.studies.models import Study
from turnwise.studies.presets import preset_named
from turnwise.studies.queries import real_studies_of
from turnwise.studies.services import save_study, set_state
from turnwise.studies.starting.intentions import Aim, Intention, Material
from turnwise.studies.tasks import keys_with_conversations, register
from turnwise.tasks.judging.forms import JudgingPage
from turnwise.tasks.judging.preview import JudgingPreviewed
from turnwise.tasks.judging.rehearsal import copy_with_queue
from turnwise.tasks.judging.report_parts import labels_of_judges, with_assisted
from turnwise.tasks.judging.results import judged_pairs
from turnwise.tasks.pairs import rehearsal

MOST_EACH = 10_000
MOST_WORDS = 1_000


class PairsAskForm(AskForm):
    """One ask about pairs: its question set."""

    @override
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        del self.fields["when"], self.fields["required"]

    @override
    def clean(self) -> None:
        """Accept every question set: all of them are about pairs."""

    @property
    @override
    def choice_fields(self) -> list[forms.BoundField]:
        return [self["question_set"]]

    @property
    @override
    def ask_spec(self) -> AskSpec | None:
        key = self.cleaned_data.get("question_set")
        return AskSpec(key, About.PAIR) if key else None


class PairsAskForms(AskForms):
    """The asks of a study of pairs, in order."""

    about = frozenset({About.PAIR})
    row = PairsAskForm


class PairsPage(JudgingPage):
    """The page of a study of pairs. Its pairs are made in its queue."""

    template = "tasks/pairs/form.html"
    ask_rows = PairsAskForms


class SourceForm(forms.Form):
    """Material for pairs, and their number."""

    each = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_EACH,
        label=_("Pairs of every two systems"),
        help_text=_("Drawn at random. Empty: all there are."),
    )
    seed = forms.IntegerField(
        label=_("Seed"),
        min_value=0,
        max_value=2**31,
        initial=1,
        help_text=_("A different number draws different pairs; the same number, the same pairs."),
    )

    def __init__(self, *args: Any, user: User, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)

    def source(self) -> PairSource | None:
        """The source of a valid form; None, with an error added to the form, if it cannot be used."""
        try:
            return self.build_source(self.cleaned_data)
        except ValidationError as error:
            self.add_error(None, error)
            return None

    def build_source(self, given: dict[str, Any]) -> PairSource:
        raise NotImplementedError


class ResponsePairsForm(SourceForm):
    """Responses of runs, paired by context."""

    runs = forms.ModelMultipleChoiceField(
        queryset=ResponseRun.objects.none(),
        label=_("Responses of"),
        widget=forms.CheckboxSelectMultiple,
        help_text=_("One run of each system, all over the same contexts."),
    )
    least_words = forms.IntegerField(
        required=False,
        min_value=0,
        max_value=MOST_WORDS,
        label=_("Words of a context, at least"),
        help_text=format_lazy(
            _("Of all its turns together; {n} in the paper of neural.chat. Empty: any."), n=SHORT + 1
        ),
    )
    without_unknown = forms.BooleanField(
        required=False,
        label=_("Leave out contexts with unknown words"),
        help_text=_("Those that a vocabulary did not have: <unknown> or <unk>."),
    )
    field_order = ("runs", "least_words", "without_unknown", "each", "seed")

    def __init__(self, *args: Any, user: User, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, user=user, study=study, **kwargs)
        if study.protocol == "neural-chat-pairwise":
            self.fields["least_words"].initial, self.fields["without_unknown"].initial = SHORT + 1, True
        self.fields["runs"].queryset = real_runs_of(user)  # type: ignore[attr-defined]  # the field is a choice of models

    def build_source(self, given: dict[str, Any]) -> PairSource:
        fit = Fit(given["least_words"] or 0, unknown=not given["without_unknown"])
        return PairSource.of_runs(given["runs"], each=given["each"], seed=given["seed"], fit=fit)


class ConversationPairsForm(SourceForm):
    """Finished conversations of studies, paired by system."""

    studies = forms.ModelMultipleChoiceField(
        queryset=Study.objects.none(), label=_("Conversations of"), widget=forms.CheckboxSelectMultiple
    )
    language = forms.ChoiceField(
        label=_("Language"), help_text=_("Of these conversations. Workers who read it get them.")
    )
    field_order = ("studies", "language", "each", "seed")

    def __init__(self, *args: Any, user: User, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, user=user, study=study, **kwargs)
        sources = with_dialogues(real_studies_of(user).filter(task__in=keys_with_conversations()))
        self.fields["studies"].queryset = sources  # type: ignore[attr-defined]  # the field is a choice of models
        self.fields["language"].choices = [(code, code) for code in study.languages]  # type: ignore[attr-defined]

    def build_source(self, given: dict[str, Any]) -> PairSource:
        return PairSource.of_conversations(
            given["studies"], language=given["language"], each=given["each"], seed=given["seed"]
        )


TITLE = "Demo: say which of two replies is better"
SET = "demo-pairs"
SYSTEMS = ("ELIZA", "GenericBot")
_DEMO_FILE = Path(__file__).with_name("demo.json")


@transaction.atomic
def create_demo_pairs(owner: User) -> Study:
    """Create an open study that compares ELIZA and GenericBot by the protocol of neural.chat."""
    contexts: list[dict[str, Any]] = json.loads(_DEMO_FILE.read_text())
    preset = preset_named("neural-chat-pairwise")
    assert preset
    study = preset.study()
    study.title, study.languages, study.expected_minutes = TITLE, ["en"], 10
    save_study(study, owner=owner, consent_text=CONSENT_TO_READ, targets={}, asks=preset.asks)
    pairs.add(study, pairs.PairSource.of_runs(_runs(contexts, owner)))
    return set_state(study.pk, Study.State.OPEN)


def _runs(demo: Sequence[Mapping[str, Any]], owner: User) -> list[Any]:
    context_set = save_set(
        ContextSet(name=SET, title="Demo: what people said", licence="CC0-1.0", owner=owner)
    )
    rows = [
        ContextRow(number, f"demo-{number}", tuple(each["turns"]), "", "en", False, "")
        for number, each in enumerate(demo, 1)
    ]
    version = import_version(context_set, rows, origin="Written for the demo study")
    contexts = list(version.contexts.order_by("position"))
    return [
        store_file(
            version,
            {(context.pk, 1): each[system] for context, each in zip(contexts, demo, strict=True)},
            system=system,
            owner=owner,
        )
        for system in SYSTEMS
    ]


class PairsPreviewed(JudgingPreviewed):
    """A preview with a few pairs."""

    template = "tasks/pairs/compare.html"
    example = Subject.PAIR


@register
class Pairs(QueuedTask, ReportedTask, RehearsedTask):
    """Workers say which of two responses or two conversations is better."""

    key = "pairs"
    title = "Compare two responses or two conversations side by side"
    menu = "Compare side by side"
    order = 5
    intentions = (Intention(Aim.BETTER, Material.RESPONSES), Intention(Aim.BETTER, Material.CONVERSATIONS))
    form = PairsPage
    overview = "tasks/pairs/overview.html"
    manual = "pairs"
    namespace = "pairs"

    begin = "pairs:start"
    go_on = "pairs:compare"
    heading = _("Say which of two is better")
    welcome = "tasks/pairs/welcome.html"
    instructions = "tasks/pairs/instructions.html"
    previewed = PairsPreviewed

    asks = (AskSpec("preference", About.PAIR),)
    may_ask = frozenset({(By.READERS, About.PAIR)})

    filled_at = "pairs:add"
    evaluation = Evaluation.PAIRWISE
    report = "tasks/pairs/report.html"
    analysed = "tasks/pairs/analysed.html"
    labels_exported = PAIR_JUDGMENTS
    read = "pairs"

    @override
    def make_demo(self, owner: User) -> None:
        create_demo_pairs(owner)

    @override
    def copied_into(self, study: Study, copy: Study) -> None:
        super().copied_into(study, copy)
        add_all_items_of(copy, study)

    @override
    def computation(self, study: Study) -> Computation:
        asks = [
            AskOfPairs(question_set(ask.question_set), judged_pairs(study, ask))
            for ask in asks_of_readers(study)
        ]
        of_people = partial(pair_result, asks, plan=analysis_plan(study))
        judges = labels_of_judges(study)
        return partial(with_assisted, of_people, judges, study.protocol) if judges else of_people

    @override
    def tables(self, asked: Sequence[QuestionSet]) -> tuple[Table, ...]:
        return pair_tables(asked)

    @override
    def protocol(self, study: Study) -> Mapping[str, str]:
        plan = getattr(study, "judging", None)
        return {"Raters": f"{plan.raters_per_item} for each pair"} if plan else {}

    @override
    def copied(self, study: Study, workers: int) -> Study:
        return copy_with_queue(study, workers)

    @override
    def crowd(self, rehearsed: Study, server: str, workers: int) -> Crowd:
        return rehearsal.raters(rehearsed, server, workers)
