"""The points of the comparisons: bot versions with their scores and perplexity or human-likeness."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from turnwise.bots.models import BotVersion
from turnwise.comparisons.measures import HUMAN_LIKE, Measured, Point, relation_figures
from turnwise.comparisons.protocols import pooled_level
from turnwise.comparisons.scores import SHAPE, Asked, Scored, Who, conversations, scored_by, seen
from turnwise.live.caching import key_of, remembered
from turnwise.reports.report_kinds import reported
from turnwise.studies.models import Study


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A bot, version or other system that has no point, and why; `bot` is "" if it is no bot."""

    name: str
    bot: str
    why: str


@dataclass(frozen=True, slots=True)
class Pairs:
    """What a page of a relation shows."""

    figures: dict[str, Any]
    left_out: Sequence[LeftOut]
    warnings: Sequence[str]


def scores_of(studies: Sequence[Study], asked: Asked, by: str) -> dict[Who, Scored]:
    """By bot or version (`by`) or other system, scores over these studies; remembered until these change.

    Raises:
        scores.TooMuchError: see there.
    """
    level = pooled_level(studies)
    found: dict[Who, Scored] = remembered(
        key_of("scores", SHAPE, seen(studies), asked.questions.key, asked.whole, by, level),
        lambda: scored_by(
            lambda conversation: conversation.bot if by == "bot" else conversation.version,
            conversations([study.pk for study in studies], asked),
            asked,
            lambda _: level,
        ),
    )
    return found


def against_perplexity(studies: Sequence[Study], measured: Measured) -> Pairs:
    """Scores of each version with its perplexity. Raises `TooMuchError`."""
    scores = scores_of(studies, measured.asked, "version")
    versions = _versions(scores)
    names = version_names(versions)
    known = [version for version in versions if version.perplexity is not None]
    points = [
        _point(names[each.pk], each.bot.name, {"value": each.perplexity}, scores[each.pk])
        for each in sorted(known, key=lambda version: version.perplexity or 0)
    ]
    left_out = [
        LeftOut(names[each.pk], each.bot.name, "no perplexity is recorded") for each in versions
        if each.perplexity is None
    ] + [
        LeftOut(each, "", ("it is not a bot, so it has "
"no perplexity")) for each in scores if isinstance(each, str)
    ]  # fmt: skip
    figures = relation_figures("perplexity per token", points, measured)
    return Pairs(figures, left_out, [*pooled(studies, [measured]), *incomparable(known, names)])


def against_human_likeness(studies: Sequence[Study], measured: Measured, by: str) -> Pairs:
    """Scores of each bot, or of each version, with its human-likeness. Raises `TooMuchError`."""
    scores = scores_of(studies, measured.asked, by)
    human = scores_of(studies, HUMAN_LIKE.asked, by)
    names, slugs = _called({*scores, *human}, by)
    both = sorted(set(scores) & set(human), key=lambda pk: names[pk])
    x = HUMAN_LIKE.main.key
    points = [_point(names[pk], slugs[pk], human[pk].cells[x], scores[pk]) for pk in both]
    left_out = [
        LeftOut(names[pk], slugs[pk], "it has no labels of human-likeness in these studies" if pk in scores
                else f"it has no labels of {measured.title.lower()} in these studies")
        for pk in sorted(set(scores) ^ set(human), key=lambda pk: names[pk])
    ]  # fmt: skip
    figures = relation_figures("human-likeness, percent", points, measured)
    return Pairs(figures, left_out, pooled(studies, [measured, HUMAN_LIKE]))


def pooled(studies: Sequence[Study], measured: Sequence[Measured]) -> list[str]:
    """Which scores come from conversations and from judged responses at once, each in a sentence."""
    kinds = {
        each.title: {
            reported(study).evaluation
            for study in studies
            if any(ask.question_set == each.key and ask.about in each.about for ask in study.asked)
        }
        for each in measured
    }
    return [
        f"{title}: labels of those who talked and of those who judged count together. They are different "
        f"measurements; tick studies of one kind to see one of them."
        for title, evaluations in sorted(kinds.items())
        if len(evaluations) > 1
    ]


def _point(name: str, bot: str, x: Mapping[str, Any], scored: Scored) -> Point:
    return Point(name, bot, x, scored.cells, scored.conversations, scored.labels)


def _called(who: Collection[Who], by: str) -> tuple[dict[Who, str], dict[Who, str]]:
    """What bots, versions and other systems are called, and the names of the bots for addresses."""
    names: dict[Who, str] = {each: each for each in who if isinstance(each, str)}
    slugs = dict.fromkeys(names, "")
    of_bots, addresses = _bots_called([each for each in who if isinstance(each, int)], by)
    names.update(of_bots.items())
    slugs.update(addresses.items())
    return names, slugs


def _bots_called(pks: Sequence[int], by: str) -> tuple[dict[int, str], dict[int, str]]:
    versions = BotVersion.objects.select_related("bot")
    if by == "version":
        found = list(versions.filter(pk__in=pks))
        return version_names(found), {version.pk: version.bot.name for version in found}
    bots = {version.bot_id: version.bot for version in versions.filter(bot__in=pks)}
    shared = Counter(bot.title for bot in bots.values())
    names = {
        pk: f"{bot.title} ({bot.name})" if shared[bot.title] > 1 else bot.title for pk, bot in bots.items()
    }
    return names, {pk: bot.name for pk, bot in bots.items()}


def _versions(who: Iterable[Who]) -> list[BotVersion]:
    pks = [each for each in who if isinstance(each, int)]
    return list(BotVersion.objects.filter(pk__in=pks).select_related("bot").order_by("bot__name", "pk"))


def version_names(versions: Sequence[BotVersion]) -> dict[int, str]:
    """By id, titles of the bots; with the version where a title stands for several."""
    shared = Counter(version.bot.title for version in versions)
    return {
        version.pk: f"{version.bot.title} {version.name}"
        if shared[version.bot.title] > 1
        else version.bot.title
        for version in versions
    }


def incomparable(versions: Sequence[BotVersion], names: Mapping[int, str]) -> list[str]:
    """Why the perplexities of these versions should not be compared, each reason in sentences."""
    caution = (
        "Only perplexities of the same data and the same tokenizer can be compared; the line and the "
        "correlations below take them as they are."
    )
    warnings = []
    for what, notes in (
        ("data", {each.pk: each.perplexity_data for each in versions}),
        ("tokenizers", {each.pk: each.perplexity_tokenizer for each in versions}),
    ):
        of_note: dict[str, list[str]] = {}
        for pk, note in notes.items():
            of_note.setdefault(note, []).append(names[pk])
        if len(of_note) > 1:
            told = "; ".join(
                f"{', '.join(who)}: {f'“{note}”' if note else 'not known'}" for note, who in of_note.items()
            )
            warnings.append(f"The perplexities belong to different {what}: {told}. {caution}")
        elif "" in of_note:
            warnings.append(f"It is not known to which {what} the perplexities belong. {caution}")
    return warnings
