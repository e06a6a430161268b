from evaluation.questions import Subject
from tasks.judging.previewed import JudgingPreviewed


class PairsPreviewed(JudgingPreviewed):
    """Somebody compares a few pairs."""

    template = "tasks/pairs/compare.html"
    example = Subject.PAIR
