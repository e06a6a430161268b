"""Raters of an audit's replies: their judging studies, their verdicts with captions, and the CSV of replies.

Two raters judge each reply, and a third if they differ.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from chatbots.identity import audit as asking
from chatbots.identity.audit import Answered, Verdict
from chatbots.identity.labels import Label as IdentityLabel
from chatbots.identity.replies import GROUPS, Group, Reply
from evaluation.files.writing import csv_text
from evaluation.questions import IDENTITY_REPLY
from evaluation.texts.lengths import MAX_REPLY_CHARS, MAX_TURN_CHARS
from turnwise.accounts.models import User
from turnwise.audits import services
from turnwise.audits.models import Audit, AuditedReply
from turnwise.bots.models import Bot
from turnwise.contexts.files import ContextRow
from turnwise.contexts.models import ContextSet, ContextSetVersion
from turnwise.contexts.services import import_version
from turnwise.judging.items.subjects import add_responses
from turnwise.judging.queue.services import plan_of
from turnwise.labels.models import Label
from turnwise.responses.models import Response, ResponseRun, Source
from turnwise.studies.models import Study
from turnwise.studies.presets import preset_named
from turnwise.studies.services import save_study

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


LANGUAGE = "en"
NOT_SHARED = "Not for sharing: what a chatbot said here"


@transaction.atomic
def create_rater_study(audit_id: int, *, by: User, first_only: bool) -> Study:
    """Create a draft study in which raters judge the audit's replies to positive questions.

    Args:
        audit_id: a complete audit.
        by: whose study it becomes.
        first_only: only replies to first turns, as in the publication; else those to later turns, too.

    Raises:
        ValidationError: the audit is not complete, nothing of it can be judged, or people judge it already.
    """
    audit = Audit.objects.select_for_update().get(pk=audit_id)
    if audit.study_id is not None:
        raise ValidationError(gettext("People judge these replies already, in the study that is named here."))
    if audit.state != Audit.State.DONE:
        raise ValidationError(gettext("The audit is not complete. People can judge its replies once it is."))
    replies = audit.replies.filter(label=IdentityLabel.POSITIVE, error="").order_by("pk")
    if first_only:
        replies = replies.filter(turn=1)
    if not replies:
        raise ValidationError(
            gettext("The bot replied to no question that asks what it is: nothing can be judged.")
        )
    audit.run = _run(audit, list(replies), by)
    audit.study = _study(audit.bot, by)
    add_responses(audit.study, audit.run)
    audit.save(update_fields=["run", "study"])
    return audit.study


def _study(bot: Bot, owner: User) -> Study:
    preset = preset_named("r-u-a-robot-audit")
    assert preset
    study = preset.study()
    study.title = f"Does {bot.title} say that it is a machine?"[:120]
    study.languages = [LANGUAGE]
    saved = save_study(study, owner=owner, consent_text="", targets={}, asks=preset.asks)
    plan_of(saved)
    return saved


def _run(audit: Audit, replies: Sequence[AuditedReply], owner: User) -> ResponseRun:
    """Create a response run with the replies, over contexts of its own."""
    version = _contexts(audit, replies, owner)
    now = timezone.now()
    run = ResponseRun.objects.create(
        context_version=version,
        source=Source.BOT,
        system=audit.bot.title,
        owner=owner,
        state=ResponseRun.State.DONE,
        active_at=now,
        finished_at=now,
        bot=audit.bot,
        bot_version=audit.version,
        seed=audit.seed,
    )
    contexts = dict(version.contexts.values_list("key", "pk"))
    Response.objects.bulk_create(
        Response(
            run=run,
            context_id=contexts[context_key(each.question, each.turn)],
            text=each.text[:MAX_REPLY_CHARS],
            created_at=now,
            bot_version=audit.version,
        )
        for each in replies
    )
    return run


def _contexts(audit: Audit, replies: Sequence[AuditedReply], owner: User) -> ContextSetVersion:
    name = f"audit-{audit.pk}"
    context_set, _ = ContextSet.objects.get_or_create(
        owner=owner,
        name=name,
        defaults={
            "title": f"Audit of {audit.bot.title}"[:120],
            "licence": NOT_SHARED,
            "description": "What the bot was asked, and what was said before.",
        },
    )
    talks = services.talks_of(audit)
    probes = {(probe.question.id, probe.turn): probe for probe in asking.probes(services.audit_questions())}
    rows = []
    for line, each in enumerate(replies, start=1):
        probe = probes[each.question, each.turn]
        before = asking.context_of(probe, () if probe.talk is None else talks[probe.talk])
        turns = tuple(turn.text[:MAX_TURN_CHARS] for turn in before.turns)
        category = f"turn {each.turn}"
        rows.append(
            ContextRow(line, context_key(each.question, each.turn), turns, category, LANGUAGE, False, "")
        )
    existing = context_set.versions.first()
    if existing and existing.size == len(rows):  # judged before, in a study that is gone
        return existing
    return import_version(context_set, rows, origin=name)
