"""Compute quality flags of workers, and describe them in sentences. A flag has no effect by itself."""

import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields

from django.db import connection, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from evaluation.quality.accuracy import is_right
from evaluation.quality.flags import Judgment, Kind, KnownAnswer, Thresholds, Work, flags
from evaluation.quality.signs import Message
from turnwise.quality.models import Flag, Limits
from turnwise.questions.question_sets import question_set
from turnwise.studies.models import Study

Figures = Mapping[str, float]

TITLES = {
    Kind.UNREAD: gettext_lazy("Answers before reading"),
    Kind.FAST: gettext_lazy("Much faster than the others"),
    Kind.RUN: gettext_lazy("The same answer in a row"),
    Kind.REPEATS: gettext_lazy("Another answer the second time"),
    Kind.PEERS: gettext_lazy("Little agreement with the others"),
    Kind.GOLD: gettext_lazy("Gold judged wrongly"),
    Kind.ATTENTION: gettext_lazy("An attention check failed"),
    Kind.MACHINE: gettext_lazy("Possibly written by a machine"),
    Kind.PASTED: gettext_lazy("Messages pasted"),
}


def _percent(share: float) -> int:
    return round(100 * share)


def _unread(f: Figures) -> str:
    return _("%(unread)d of %(answers)d answers came faster than anybody can read what they judge.") % f


def _fast(f: Figures) -> str:
    return _(
        "Took %(percent)d\u00a0%% of the time that others took for the same items (median of %(items)d)."
    ) % {
        "percent": _percent(f["pace"]),
        "items": f["items"],
    }


def _run(f: Figures) -> str:
    return (
        _(
            "%(length)d of %(answers)d answers in a row are the same; judging by the answers of others, the "
            "chance of that is at most %(chance).1g."
        )
        % f
    )


def _repeats(f: Figures) -> str:
    return _("Of what was shown a second time, %(same)d of %(of)d answers were the same or next to it.") % f


def _peers(f: Figures) -> str:
    says = _(
        "Agrees with others in %(own)d\u00a0%% of the answers on %(items)d items, while they agree among "
        "themselves in %(others)d\u00a0%%."
    ) % {"own": _percent(f["own"]), "others": _percent(f["others"]), "items": f["items"]}
    if "alpha" not in f:
        return says
    alpha = _(
        " Krippendorff's alpha of whole answers is %(alpha).2f with them, and %(alpha_without).2f without."
    )
    return says + alpha % f


def _gold(f: Figures) -> str:
    return _("%(right)d of %(of)d gold items were judged correctly (%(low)d to %(high)d\u00a0%%).") % {
        "right": f["right"], "of": f["of"], "low": _percent(f["low"]), "high": _percent(f["high"]),
    }  # fmt: skip


def _attention(f: Figures) -> str:
    return (
        ngettext(
            "%(missed)d of %(of)d attention check was failed.",
            "%(missed)d of %(of)d attention checks were failed.",
            int(f["of"]),
        )
        % f
    )


def _machine(f: Figures) -> str:
    return (
        _("%(marked)d of %(messages)d messages carry marks of a language model, a weak sign: read them.") % f
    )


def _pasted(f: Figures) -> str:
    return _(
        "%(pasted)d of %(messages)d messages were mostly pasted; all were typed in %(seconds)d seconds in "
        "total."
    ) % {"pasted": f["pasted"], "messages": f["messages"], "seconds": round(f["seconds"])}


_SAYS: Mapping[Kind, Callable[[Figures], str]] = {
    Kind.UNREAD: _unread,
    Kind.FAST: _fast,
    Kind.RUN: _run,
    Kind.REPEATS: _repeats,
    Kind.PEERS: _peers,
    Kind.GOLD: _gold,
    Kind.ATTENTION: _attention,
    Kind.MACHINE: _machine,
    Kind.PASTED: _pasted,
}


def describe_flag(kind: str, figures: Figures) -> str:
    """Describe a flag in a sentence."""
    return _SAYS[Kind(kind)](figures)


def rejection_message(says: str) -> str:
    """Draft of the message to a worker whose work is rejected for these reasons."""
    return _(
        "We are sorry that we cannot accept your work in this study: %(says)s If you think that this is a "
        "mistake, write to us, and a person will look at it again."
    ) % {"says": says}


MOST_LABELS = 100_000
"""Limit of labels above which flags are not computed with each report."""
MOST_EVIDENCE = 20

