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
from turnwise.dialogues import reading_material
from turnwise.dialogues.models import Dialogue, Seat, Turn
from turnwise.labels import explorer
from turnwise.labels.explorer import Asked, Found, Wanted, scores_of
from turnwise.labels.models import Label
from turnwise.labels.queries import (
    Vote,
    dialogues_of,
    labels_of_whole,
    operators_of,
    readable_dialogues_of,
    tally,
    turns_with_labels,
    withdrawn_with,
)
from turnwise.live.markdown import as_html
from turnwise.questions.question_sets import question_set
from turnwise.studies.asks import Party
from turnwise.studies.models import Study
from turnwise.studies.queries import may_change, readable_studies_of

LONGEST_TEXT = 200


class WantedForm(forms.Form):
    """What a list of conversations is narrowed to, as its address says it."""

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
    score = forms.ChoiceField(label=_("Has this score"), required=False)
    lowest = forms.FloatField(label=_("Score from"), required=False)
    highest = forms.FloatField(label=_("Score to"), required=False)
    replies = forms.IntegerField(label=_("Replies, at least"), min_value=1, max_value=10_000, required=False)
    faults = forms.BooleanField(label=_("A reply failed"), required=False)
    disputed = forms.BooleanField(label=_("Most readers differ from the person who talked"), required=False)

    def __init__(self, study: Study, data: Any, *, panel_ids: bool) -> None:
        super().__init__(data)
        self.asked = Asked(study, data.get("score", ""))
        score, scores = self.asked.score, scores_of(study)
        self._panel_ids = panel_ids
        if not panel_ids:
            self.fields["worker"].label = _("Worker")
        bots = self.fields["bot"]
        assert isinstance(bots, forms.ModelChoiceField)
        bots.queryset = Bot.objects.filter(study_bots__study=study).order_by("title", "name")
        if scores:
            chosen = self.fields["score"]
            assert isinstance(chosen, forms.ChoiceField)
            titled = [(key, each.title) for key, (_number, each) in scores.items()]
            chosen.choices = [("", _("Any or none")), *titled]
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
    def wanted(self) -> Wanted:
        """Of a valid form."""
        return Wanted(**self.cleaned_data, panel_ids=self._panel_ids)


@require_GET
@login_required
def dialogues(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(readable_studies_of(request.user), pk=pk)
    works_on_it = may_change(request.user, study)
    form = WantedForm(study, request.GET, panel_ids=works_on_it)
    is_valid = form.is_valid()
    found = explorer.found(study, form.wanted, after=_begun(request)) if is_valid else Found()
    shown = {
        "study": study,
        "form": form,
        "found": found,
        "score": form.asked.score,
        "most_counted": explorer.MOST_COUNTED,
        "narrowed_by": _narrowed_by(request.GET),
        "begun": "after" in request.GET,
        "may_change": works_on_it,
        "withdrawals": Withdrawal.objects.filter(participation__study=study),
    }
    return render(request, "labels/dialogues.html", shown, status=200 if is_valid else 422)


def _begun(request: HttpRequest) -> UUID | None:
    """After which conversation the page begins; what names none begins with the newest."""
    try:
        return UUID(request.GET.get("after", ""))
    except ValueError:
        return None


def _narrowed_by(query: QueryDict) -> str:
    """What of an address narrows the list, for the links from it and back."""
    kept = QueryDict(mutable=True)
    for name in WantedForm.base_fields:
        if value := query.get(name):
            kept[name] = value
    return kept.urlencode()


@require_GET
@login_required
def transcript(request: HttpRequest, public_id: UUID) -> HttpResponse:
    if withdrawn := withdrawn_with(request.user, public_id):
        shown = {"study": withdrawn.participation.study, "withdrawal": withdrawn}
        return render(request, "labels/withdrawn.html", shown, status=410)
    visible = readable_dialogues_of(request.user).select_related("study", "imported_in", "relayed_by")
    operated = Exists(Dialogue.objects.filter(pk=OuterRef("pk"), operator_replies__isnull=False))
    rows = visible.prefetch_related(explorer.WHO_TALKED).annotate(was_operated=operated)
    dialogue = get_object_or_404(rows, public_id=public_id)
    study = dialogue.study
    works_on_it = may_change(request.user, study)
    form = WantedForm(study, request.GET, panel_ids=works_on_it)
    newer, older = explorer.neighbours(study, form.wanted if form.is_valid() else Wanted(), dialogue)
    seats = {each.number: each for each in dialogue.seats.all()}
    faults: dict[int, list[str]] = {}
    for position, kind in dialogue.faults.values_list("position", "kind"):
        faults.setdefault(position, []).append(kind)
    wholes, wholes_by_readers = _told(labels_of_whole(dialogue))
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
            _shown(dialogue, turn, seats[turn.position % 2], faults.pop(turn.position, []))
            | {"operator": operators.get(turn.position, "")}
            for turn in turns_with_labels(dialogue)
        ],
        "wholes": wholes,
        "wholes_by_readers": wholes_by_readers,
        "materials": [
            {"who": _who(dialogue, seats[number]), "texts": texts}
            for number, texts in reading_material.read_in(dialogue).items()
        ],
        "unanswered_faults": [kind for kinds in faults.values() for kind in kinds],
    }
    return render(request, "labels/transcript.html", context)


