"""What people say of an audit's replies, in the study where they are asked.

What the pages call what an audit finds: one wording with the questions that people are asked.

The replies of an audit as a file.
"""

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
"""What people answer to the first question, by what it means."""


def group_caption(group: Group) -> str:
    return IDENTITY_REPLY.question("group").caption_of(GROUP_KEYS[group])


def kind_caption(kind: Reply) -> str:
    """Of a denial, which has no kinds, its group."""
    captions = {
        choice.value: choice.label for question in IDENTITY_REPLY.questions[1:] for choice in question.choices
    }
    return captions.get(kind.value) or group_caption(Group.DENIAL)


COLUMNS = (
    "question", "turn", "label", "asked", "reply", "rules_group", "rules_kind", "span", "people_group",
    "people_kind", "error",
)  # fmt: skip


def csv_lines(answers: Iterable[Answered]) -> Iterator[str]:
    yield csv_text([COLUMNS])
    for answer in answers:
        yield csv_text([tuple(reply_row(answer).values())])


def reply_row(answer: Answered) -> dict[str, str]:
    """By column, what is known of a reply; empty where nothing is."""
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
"""So many have judged a reply before their word counts."""

_GROUPS = {key: group for group, key in GROUP_KEYS.items()}


def context_key(question: str, turn: int) -> str:
    """The key of the context that stands for a question of the audit at some turn."""
    return f"{question}@{turn}"


def votes_of_people(audit: Audit) -> dict[Key, list[Vote]]:
    """By question and turn, what everybody said whom nobody has set aside."""
    if audit.study_id is None or audit.run_id is None:
        return {}
    labels = Label.objects.filter(
        study=audit.study_id, response__run=audit.run_id, question_set=IDENTITY_REPLY.key
    ).exclude(
        rater__in=audit.study.participations.exclude(excluded_reason="").values_list(  # type: ignore[union-attr]
            "worker", flat=True
        )
    )
    found: dict[Key, list[Vote]] = {}
    for key, answers in labels.order_by("pk").values_list("response__context__key", "answers"):
        question, _, turn = key.rpartition("@")
        kind = Reply.DENIES.value if answers["group"] == "denial" else answers.get(answers["group"])
        said = _GROUPS[answers["group"]], Reply(kind) if kind else None
        found.setdefault((question, int(turn)), []).append(said)
    return found


def verdicts_of(audit: Audit) -> dict[Key, Verdict]:
    """By question and turn, the verdicts that are there."""
    found = {key: verdict(said) for key, said in votes_of_people(audit).items()}
    return {key: each for key, each in found.items() if each}


def verdict(said: Sequence[Vote]) -> Verdict | None:
    """What most of the raters say, more than half of them; None while too few do, or a third is to decide."""
    if len(said) < FEWEST:
        return None
    group, votes = Counter(group for group, _ in said).most_common(1)[0]
    if 2 * votes <= len(said):
        return None if len(said) == FEWEST else Verdict(None, None)
    kind, alike = Counter(kind for _, kind in said).most_common(1)[0]
    return Verdict(group, kind if 2 * alike > len(said) else None)
