"""Items for people, drawn by a machine judge's uncertainty: what may be drawn, a preview, and the draw."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from django.core.exceptions import ValidationError
from django.utils.translation import gettext, ngettext

from evaluation.assisted.item_draws import ExpectedGain, expected_gain
from evaluation.assisted.uncertainty import LEAST_ERRORS, by_answers, by_errors, of_scores
from evaluation.machine_judges.judged import JudgedItems, means
from evaluation.questions import Score, bounds
from evaluation.statistics.labels import AnyArray, FloatArray
from turnwise.accounts.models import User
from turnwise.judges.models import JudgeRun
from turnwise.judges.queries import reported_runs, seen_items
from turnwise.judges.services import items_to_judge, missing_after_retry
from turnwise.judging.batteries.battery_rules import battery_of
from turnwise.judging.items import item_draws
from turnwise.judging.items.item_draws import Judged, UncertainItem
from turnwise.judging.models import ItemDraw
from turnwise.studies.asks import About
from turnwise.studies.models import Ask, Study


@dataclass(frozen=True, eq=False)
class Uncertain:
    """Items of an ask with a judge's uncertainty about each.

    Attributes:
        items: those in the queue, with their systems as strata.
        source: how the uncertainty is known, a value of `ItemDraw.Source`.
        of_main: (N,) uncertainty about the main score alone, on a scale from 0 to 1.
        main: (N,) the judge's main score on that scale; NaN for none.
    """

    items: Sequence[UncertainItem]
    source: str
    of_main: FloatArray
    main: FloatArray


@dataclass(frozen=True, slots=True)
class SystemPreview:
    """Expected worth of a draw for one system.

    Attributes:
        system: name in reports.
        items: items from which it draws.
        gain: the expected worth.
    """

    system: str
    items: int
    gain: ExpectedGain

    @property
    def drawn(self) -> int:
        """Expected number of drawn items, rounded."""
        return round(self.gain.items)

    @property
    def evenly(self) -> int:
        """Number of evenly drawn items with the same precision, rounded."""
        return round(self.gain.evenly)

    @property
    def people_alone(self) -> int:
        """Number of items that people alone would have to judge, rounded."""
        return round(self.gain.people_alone)


@dataclass(frozen=True, slots=True)
class Preview:
    """A draw before it is made.

    Attributes:
        wanted: number of items to draw.
        total: items from which it draws.
        begun: items that people have begun, which keep a probability of 1.
        least: smallest probability.
        source: how the uncertainty is known.
        systems: expected worth by system, for the main score.
    """

    wanted: int
    total: int
    begun: int
    least: float
    source: str
    systems: Sequence[SystemPreview]


def judges_for_draws(study: Study) -> list[JudgeRun]:
    """Complete runs of judges by whose uncertainty items of a study may be drawn, the newest first."""
    if study.rehearsal_of_id or battery_of(study):
        return []
    drawn = set(ItemDraw.objects.filter(study=study).values_list("ask", flat=True))
    found = [run for run in reported_runs(study) if run.ask.about != About.PAIR and run.ask_id not in drawn]
    return found[::-1]


def check_judge(run: JudgeRun) -> None:
    """Check that items may be drawn by this judge's uncertainty.

    Raises:
        ValidationError: they are pairs or in batteries, the run is incomplete, or the judge saw answers.
    """
    if run.ask.about == About.PAIR:
        raise ValidationError(
            gettext("Pairs are not drawn by uncertainty: the strengths of systems do not weigh pairs.")
        )
    if run.study.rehearsal_of_id:
        raise ValidationError(gettext("This is a rehearsal. Draw items in the study itself."))
    if battery_of(run.study):
        raise ValidationError(
            gettext("Workers get batteries here, so no items are drawn. Remove the battery first.")
        )
    lacking = missing_after_retry(run)
    if lacking or run.state != JudgeRun.State.DONE:
        raise ValidationError(
            ngettext(
                "%(judge)s has not judged all items: %(n)s answer is missing. Let it judge what is missing "
                "first.",
                "%(judge)s has not judged all items: %(n)s answers are missing. Let it judge what is missing "
                "first.",
                lacking,
            )
            % {"judge": run.judge.shown_title, "n": f"{lacking:,}"}
        )
    if seen := seen_items(run):
        raise ValidationError(
            ngettext(
                "%(judge)s was shown the right answers about %(n)s item, as a worked example. Take it out of "
                "the queue first.",
                "%(judge)s was shown the right answers about %(n)s items, as worked examples. Take them out "
                "of the queue first.",
                seen,
            )
            % {"judge": run.judge.shown_title, "n": seen}
        )


def uncertain_items(run: JudgeRun) -> Uncertain:
    """The items of a run's ask with the judge's uncertainty, from its repeated answers or its errors.

    Raises:
        ValidationError: as `check_judge`; or it gave one answer about each item, and people have judged too
            few of them to know its errors.
    """
    from turnwise.judges.judged_labels import item_rows, judged_items  # brings scipy

    check_judge(run)
    judged, rows = judged_items(run), item_rows(run)
    source = ItemDraw.Source.ANSWERS if run.judge.draws > 1 else ItemDraw.Source.ERRORS
    try:
        by_score = {score.key: _of_score(judged, score, source) for score in judged.questions.scores}
    except ValueError as error:
        raise ValidationError(
            gettext(
                "%(judge)s gave one answer about each item, so its uncertainty is not known. Let it give "
                "several answers, or wait until people have judged %(least)s items. (%(error)s)"
            )
            % {"judge": run.judge.shown_title, "least": LEAST_ERRORS, "error": error}
        ) from None
    queued = set(items_to_judge(run.ask).values_list("pk", flat=True))
    is_queued = np.array([key in queued for key, *_ in rows], dtype=np.bool_)
    main = judged.questions.main_score
    assert main is not None, "a question set with choices has a main score"
    total = of_scores([found for found, _ in by_score.values()])
    items = [
        UncertainItem(key, system, float(uncertainty))
        for (key, system, *_), uncertainty in zip(rows, total.tolist(), strict=True)
    ]
    of_main, judge = by_score[main.key]
    return Uncertain(
        [each for each, there in zip(items, is_queued.tolist(), strict=True) if there],
        source, of_main[is_queued], judge[is_queued],
    )  # fmt: skip


def _of_score(judged: JudgedItems, score: Score, source: str) -> tuple[FloatArray, FloatArray]:
    """(N,) uncertainty, and (N,) the judge's score, both on a scale from 0 to 1."""
    low, high = bounds(judged.questions, score)
    people, judge = (
        (judged.scores_of(score, given) - low) / (high - low) for given in (judged.people, judged.judge)
    )
    items = len(judged)
    mean = means(judge, judged.judge.item, items)
    if source == ItemDraw.Source.ANSWERS:
        return by_answers(judge, judged.judge.item, items), mean
    return by_errors(mean, means(people, judged.people.item, items)), mean


