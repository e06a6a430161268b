from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from django import forms
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.db.models import Exists, OuterRef
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET, require_POST

from evaluation.questions import Answer
from evaluation.texts.cleaning import WITHDRAWN
from turnwise.bots.models import Bot
from turnwise.crowd.models import Withdrawal
from turnwise.crowd.places import ending
from turnwise.dialogues import pictures, reading_material
from turnwise.dialogues.models import Dialogue, Seat, Turn
from turnwise.labels import explorer
from turnwise.labels.explorer import DialogueFilter, DialoguePage, ScoreQuery, scores_of
from turnwise.labels.models import Label
from turnwise.labels.queries import (
    Vote,
    dialogues_of,
    labels_of_whole,
    operators_of,
    readable_dialogues_of,
    tally,
    turns_with_labels,
    withdrawal_of,
)
from turnwise.live.markdown import as_html
from turnwise.questions.question_sets import question_set
from turnwise.studies.asks import Party
from turnwise.studies.conditions.factors import level_choices
from turnwise.studies.models import Study
from turnwise.studies.queries import readable_studies_of
from turnwise.studies.sharing.permissions import Permission, may

LONGEST_TEXT = 200


class DialogueFilterForm(forms.Form):
    """Filters of the list of conversations, read from the address."""

    text = forms.CharField(
        label=_("Text contains"),
        max_length=LONGEST_TEXT,
        required=False,
        widget=forms.TextInput(attrs={"type": "search", "autocomplete": "off"}),
    )
    bot = forms.ModelChoiceField(
        label=_("Bot"),
        queryset=Bot.objects.none(),
        to_field_name="name",
        required=False,
        empty_label=_("All"),
    )
    worker = forms.CharField(
        label=_("Worker or panel id"),
        max_length=120,
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    state = forms.ChoiceField(
        label=_("State"),
        required=False,
        choices=[
            ("", _("All")),
            ("complete", _("Complete")),
            ("open", _("Under way")),
            (Dialogue.Ending.BOT_FAILED.value, _("Ended because the bot could not answer")),
            ("excluded", _("Worker excluded")),
        ],
    )
    condition = forms.ChoiceField(label=_("Condition"), required=False)
    score = forms.ChoiceField(label=_("Has this score"), required=False)
    lowest = forms.FloatField(label=_("Score from"), required=False)
    highest = forms.FloatField(label=_("Score to"), required=False)
    replies = forms.IntegerField(label=_("Replies, at least"), min_value=1, max_value=10_000, required=False)
    faults = forms.BooleanField(label=_("A reply failed"), required=False)
    disputed = forms.BooleanField(label=_("Most readers differ from the person who talked"), required=False)

    def __init__(self, study: Study, data: Any, *, panel_ids: bool) -> None:
        super().__init__(data)
        self.query = ScoreQuery(study, data.get("score", ""))
        score, scores = self.query.score, scores_of(study)
        self._panel_ids = panel_ids
        if not panel_ids:
            self.fields["worker"].label = _("Worker")
        bots = self.fields["bot"]
        assert isinstance(bots, forms.ModelChoiceField)
        bots.queryset = Bot.objects.filter(study_bots__study=study).order_by("title", "name")
        if study.factors:
            condition = self.fields["condition"]
            assert isinstance(condition, forms.ChoiceField)
            condition.choices = [("", _("All")), *level_choices(study.factors).items()]
        else:
            del self.fields["condition"]
        if scores:
            score_field = self.fields["score"]
            assert isinstance(score_field, forms.ChoiceField)
            titled = [(key, each.title) for key, (_number, each) in scores.items()]
            score_field.choices = [("", _("Any or none")), *titled]
        else:
            del self.fields["score"]
        if score is None:
            for name in ("lowest", "highest", "disputed"):
                del self.fields[name]
        else:
            unit = " (%)" if score.is_percent else ""
            self.fields["lowest"].label = _("%(score)s%(unit)s from") % {"score": score.title, "unit": unit}
            self.fields["highest"].label = _("to")
        for name in ("lowest", "highest"):
            if name in self.fields:
                self.fields[name].widget.attrs["step"] = "any"

    def clean(self) -> None:
        super().clean()
        lowest, highest = self.cleaned_data.get("lowest"), self.cleaned_data.get("highest")
        if lowest is not None and highest is not None and lowest > highest:
            raise ValidationError(
                _("No score is both at least %(lowest)g and at most %(highest)g. Swap the two.")
                % {"lowest": lowest, "highest": highest}
            )

    @property
    def by(self) -> DialogueFilter:
        """Filters of a valid form."""
        return DialogueFilter(**self.cleaned_data, panel_ids=self._panel_ids)


@require_GET
@login_required
def dialogues(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(readable_studies_of(request.user), pk=pk)
    works_on_it = may(request.user, Permission.CHANGE, study)
    form = DialogueFilterForm(study, request.GET, panel_ids=works_on_it)
    is_valid = form.is_valid()
    found = (
        explorer.find_dialogues(study, form.by, after=_page_start(request)) if is_valid else DialoguePage()
    )
    context = {
        "study": study,
        "form": form,
        "found": found,
        "score": form.query.score,
        "most_counted": explorer.MOST_COUNTED,
        "narrowed_by": _narrowed_by(request.GET),
        "begun": "after" in request.GET,
        "may_change": works_on_it,
        "withdrawals": Withdrawal.objects.filter(participation__study=study),
    }
    return render(request, "labels/dialogues.html", context, status=200 if is_valid else 422)


def _page_start(request: HttpRequest) -> UUID | None:
    """Public id after which the page begins; None: with the newest."""
    try:
        return UUID(request.GET.get("after", ""))
    except ValueError:
        return None


def _narrowed_by(query: QueryDict) -> str:
    """Filters of an address, for the links from the list and back."""
    filters = QueryDict(mutable=True)
    for name in DialogueFilterForm.base_fields:
        if value := query.get(name):
            filters[name] = value
    return filters.urlencode()


@require_GET
@login_required
def transcript(request: HttpRequest, public_id: UUID) -> HttpResponse:
    if withdrawn := withdrawal_of(request.user, public_id):
        shown = {"study": withdrawn.participation.study, "withdrawal": withdrawn}
        return render(request, "labels/withdrawn.html", shown, status=410)
    visible = readable_dialogues_of(request.user).select_related("study", "imported_in", "relayed_by")
    operated = Exists(Dialogue.objects.filter(pk=OuterRef("pk"), operator_replies__isnull=False))
    rows = visible.prefetch_related(explorer.SEATS_WITH_OCCUPANTS).annotate(was_operated=operated)
    dialogue = get_object_or_404(rows, public_id=public_id)
    study = dialogue.study
    works_on_it = may(request.user, Permission.CHANGE, study)
    form = DialogueFilterForm(study, request.GET, panel_ids=works_on_it)
    newer, older = explorer.neighbours(study, form.by if form.is_valid() else DialogueFilter(), dialogue)
    seats = {each.number: each for each in dialogue.seats.all()}
    faults: dict[int, list[str]] = {}
    for position, kind in dialogue.faults.values_list("position", "kind"):
        faults.setdefault(position, []).append(kind)
    wholes, wholes_by_readers = _answers_by_party(labels_of_whole(dialogue))
    sent = _pictures(dialogue)
    was_operated: bool = dialogue.was_operated  # type: ignore[attr-defined]  # annotated above
    operators = operators_of(dialogue) if works_on_it and was_operated else {}
    context = {
        "study": study,
        "dialogue": dialogue,
        "participation": dialogue.participation,
        "may_change": works_on_it,
        "newer": newer,
        "older": older,
        "narrowed_by": _narrowed_by(request.GET),
        "turns": [
            _turn_row(dialogue, turn, seats[turn.position % 2], faults.pop(turn.position, []))
            | {"operator": operators.get(turn.position, ""), "picture": sent.get(turn.position)}
            for turn in turns_with_labels(dialogue)
        ],
        "wholes": wholes,
        "wholes_by_readers": wholes_by_readers,
        "materials": [
            {"who": _occupant_name(dialogue, seats[number]), "texts": texts}
            for number, texts in reading_material.material_by_seat(dialogue).items()
        ],
        "unanswered_faults": [kind for kinds in faults.values() for kind in kinds],
    }
    return render(request, "labels/transcript.html", context)


@require_POST
@login_required
def exclude(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """Exclude the worker of this conversation for the given reason; an empty reason undoes it."""
    dialogue = get_object_or_404(dialogues_of(request.user), public_id=public_id)
    participation = dialogue.participation
    if participation is None:
        raise Http404("Nobody of this platform talked in this conversation.")
    assert request.user.is_authenticated
    ending.exclude(participation.pk, reason=request.POST.get("reason", ""), by=request.user)
    query = _narrowed_by(request.GET)
    address = reverse("labels:transcript", args=[public_id])
    return redirect(f"{address}?{query}" if query else address)


def _occupant_name(dialogue: Dialogue, seat: Seat) -> str:
    """Name of the seat's occupant on the page."""
    if dialogue.participation is None:
        return seat.name or str(seat.bot or seat.worker)
    return gettext("The chatbot") if seat.bot else gettext("The worker")


def _turn_row(dialogue: Dialogue, turn: Turn, speaker: Seat, faults: list[str]) -> dict[str, object]:
    is_of_worker = dialogue.participation is not None
    is_self_play = dialogue.origin == Dialogue.Origin.LIVE and not is_of_worker
    answers, readers = _answers_by_party(turn.labels.all())
    return {
        "position": turn.position,
        "speaker": "bot" if speaker.bot else "human",
        "name": "" if is_of_worker else _occupant_name(dialogue, speaker),
        "text": turn.text,
        "is_withdrawn": turn.text == WITHDRAWN,
        "html": as_html(turn.text) if turn.text and speaker.bot and dialogue.study.markdown else "",
        "counted": turn.position >= dialogue.opening_turns,
        "is_to_be_labelled": not is_self_play,
        "latency_ms": turn.latency_ms,
        "how": turn.how,
        "versions": list(turn.versions.all()) if dialogue.study.max_reply_versions > 1 else [],
        "answers": answers,
        "readers": readers,
        "faults": faults,
    }


def _pictures(dialogue: Dialogue) -> dict[int, dict[str, Any]]:
    """Pictures of the messages by position, with their addresses."""
    sent = pictures.pictures_of(dialogue.pk) if dialogue.study.takes_pictures else {}
    return {at: pictures.staff_picture_of(each, dialogue.public_id) for at, each in sent.items()}


def _answers_by_party(labels: Iterable[Label]) -> tuple[list[tuple[str, str]], list[tuple[str, list[Vote]]]]:
    """Answers of the chatter by question, and votes of the readers."""
    by_chatter: list[tuple[str, str]] = []
    by_set: dict[str, list[dict[str, Answer]]] = {}
    for label in labels:
        if label.party == Party.READER:
            by_set.setdefault(label.question_set, []).append(label.answers)
        else:
            by_chatter += _answer_rows(label.question_set, label.answers)
    return by_chatter, [row for questions, answers in by_set.items() for row in tally(questions, answers)]


def _answer_rows(questions: str, answers: Mapping[str, Answer]) -> list[tuple[str, str]]:
    in_set = question_set(questions).questions
    return [(each.wording, each.caption_of(answers[each.key])) for each in in_set if each.key in answers]