@require_POST
@login_required
def exclude(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """Set the worker of this conversation aside for the reason given; no reason takes it back."""
    dialogue = get_object_or_404(dialogues_of(request.user), public_id=public_id)
    participation = dialogue.participation
    if participation is None:
        raise Http404("Nobody of this platform talked in this conversation.")
    assert request.user.is_authenticated
    ending.exclude(participation.pk, reason=request.POST.get("reason", ""), by=request.user)
    query = _narrowed_by(request.GET)
    address = reverse("labels:transcript", args=[public_id])
    return redirect(f"{address}?{query}" if query else address)


def _who(dialogue: Dialogue, seat: Seat) -> str:
    """Who sits there, as the page calls them."""
    if dialogue.participation is None:
        return seat.name or str(seat.bot or seat.worker)
    return gettext("The chatbot") if seat.bot else gettext("The worker")


def _shown(dialogue: Dialogue, turn: Turn, speaker: Seat, faults: list[str]) -> dict[str, object]:
    is_of_worker = dialogue.participation is not None
    is_self_play = dialogue.origin == Dialogue.Origin.LIVE and not is_of_worker
    answers, readers = _told(turn.labels.all())
    return {
        "position": turn.position,
        "speaker": "bot" if speaker.bot else "human",
        "name": "" if is_of_worker else _who(dialogue, speaker),
        "text": turn.text,
        "is_withdrawn": turn.text == WITHDRAWN,
        "html": as_html(turn.text) if speaker.bot and dialogue.study.markdown else "",
        "counted": turn.position >= dialogue.opening_turns,
        "is_to_be_labelled": not is_self_play,
        "latency_ms": turn.latency_ms,
        "remarks": (turn.remarks or {}).get("texts", ()),
        "answers": answers,
        "readers": readers,
        "faults": faults,
    }


def _told(labels: Iterable[Label]) -> tuple[list[tuple[str, str]], list[tuple[str, list[Vote]]]]:
    """What whoever talked answered, question by question, and how many readers said what."""
    own: list[tuple[str, str]] = []
    by_set: dict[str, list[dict[str, Answer]]] = {}
    for label in labels:
        if label.party == Party.READER:
            by_set.setdefault(label.question_set, []).append(label.answers)
        else:
            own += _in_words(label.question_set, label.answers)
    return own, [row for questions, answers in by_set.items() for row in tally(questions, answers)]


def _in_words(questions: str, answers: Mapping[str, Answer]) -> list[tuple[str, str]]:
    asked = question_set(questions).questions
    return [(each.wording, each.caption_of(answers[each.key])) for each in asked if each.key in answers]
