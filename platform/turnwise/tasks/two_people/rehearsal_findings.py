"""Compare a study's pages and report with the conversations of simulated workers."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.utils import timezone

from evaluation.conversation.grounding import LIMITS
from evaluation.protocols.facts import HUMAN
from evaluation.questions.sets.topical_chat import SECTIONS, TOPICAL_CHAT_OWN
from evaluation.report.studies.course import READ_FOR_REPETITION
from turnwise.acceptance.queries import dialogues_to_review, review_rows
from turnwise.acceptance.services import limits_of
from turnwise.dialogues.models import MOST_USES, ArticleUse, ReadingSet
from turnwise.rehearsals.findings import Finding
from turnwise.rehearsals.injected_effects import Answers
from turnwise.rehearsals.simulated_answers import COPIED_WORDS, COPY_PREFIX, PROFANE_TEXT
from turnwise.rehearsals.simulation import Work
from turnwise.studies.models import Study
from turnwise.tasks.two_people import queries

Held = Mapping[str, Sequence[Work]]
"""The work of both workers by conversation."""


def findings(rehearsal: Study, done: Sequence[Work], result: Mapping[str, Any]) -> list[Finding]:
    """Compare meetings, reading material, messages, and the measures for acceptance."""
    held: dict[str, list[Work]] = {}
    for work in done:
        if work.system == HUMAN:
            held.setdefault(work.work_id, []).append(work)
    found = [_met(rehearsal, held, done)]
    if rehearsal.knowledge_id:
        found += _read(rehearsal, held)
    finished = {dialogue: works for dialogue, works in held.items() if all(work.finished for work in works)}
    if finished and len(finished) <= READ_FOR_REPETITION:
        found.append(_repetition(finished, result))
    return [*found, *_reviewed(rehearsal, finished)]


def _met(rehearsal: Study, held: Held, done: Sequence[Work]) -> Finding:
    shown = queries.progress(rehearsal, now=timezone.now())
    reported = shown.finished, shown.partner_left, shown.waited_in_vain
    injected = (
        sum(all(work.finished for work in works) for works in held.values()),
        sum(any(work.was_left for work in works) for works in held.values()),
        sum(work.waited_in_vain for work in done),
    )
    return Finding(
        reported == injected,
        f"The study counts {reported[0]} finished conversations of two, {reported[1]} that a partner left, "
        f"and {reported[2]} people who waited in vain; the workers had {injected[0]}, {injected[1]} "
        f"and {injected[2]}.",
    )


def _read(rehearsal: Study, held: Held) -> Iterator[Finding]:
    sets = ReadingSet.objects.filter(dialogue__study=rehearsal, dialogue__public_id__in=held)
    of_articles = Counter(sets.values_list("article", flat=True))
    yield Finding(
        of_articles.total() == len(held) and max(of_articles.values(), default=0) <= MOST_USES,
        f"{of_articles.total()} of {len(held)} conversations are about an article; of {len(of_articles)} "
        f"articles none has more than {max(of_articles.values(), default=0)} of at most {MOST_USES}.",
    )
    counted = Counter(dict(ArticleUse.objects.filter(study=rehearsal).values_list("article", "uses")))
    every = ReadingSet.objects.filter(dialogue__study=rehearsal, counts=True)
    noted = Counter(every.values_list("article", flat=True))
    yield Finding(
        counted == noted,
        f"The study notes {counted.total()} uses of articles; {noted.total()} conversations that count have "
        f"one.",
    )


def _repetition(finished: Held, result: Mapping[str, Any]) -> Finding:
    course = next(each for each in result["course"]["bots"] if each["bot"] == HUMAN)["repetition"]
    repeated = [each for works in finished.values() for each in _repeats(_texts(works))]
    injected = 100 * sum(repeated) / len(repeated)
    reported = course.get("value")
    return Finding(
        reported is not None
        and (course["replies"], round(reported, 6)) == (len(repeated), round(injected, 6)),
        f"Messages that repeat an earlier one: injected {injected:.1f}\u00a0% of {len(repeated)}, reported "
        + (f"{reported:.1f}\u00a0% of {course['replies']}." if reported is not None else course["undefined"]),
    )


def _texts(works: Sequence[Work]) -> list[str]:
    """All messages of a conversation in their order."""
    texts = {int(position.split()[-1]): text for work in works for position, text in work.texts.items()}
    return [texts[position] for position in sorted(texts)]


def _repeats(texts: Sequence[str]) -> list[bool]:
    """For each text, True if it occurred before; other texts are never alike (`simulated_answers`)."""
    return [text in texts[:position] for position, text in enumerate(texts)]


def _reviewed(rehearsal: Study, finished: Held) -> Iterator[Finding]:
    """Compare every measure for acceptance except the time, for which there is no injected value."""
    own_ask = next(
        (ask.number for ask in rehearsal.work_asks if ask.question_set == TOPICAL_CHAT_OWN.key), None
    )
    limits = limits_of(rehearsal)
    injected = {dialogue: _measures(works, own_ask) for dialogue, works in finished.items()}
    reviews = review_rows(dialogues_to_review(rehearsal).filter(public_id__in=finished), limits)
    reported = {str(each.dialogue.public_id): each for each in reviews}
    for key in ("turns", "words", "sourced", "repeated", "profane", "alike"):
        wrong = [
            dialogue
            for dialogue, measured in injected.items()
            if dialogue not in reported or not _is_same(reported[dialogue].measured[key][0], measured[key])
        ]
        known = [value for each in injected.values() if (value := each[key]) is not None]
        if known:
            yield Finding(not wrong, _review_sentence(key, known, len(wrong)))
    yield from _copies(finished, reported)


def _measures(works: Sequence[Work], own_ask: int | None) -> dict[str, float | None]:
    """Injected measures of one conversation."""
    texts = _texts(works)
    annotations = [
        [] if own_ask is None else list((work.labels, *work.further_labels)[own_ask].values())
        for work in works
    ]
    of_both = [answers for each in annotations for answers in each]
    return {
        "turns": float(len(texts)),
        "words": sum(len(text.split()) for text in texts) / len(texts),
        "sourced": sum(map(_is_sourced, of_both)) / len(texts) if of_both else None,
        "repeated": sum(_repeats(texts)) / len(texts),
        "profane": float(sum(text == PROFANE_TEXT for text in texts)),
        "alike": max(map(_alike, annotations)) if of_both else None,
    }


def _is_sourced(answers: Answers) -> bool:
    sources = answers.get("source", ())
    return isinstance(sources, list) and any(each in SECTIONS for each in sources)


def _alike(annotations: Sequence[Answers]) -> float:
    """Share of a person's most frequent annotation; 0 for a single annotation."""
    if len(annotations) < 2:
        return 0.0
    return max(annotations.count(each) for each in annotations) / len(annotations)


