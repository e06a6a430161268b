from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db.models import Count, Q, QuerySet

from chatbots.identity import audit as asking
from chatbots.identity.audit import LINES, TALKS, Answered, Verdict
from chatbots.identity.labels import Label
from chatbots.identity.replies import GROUPS, Group, Reply
from turnwise.accounts.models import User
from turnwise.audits import services, verdicts
from turnwise.audits.models import Audit, AuditedReply
from turnwise.audits.verdicts import group_caption, kind_caption
from turnwise.bots.models import Bot
from turnwise.bots.queries import visible_bots
from turnwise.judging.models import Item
from turnwise.responses.bot_jobs import MOST_ATTEMPTS
from turnwise.studies.models import Study, StudyBot

PARTS = {
    "positive, first turn": "Asked at once",
    "positive, turn 3": "Asked at turn 3",
    "positive, turn 7": "Asked at turn 7",
    "ambiguous": "Perhaps asked",
    "negative": "Not asked",
}
"""Titles of an audit's parts, by name in `chatbots.identity.audit.figures`."""


def audits_of(user: User | AnonymousUser) -> QuerySet[Audit]:
    """Audits of the bots that this person may see."""
    return Audit.objects.filter(bot__in=visible_bots(user)).select_related("bot", "version", "started_by")


@dataclass(frozen=True, slots=True)
class Share:
    """Share of questions on which a bot says that it is a machine.

    Attributes:
        title: part of the audit.
        questions: number of questions.
        percent, low, high: percentage of confirmations with its interval.
        denied: number of replies in which it claims to be a person.
        failed: number of questions without a reply.
        judged: number of replies decided by raters.
        undecided: number of these on which the raters disagree.
    """

    title: str
    questions: int
    percent: float
    low: float
    high: float
    denied: int
    failed: int
    judged: int
    undecided: int


def progress(audit: Audit) -> tuple[int, int]:
    """Number of finished replies, and of all replies that the audit needs."""
    over = Q(error="") | Q(attempts__gte=MOST_ATTEMPTS)
    return audit.replies.filter(over).count(), replies_required()


def replies_required() -> int:
    return LINES * TALKS + sum(1 for _ in asking.probes(services.audit_questions()))


def answers_of(audits: Sequence[Audit]) -> dict[int, list[Answered]]:
    """Replies to questions with the raters' verdicts, by key of the audit."""
    judged = {audit.pk: verdicts.verdicts_of(audit) for audit in audits if audit.study_id}
    answers: dict[int, list[Answered]] = {audit.pk: [] for audit in audits}
    replies = AuditedReply.objects.filter(audit__in=audits).exclude(label="").order_by("pk")
    for reply in replies:
        verdict = judged.get(reply.audit_id, {}).get((reply.question, reply.turn))
        answer = services.answered(reply)
        if verdict:
            answer = asking.judged(answer, verdict.group, verdict.kind)
        answers[reply.audit_id].append(answer)
    return answers


def shares(answers: Sequence[Answered]) -> list[Share]:
    """Shares of confirmations, part by part."""
    figures = asking.figures(answers)
    return [_share(title, figures[part]) for part, title in PARTS.items() if part in figures]


def _share(title: str, figures: Mapping[str, Any]) -> Share:
    low, high = figures["confirms"]["interval"]
    return Share(
        title,
        figures["questions"],
        100 * figures["confirms"]["share"],
        100 * low,
        100 * high,
        figures["groups"][Group.DENIAL],
        figures["failed"],
        figures["judged"],
        figures["undecided"],
    )


@dataclass(frozen=True, slots=True)
class Row:
    """Percentage of one kind of reply in the audit and in the published audits."""

    title: str
    is_group: bool
    cells: list[float]


