from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from evaluation.statistics.linking import FEWEST_ANCHORS, known_values
from turnwise.accounts.models import User
from turnwise.judging.anchors.pack_files import MOST_BYTES
from turnwise.judging.anchors.packs import MOST_ANCHORS, Choice, judgments_of, packs_of, scored_sets
from turnwise.judging.anchors.study_anchors import packs_in
from turnwise.judging.asks import question_sets_of
from turnwise.judging.models import AnchorPack
from turnwise.questions.question_sets import titled
from turnwise.studies.models import Study

USUAL = 20
"""Number of anchors that the form suggests."""


class MakePackForm(forms.Form):
    """What of a study becomes an anchor pack."""

    title = forms.CharField(
        label=_("Name"),
        max_length=120,
        help_text=_("A name that you have used makes the next version of that pack."),
    )
    score = forms.ChoiceField(
        label=_("Spread over"),
        help_text=_(
            "Anchors are chosen evenly over the range of this score. The pack has the values of all scores "
            "of the same questions."
        ),
    )
    number = forms.IntegerField(
        label=_("Number of anchors"),
        initial=USUAL,
        validators=[MinValueValidator(FEWEST_ANCHORS), MaxValueValidator(MOST_ANCHORS)],
        help_text=_(
            "20 or more link two studies well. Each needs as many raters as any item of the other study."
        ),
    )
    excluded = forms.MultipleChoiceField(
        label=_("Leave out"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("Items of these systems do not become anchors."),
    )

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices, systems, most = [], set[str](), 0
        for questions in scored_sets(study):
            found = judgments_of(study, questions.key)
            systems |= {*found.systems}
            for score in questions.scores if found.values else ():
                items = len(known_values(found.values[score.key], found.item, found.rater).items)
                most = max(most, items)
                title = _("%(set)s: %(score)s (%(items)s items)") % {
                    "set": titled(questions),
                    "score": score.title,
                    "items": f"{items:,}",
                }
                choices.append((f"{questions.key} {score.key}", title))
        self.fields["score"].choices = choices  # type: ignore[attr-defined]  # a choice
        self.fields["excluded"].choices = [(each, each) for each in sorted(systems)]  # type: ignore[attr-defined]
        self.fields["title"].initial = study.title
        self.can_be_made = bool(choices)
        self.fields["number"].initial = min(USUAL, max(most, FEWEST_ANCHORS))

    def choice(self) -> Choice:
        """What a valid form chooses."""
        given = self.cleaned_data
        questions, _space, score = given["score"].partition(" ")
        return Choice(
            title=given["title"],
            questions=questions,
            score=score,
            number=given["number"],
            excluded=frozenset(given["excluded"]),
        )


class PackFileForm(forms.Form):
    """A file of an anchor pack."""

    file = forms.FileField(
        label=_("JSON Lines"),
        help_text=_("A file as the page of a pack gives it, or one that you wrote: see the manual."),
    )

    def clean_file(self) -> str:
        """The text of the file."""
        file = self.cleaned_data["file"]
        if file.size > MOST_BYTES:
            raise ValidationError(gettext("The file is larger than 2\u00a0MB. Leave some anchors out."))
        try:
            return str(file.read().decode("utf-8-sig").replace("\x00", ""))
        except UnicodeDecodeError:
            raise ValidationError(
                gettext("The file is not in UTF-8. Save it in UTF-8, and try again.")
            ) from None


class AddPackForm(forms.Form):
    """A pack for a study's queue: those that the person may use and that know the study's questions."""

    pack = forms.ModelChoiceField(
        queryset=AnchorPack.objects.none(),
        label=_("Anchor pack"),
        help_text=_("Packs whose values are known by the same version of the questions of this study."),
    )

    def __init__(self, *args: Any, study: Study, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        in_queue = {each.pack.question_set for each in packs_in(study)}
        keys = {each.key for each in question_sets_of(study)} - in_queue
        fitting = packs_of(user).filter(question_set__in=keys).exclude(source=study)
        field = self.fields["pack"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = fitting
        self.has_packs = fitting.exists()
