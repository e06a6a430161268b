from django.db import models
from django.db.models import Q

from crowd.models import Worker
from dialogues.models import Turn


class Label(models.Model):
    """One rater's answers to a question set about one turn."""

    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="labels")
    rater = models.ForeignKey(Worker, on_delete=models.CASCADE, related_name="labels")
    question_set = models.CharField(max_length=60)
    answers = models.JSONField(
        help_text="By question key, as evaluation.questions.QuestionSet.check returns them."
    )
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField()
    changes = models.PositiveSmallIntegerField(default=0, help_text="How often the rater changed their mind.")

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("turn", "rater", "question_set"), name="label_once_per_rater"),
            models.CheckConstraint(
                name="label_specific_needs_sensible",
                condition=Q(answers__specific__isnull=True)
                | Q(answers__specific=False)
                | Q(answers__sensible=True),
                violation_error_message="A reply that makes no sense cannot be specific.",
            ),
        )

    def __str__(self) -> str:
        return f"{self.answers} for turn {self.turn_id}"
