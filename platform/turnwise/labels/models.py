from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from turnwise.contexts.models import Context
from turnwise.crowd.models import Participation, Worker
from turnwise.dialogues.models import Dialogue, Turn
from turnwise.live.sql import both_or_neither, one_of
from turnwise.responses.models import Response
from turnwise.studies.asks import Party
from turnwise.studies.models import Ask, Study

JUDGED = ("turn", "response", "dialogue", "pair", "context")
ONE_JUDGED = one_of(*JUDGED)
SUBJECTS = (*JUDGED, "participation")


class Pair(models.Model):
    """Two responses to one context, or two conversations, of different systems, judged side by side.

    The first is the one with the smaller key; raters see the two in random order. People who talk with both
    systems at once may judge the conversations several times, as they grow: each time is a pair of its own.
    """

    first_response = models.ForeignKey(
        Response, on_delete=models.CASCADE, null=True, blank=True, related_name="+", db_index=False
    )
    second_response = models.ForeignKey(
        Response, on_delete=models.CASCADE, null=True, blank=True, related_name="+"
    )
    first_dialogue = models.ForeignKey(
        Dialogue, on_delete=models.CASCADE, null=True, blank=True, related_name="+", db_index=False
    )
    second_dialogue = models.ForeignKey(
        Dialogue, on_delete=models.CASCADE, null=True, blank=True, related_name="+"
    )
    turns = models.SmallIntegerField(
        null=True,
        blank=True,
        help_text=_("Of conversations: how many turns of each, from the first, are judged. Empty: all."),
    )

    class Meta:
        constraints = (
            models.CheckConstraint(
                name="pair_is_of_two_alike",
                condition=Q(
                    first_response__lt=F("second_response"),
                    first_dialogue=None,
                    second_dialogue=None,
                    turns=None,
                )
                | Q(first_dialogue__lt=F("second_dialogue"), first_response=None, second_response=None),
            ),
            models.UniqueConstraint(
                fields=("first_response", "second_response"), name="pair_of_responses_once"
            ),
            models.UniqueConstraint(
                fields=("first_dialogue", "second_dialogue", "turns"),
                condition=Q(first_dialogue__isnull=False),
                nulls_distinct=False,
                name="pair_of_dialogues_once",
            ),
        )

    def __str__(self) -> str:
        return f"{self.first_response_id or self.first_dialogue_id} beside " + str(
            self.second_response_id or self.second_dialogue_id
        )


class Label(models.Model):
    """One rater's answers to a question set about one turn, response, dialogue, pair or context.

    A label about the rater themselves has their participation as its subject. An optional question set that
    the rater skipped has no answers.
    """

    study = models.ForeignKey(
        Study, on_delete=models.CASCADE, related_name="labels", help_text=_("In which it was given.")
    )
    # A foreign key of three columns in the migration ensures that study, ask and question set match.
    ask = models.ForeignKey(
        Ask,
        on_delete=models.DO_NOTHING,
        null=True,
        blank=True,
        related_name="labels",
        db_constraint=False,
        db_index=False,
        help_text=_("What it answers; nothing if it came with a file."),
    )
    # Without own indexes: those of the unique constraints begin with these columns.
    turn = models.ForeignKey(
        Turn, on_delete=models.CASCADE, null=True, blank=True, related_name="labels", db_index=False
    )
    response = models.ForeignKey(
        Response, on_delete=models.CASCADE, null=True, blank=True, related_name="labels", db_index=False
    )
    dialogue = models.ForeignKey(
        Dialogue, on_delete=models.CASCADE, null=True, blank=True, related_name="labels", db_index=False
    )
    pair = models.ForeignKey(
        Pair, on_delete=models.CASCADE, null=True, blank=True, related_name="labels", db_index=False
    )
    context = models.ForeignKey(
        Context, on_delete=models.PROTECT, null=True, blank=True, related_name="labels", db_index=False
    )
    participation = models.ForeignKey(
        Participation, on_delete=models.CASCADE, null=True, blank=True, related_name="labels", db_index=False
    )
    rater = models.ForeignKey(Worker, on_delete=models.CASCADE, related_name="labels")
    party = models.CharField(
        max_length=10, choices=Party, help_text=_("Position from which the rater labels.")
    )
    occasion = models.SmallIntegerField(
        default=1, help_text=_("2 if the same rater judges the same thing a second time, and so on.")
    )
    question_set = models.CharField(max_length=60)
    answers = models.JSONField(
        help_text=_(
            "By question key, as evaluation.questions.QuestionSet.check returns them; of a pair, first "
            "and second as the rater saw them."
        )
    )
    shown_ms = models.IntegerField(
        null=True, blank=True, help_text=_("How long the question was on screen before it was answered.")
    )
    answer_ms = models.IntegerField(
        null=True, blank=True, help_text=_("From what is judged being shown to the answer.")
    )
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField()
    changes = models.SmallIntegerField(default=0, help_text=_("How often the rater changed their mind."))

    class Meta:
        constraints = (
            *(
                # Partial, so that a label is in one of these indexes only, that of its subject.
                models.UniqueConstraint(
                    fields=(subject, "rater", "ask", "question_set", "occasion"),
                    condition=Q(**{f"{subject}__isnull": False}),
                    nulls_distinct=False,
                    name=f"label_of_{subject}_once_per_rater",
                )
                for subject in SUBJECTS
            ),
            models.CheckConstraint(name="label_has_one_subject", condition=one_of(*SUBJECTS)),
            models.CheckConstraint(name="label_occasions_count_from_1", condition=Q(occasion__gte=1)),
            models.CheckConstraint(name="label_is_of_a_known_party", condition=Q(party__in=Party.values)),
            models.CheckConstraint(
                name="label_answers_an_ask_or_came_from_outside",
                condition=both_or_neither(Q(party=Party.OUTSIDE), Q(ask=None)),
            ),
            models.CheckConstraint(
                name="label_of_a_person_is_their_own",
                condition=both_or_neither(Q(party=Party.THEMSELVES), Q(participation__isnull=False)),
            ),
        )
        indexes = (
            # Readers' labels are few; the comparison with chatters starts from them.
            models.Index(
                fields=("turn",),
                condition=Q(party=Party.READER, turn__isnull=False),
                name="label_of_turn_by_readers",
            ),
        )

    def __str__(self) -> str:
        return f"{self.answers} by {self.rater_id}"
