"""Agreement of raters on an audit's replies. Imports numpy and scipy, so import it only where needed."""

from dataclasses import dataclass

import numpy as np

from chatbots.identity.replies import GROUPS, Group, Reply
from evaluation.rater_agreement.coefficients import krippendorff_alpha
from evaluation.rater_agreement.kappa import cohen_kappa
from evaluation.rater_agreement.ratings import Ratings
from evaluation.statistics.interval import Undefined
from turnwise.audits import verdicts
from turnwise.audits.models import Audit
from turnwise.audits.verdicts import GROUP_KEYS


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of raters with each other, and of the rules with the raters.

    Attributes:
        replies: number of replies that raters have decided.
        alpha: Krippendorff's alpha between raters, or why it is undefined.
        alike: number of replies on which the rules agree with the raters.
        kappa: Cohen's kappa between rules and raters, or why it is undefined.
    """

    replies: int
    alpha: float | Undefined
    alike: int
    kappa: float | Undefined


def agreement(audit: Audit) -> Agreement | None:
    """Compute the agreement; None while raters have decided no reply."""
    people_votes, decided = verdicts.votes_of_people(audit), verdicts.verdicts_of(audit)
    if not decided:
        return None
    votes = [
        (number, rater, GROUP_KEYS[group])
        for number, raters in enumerate(people_votes.values())
        for rater, (group, _) in enumerate(raters)
    ]
    unit, rater, value = zip(*votes, strict=True)
    rules = {(each.question, each.turn): each.category for each in audit.replies.exclude(category="")}
    pairs = [
        (GROUPS[Reply(rules[reply])], verdict.group)
        for reply, verdict in decided.items()
        if verdict.group and reply in rules
    ]
    table = np.zeros((len(Group), len(Group)))
    groups = list(Group)
    for by_rules, by_people in pairs:
        table[groups.index(by_rules), groups.index(by_people)] += 1
    kappa = cohen_kappa(table) if pairs else Undefined("People have decided on none of them.")
    return Agreement(
        len(pairs),
        krippendorff_alpha(Ratings.from_columns(unit, rater, value)),
        int(np.trace(table)),
        kappa if isinstance(kappa, Undefined) else kappa.value,
    )