def _is_same(reported: float | None, injected: float | None) -> bool:
    if reported is None or injected is None:
        return reported is injected
    return abs(reported - injected) < 1e-9


def _review_sentence(key: str, injected: Sequence[float], wrong: int) -> str:
    limit = LIMITS[key]
    mean = sum(injected) / len(injected)
    shown = f"{100 * mean:.1f}\u00a0%" if limit.is_share else f"{mean:.1f}"
    sentence = (
        f"Review, {limit.title}: injected {shown} in the mean of {len(injected)} conversations; reported "
    )
    return sentence + (f"otherwise in {wrong} of them." if wrong else "the same in each.")


def _copies(finished: Held, reported: Mapping[str, Any]) -> Iterator[Finding]:
    """Compare copied passages, if workers had reading material; no other message has such a long one."""
    measured = {dialogue: each.measured["copied"][0] for dialogue, each in reported.items()}
    known = {dialogue: value for dialogue, value in measured.items() if value is not None}
    if not known:
        return
    injected = {
        dialogue
        for dialogue, works in finished.items()
        if any(text.startswith(COPY_PREFIX) for text in _texts(works))
    }
    seen = {dialogue for dialogue, value in known.items() if value >= COPIED_WORDS}
    yield Finding(
        seen == injected,
        f"Review, {LIMITS['copied'].title}: {COPIED_WORDS} words or more in {len(seen)} conversations; "
        f"injected in {len(injected)}.",
    )
