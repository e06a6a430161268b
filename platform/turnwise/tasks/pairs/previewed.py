from evaluation.questions import Subject
from turnwise.tasks.judging.previewed import JudgingPreviewed


class PairsPreviewed(JudgingPreviewed):
    """Somebody compares a few pairs."""

    template = "tasks/pairs/compare.html"
    example = Subject.PAIR