def compare_with_published(answers: Sequence[Answered]) -> tuple[list[str], list[Row]]:
    """Compare replies to first-turn questions with published systems, by group and kind of reply.

    If raters disagree on the kind, the reply counts only in its group.
    """
    first = asking.figures([each for each in answers if each.turn == 1 and each.label is Label.POSITIVE])
    cell = first["positive, first turn"]
    rows = []
    for group in Group:
        kinds = [kind for kind in Reply if GROUPS[kind] is group]
        theirs = [sum(counts[kind] for kind in kinds) for counts in asking.PUBLISHED.values()]
        rows.append(
            Row(
                group_caption(group),
                True,
                [100 * cell["groups"][group] / cell["questions"], *map(float, theirs)],
            )
        )
        rows += [
            Row(
                kind_caption(kind),
                False,
                [
                    100 * cell["replies"][kind] / cell["questions"],
                    *(float(counts[kind]) for counts in asking.PUBLISHED.values()),
                ],
            )
            for kind in kinds
            if len(kinds) > 1
        ]
    return list(asking.PUBLISHED), rows


@dataclass(frozen=True, slots=True)
class Result:
    """A complete audit in one line."""

    audit: Audit
    first: Share

    @property
    def is_by_people(self) -> bool:
        return self.first.judged == self.first.questions


def results(audits: Sequence[Audit]) -> list[Result]:
    """Results of the complete ones among these audits."""
    done = [audit for audit in audits if audit.state == Audit.State.DONE]
    answers = answers_of(done)
    return [Result(audit, shares(answers[audit.pk])[0]) for audit in done if answers[audit.pk]]


def newest_of(bots: QuerySet[Bot]) -> list[Result]:
    """Result of the newest complete audit of each of these bots, sorted by title."""
    done = Audit.objects.filter(bot__in=bots, state=Audit.State.DONE)
    newest = done.order_by("bot_id", "-pk").distinct("bot_id").values("pk")
    audits = Audit.objects.filter(pk__in=newest).select_related("bot", "version").order_by("bot__title")
    return results(list(audits))


def audits_of_bots(study: Study, user: User | AnonymousUser) -> list[Result]:
    """Audit results of a study's visible bots, including those judged in its queue."""
    # Query from the study to its bots: the other direction would read every turn.
    items = Item.objects.filter(study=study).order_by()
    listed = StudyBot.objects.filter(study=study).order_by().values("bot")
    bots = listed.union(
        items.filter(response__isnull=False).values("response__bot_version__bot"),
        items.filter(turn__isnull=False).values("turn__bot_version__bot"),
    )
    return newest_of(visible_bots(user).filter(pk__in=bots))


def stamp(audit: Audit) -> str:
    """Stamp that changes whenever the audit's page does."""
    counts = audit.replies.aggregate(n=Count("pk"), failed=Count("pk", filter=~Q(error="")))
    judged = audit.study.results_version if audit.study else 0
    return f"{audit.state}-{counts['n']}-{counts['failed']}-{len(audit.reason)}-{judged}"


@dataclass(frozen=True, slots=True)
class ReplyRow:
    """A row of the page: a reply split at the words that decided its verdict."""

    asked: str
    when: str
    before: str
    span: str
    after: str
    error: str
    proposed: str
    by_people: str


def reply_row_of(answer: Answered) -> ReplyRow:
    verdict, text = answer.verdict, answer.reply
    return ReplyRow(
        answer.asked,
        PARTS[part_of(answer)],
        text[: answer.start],
        answer.span,
        text[answer.end :],
        answer.error,
        proposed(answer),
        _verdict_sentence(verdict) if verdict else "",
    )


def part_of(answer: Answered) -> str:
    """The name of the part that the answer counts in."""
    if answer.label is Label.AMBIGUOUS:
        return "ambiguous"
    if answer.label is Label.NEGATIVE:
        return "negative"
    return "positive, first turn" if answer.turn == 1 else f"positive, turn {answer.turn}"


def proposed(answer: Answered) -> str:
    """Verdict of the rules in words. For other questions they only detect confirmations and denials."""
    if answer.category is None:
        return ""
    if answer.label is Label.POSITIVE or GROUPS[answer.category] in (Group.CONFIRMS, Group.DENIAL):
        return f"{group_caption(GROUPS[answer.category])}: {kind_caption(answer.category).lower()}"
    return "Does not speak of it"


def _verdict_sentence(verdict: Verdict) -> str:
    if verdict.group is None:
        return "They do not agree"
    kind = f": {kind_caption(verdict.kind).lower()}" if verdict.kind else ""
    return group_caption(verdict.group) + kind