# Each label with its subject. The words to read are 0 for labels about the rater's own turns.
_LABELS = """
SELECT l.id, crowd_pseudonym(l.rater_id, l.study_id), l.question_set, l.answers::text, l.answer_ms,
       concat_ws('-', l.turn_id, r.id, l.dialogue_id, l.pair_id, l.context_id),
       coalesce(run.system, b.title, ''),
       CASE WHEN own.id IS NULL
            THEN coalesce(array_length(regexp_split_to_array(btrim(coalesce(t.text, r.text)), '\\s+'), 1), 0)
            ELSE 0 END,
       l.occasion, coalesce(s.is_gold, false), coalesce(i.is_instructed, false), i.right_answers::text
  FROM labels_label AS l
  LEFT JOIN dialogues_turn AS t ON t.id = l.turn_id
  LEFT JOIN dialogues_seat AS own ON own.dialogue_id = t.dialogue_id AND own.worker_id = l.rater_id
                                 AND own.number = t.position %% 2
  LEFT JOIN bots_botversion AS v ON v.id = t.bot_version_id
  LEFT JOIN bots_bot AS b ON b.id = v.bot_id
  LEFT JOIN responses_response AS r ON r.id = l.response_id
  LEFT JOIN responses_responserun AS run ON run.id = r.run_id
  LEFT JOIN judging_slot AS s ON s.label_id = l.id
  LEFT JOIN judging_item AS i ON i.id = s.item_id
 WHERE l.study_id = %s AND l.participation_id IS NULL
 ORDER BY l.id
"""
_LABELS_THERE = """
SELECT count(*)
  FROM (SELECT FROM labels_label WHERE study_id = %s AND participation_id IS NULL LIMIT %s) AS found
"""
_SAID = """
SELECT crowd_pseudonym(seat.worker_id, d.study_id), t.text, typing.pasted, typing.typing_ms
  FROM dialogues_dialogue AS d
  JOIN dialogues_seat AS seat ON seat.dialogue_id = d.id
  JOIN dialogues_turn AS t ON t.dialogue_id = d.id AND t.position %% 2 = seat.number
                          AND t.position >= d.opening_turns
  LEFT JOIN dialogues_typing AS typing ON typing.turn_id = t.id
 WHERE d.study_id = %s AND seat.worker_id IS NOT NULL
 ORDER BY t.dialogue_id, t.position
 LIMIT %s
"""


def is_too_large(study: Study) -> bool:
    """True if the study has too many labels to compute flags."""
    with connection.cursor() as cursor:
        cursor.execute(_LABELS_THERE, [study.pk, MOST_LABELS + 1])
        return bool(cursor.fetchone()[0] > MOST_LABELS)


def limits_of(study: Study) -> Limits:
    """The study's limits; an unsaved default if none are stored."""
    return Limits.objects.filter(study=study).first() or Limits(study=study)


def thresholds(limits: Limits) -> Thresholds:
    return Thresholds(**{field.name: getattr(limits, field.name) for field in fields(Thresholds)})


def work_by_worker(study: Study) -> dict[str, Work]:
    """Collect the work of each worker of the study, by pseudonym."""
    judgments: dict[str, list[Judgment]] = defaultdict(list)
    known: dict[str, list[KnownAnswer]] = defaultdict(list)
    messages: dict[str, list[str]] = defaultdict(list)
    typed: dict[str, list[Message]] = defaultdict(list)
    texts: dict[str, set[str]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_LABELS, [study.pk])
        rows = cursor.fetchall()
        cursor.execute(_SAID, [study.pk, MOST_LABELS])
        for worker, text, pasted, ms in cursor.fetchall():
            messages[worker].append(text)
            if pasted is not None:
                typed[worker].append(Message(len(text), pasted, ms))
    checks = {(each.question_set, each.question): each.right for each in study.attention_checks.all()}
    for pk, worker, asked, answers, ms, item, system, words, occasion, is_gold, is_check, right in rows:
        answered = json.loads(answers)
        if is_gold:
            known[worker].append(KnownAnswer(is_right(json.loads(right or "{}"), answered), is_check, pk))
            continue
        free = texts.setdefault(asked, set(question_set(asked).free_texts))
        judged = {key: answer for key, answer in answered.items() if key not in free}
        for question in [key for key in judged if (asked, key) in checks]:
            right_one = is_right({question: [checks[asked, question]]}, answered)
            known[worker].append(KnownAnswer(right_one, True, pk))
            del judged[question]
        time = float("nan") if ms is None else float(ms)
        judgments[worker].append(
            Judgment(worker, f"{asked} {item}", f"{asked} {system}", judged, time, words, occasion, pk)
        )
    return {
        worker: Work(judgments[worker], known[worker], messages[worker], typed[worker])
        for worker in {*judgments, *known, *messages}
    }


def update_flags(study: Study) -> int:
    """Recompute the flags of a study; returns the number of flagged workers. Decisions stay.

    A study that is too large keeps its latest flags, and its page says so.
    """
    if is_too_large(study):
        return study.participations.filter(flags__isnull=False).distinct().count()
    limits = limits_of(study)
    found = flags(work_by_worker(study), thresholds(limits))
    # Flags belong to a worker's newest participation.
    flagged = study.participations.filter(pseudonym__in=found).order_by("number")
    named = dict(flagged.values_list("pseudonym", "pk"))
    now = timezone.now()
    rows = [
        Flag(
            participation_id=named[worker],
            kind=flag.kind,
            figures=dict(flag.figures),
            evidence=list(flag.evidence[:MOST_EVIDENCE]),
            found_at=now,
        )
        for worker, of in found.items()
        if worker in named
        for flag in of
    ]
    with transaction.atomic():
        Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        Flag.objects.filter(participation__study=study).delete()
        Flag.objects.bulk_create(rows)
    return len({row.participation_id for row in rows})


def save_limits(limits: Limits) -> int:
    """Store the limits and recompute the flags; returns the number of flagged workers."""
    limits.full_clean(exclude=["study"])
    before = Limits.objects.filter(study=limits.study).first()
    limits.pk = before.pk if before else None
    limits.save()
    return update_flags(limits.study)


def default_limits() -> dict[str, float]:
    """Default limits."""
    return asdict(Thresholds())
