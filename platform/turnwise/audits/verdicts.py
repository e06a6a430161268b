"""Raters' verdicts on an audit's replies, the captions of verdicts, and the CSV of replies."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from chatbots.identity.audit import Answered, Verdict
from chatbots.identity.replies import GROUPS, Group, Reply
from evaluation.files.writing import csv_text
from evaluation.questions import IDENTITY_REPLY
from turnwise.audits.models import Audit
from turnwise.labels.models import Label

GROUP_KEYS: Mapping[Group, str] = {
    Group.CONFIRMS: "confirms",
    Group.ON_TOPIC: "on_topic",
    Group.UNHANDLED: "unhandled",
    Group.DISFLUENT: "disfluent",
    Group.DENIAL: "denial",
}
"""Stored answers to the first question, by group."""


def group_caption(group: Group) -> str:
    return IDENTITY_REPLY.question("group").caption_of(GROUP_KEYS[group])


def kind_caption(kind: Reply) -> str:
    """Caption of a kind of reply; of a denial, which has no kinds, the caption of its group."""
    captions = {
        choice.value: choice.label for question in IDENTITY_REPLY.questions[1:] for choice in question.choices
    }
    return captions.get(kind.value) or group_caption(Group.DENIAL)


COLUMNS = (
    "question", "turn", "label", "asked", "reply", "rules_group", "rules_kind", "span", "people_group",
    "people_kind", "error",
)  # fmt: skip


ACCURACY_COLUMNS = (
    "rules_kappa",
    "rules_kappa_low",
    "rules_kappa_high",
    "rules_kinds_kappa",
    "rules_measured_on",
    "rules_confirmed",
    "labels_confirmed",
)
"""Kappa of the rules on "confirms" with its interval, kappa on the kinds, number of labelled replies, and the
shares of these that confirm by the rules and by the labels."""


def csv_lines(audit: Audit, answers: Iterable[Answered]) -> Iterator[str]:
    yield csv_text([(*COLUMNS, *ACCURACY_COLUMNS)])
    accuracy = ["" if value is None else f"{value:.4g}" for value in accuracy_row(audit).values()]
    for answer in answers:
        yield csv_text([(*reply_row(answer).values(), *accuracy)])


def accuracy_row(audit: Audit) -> dict[str, float | None]:
    """Accuracy of the rules that sorted an audit's replies, by column; None where unknown."""
    accuracy = audit.rules_accuracy
    if not accuracy:
        return dict.fromkeys(ACCURACY_COLUMNS)
    confirms, kinds = accuracy["confirms"], accuracy["kinds"]
    kappas = (confirms["value"], confirms["low"], confirms["high"], kinds["value"])
    # Accuracies stored by earlier versions lack the shares.
    shares = (accuracy.get("confirmed_by_rules"), accuracy.get("confirmed_by_labels"))
    return dict(zip(ACCURACY_COLUMNS, (*kappas, accuracy["replies"], *shares), strict=True))


def reply_row(answer: Answered) -> dict[str, str]:
    """Values of a reply by column; empty where unknown."""
    verdict = answer.verdict
    values = (
        answer.question,
        str(answer.turn),
        answer.label,
        answer.asked,
        answer.reply,
        GROUP_KEYS[GROUPS[answer.category]] if answer.category else "",
        answer.category or "",
        answer.span,
        GROUP_KEYS[verdict.group] if verdict and verdict.group else "",
        verdict.kind or "" if verdict else "",
        answer.error,
    )
    return dict(zip(COLUMNS, map(str, values), strict=True))


Key = tuple[str, int]
"""A question and the turn at which it was asked."""
Vote = tuple[Group, Reply | None]
FEWEST = 2
"""Minimum of raters for a verdict."""

_GROUPS = {key: group for group, key in GROUP_KEYS.items()}


def context_key(question: str, turn: int) -> str:
    """Key of the context for a question of the audit at a turn."""
    return f"{question}@{turn}"


def votes_of_people(audit: Audit) -> dict[Key, list[Vote]]:
    """Votes of raters who are not excluded, by question and turn."""
    if audit.study_id is None or audit.run_id is None:
        return {}
    labels = Label.objects.filter(
        study=audit.study_id, response__run=audit.run_id, question_set=IDENTITY_REPLY.key
    ).exclude(
        rater__in=audit.study.participations.exclude(excluded_reason="").values_list(  # type: ignore[union-attr]
            "worker", flat=True
        )
    )
    votes: dict[Key, list[Vote]] = {}
    for key, answers in labels.order_by("pk").values_list("response__context__key", "answers"):
        question, _, turn = key.rpartition("@")
        kind = Reply.DENIES.value if answers["group"] == "denial" else answers.get(answers["group"])
        vote = _GROUPS[answers["group"]], Reply(kind) if kind else None
        votes.setdefault((question, int(turn)), []).append(vote)
    return votes


def verdicts_of(audit: Audit) -> dict[Key, Verdict]:
    """Verdicts by question and turn."""
    verdicts = {key: verdict(votes) for key, votes in votes_of_people(audit).items()}
    return {key: each for key, each in verdicts.items() if each}


def verdict(said: Sequence[Vote]) -> Verdict | None:
    """Majority of the raters; None while there are too few, or a third rater must decide."""
    if len(said) < FEWEST:
        return None
    group, votes = Counter(group for group, _ in said).most_common(1)[0]
    if 2 * votes <= len(said):
        return None if len(said) == FEWEST else Verdict(None, None)
    kind, alike = Counter(kind for _, kind in said).most_common(1)[0]
    return Verdict(group, kind if 2 * alike > len(said) else None)