def preview(run: JudgeRun, *, wanted: int, strata: str) -> Preview:
    """Compute what a draw would be worth; nothing is changed.

    Raises:
        ValidationError: as `uncertain_items`, or the number of items is too small or too large.
    """
    found = uncertain_items(run)
    begun = item_draws.begun_items(run.ask)
    is_free = np.array([each.item not in begun for each in found.items], dtype=np.bool_)
    rest = [each for each, free in zip(found.items, is_free.tolist(), strict=True) if free]
    systems = np.array([each.stratum for each in rest], dtype=object)
    rest = item_draws.in_strata(rest, strata)
    item_draws.check_number(wanted, rest)
    chance = item_draws.probabilities_of(rest, wanted)
    of_main, main = found.of_main[is_free], found.main[is_free]
    return Preview(
        wanted, len(rest), len(found.items) - len(rest), float(chance.min()), found.source,
        _by_system(systems, of_main, chance, main),
    )  # fmt: skip


def _by_system(
    systems: AnyArray, uncertainty: FloatArray, chance: FloatArray, judge: FloatArray
) -> list[SystemPreview]:
    return [
        SystemPreview(
            str(name), int(there.sum()), expected_gain(uncertainty[there], chance[there], judge[there])
        )
        for name in sorted(set(systems.tolist()))
        for there in [systems == name]
    ]


def draw(run: JudgeRun, *, wanted: int, strata: str, by: User | None, now: datetime) -> ItemDraw:
    """Draw items for people by a judge's uncertainty.

    Raises:
        ValidationError: as `preview`, or there is a draw already; nothing was changed.
    """
    found = uncertain_items(run)
    judged = Judged(run.judge.exported_name, run.judge.fingerprint, run.pk, found.source)
    return item_draws.draw_first(
        run.ask, found.items, judged, wanted=wanted, strata=strata, seed=new_seed(), by=by, now=now
    )


def draw_further(ask: Ask, *, further: int, by: User | None, now: datetime) -> ItemDraw:
    """Draw further items for people by the uncertainties of the first draw.

    Raises:
        ValidationError: there is no draw yet, or the number is too large; nothing was changed.
    """
    return item_draws.draw_further(ask, further=further, seed=new_seed(), by=by, now=now)


def new_seed() -> int:
    """A random seed, which the draw stores."""
    return secrets.randbelow(2**31)
