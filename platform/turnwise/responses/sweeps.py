"""Sweeps: a bot's responses at several numbers of samples N and temperatures T, with a run for each pair.

Source: Adiwardana et al. 2020, arXiv:2001.09977, figures 6 to 8.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import product

from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.db.models import Count, QuerySet
from django.utils.translation import gettext

from chatbots.hosting.response_checks import MAX_CANDIDATES
from turnwise.accounts.access import visible_to
from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.bots.queries import can_sample
from turnwise.contexts.models import ContextSetVersion
from turnwise.live.caching import cache_key, cached
from turnwise.responses import services
from turnwise.responses.bot_jobs import AT_WORK
from turnwise.responses.models import ResponseRun, Sweep

LARGEST_N = MAX_CANDIDATES
HIGHEST_T = 10.0
MOST_N, MOST_T = 8, 5
# A model of 11 million weights needs about a day and a half for them on one core.
MOST_SAMPLES = 10_000_000
LONGEST_TITLE = 90


@dataclass(frozen=True, slots=True)
class Grid:
    """All pairs of these N and T.

    Attributes:
        samples: values of N, without duplicates.
        temperatures: values of T, without duplicates.
    """

    samples: tuple[int, ...]
    temperatures: tuple[float, ...]

    @property
    def pairs(self) -> Iterator[tuple[float, int]]:
        """Pairs (T, N), the cheapest of each T first."""
        return product(sorted(self.temperatures), sorted(self.samples))

    def responses(self, contexts: int) -> int:
        """Number of responses for this many contexts."""
        return contexts * len(self.samples) * len(self.temperatures)

    def drawn(self, contexts: int) -> int:
        """Number of samples drawn for this many contexts, which is the cost."""
        return contexts * sum(self.samples) * len(self.temperatures)


def check(grid: Grid, contexts: int) -> None:
    """Refuse a grid that is empty, out of bounds or too expensive for this many contexts.

    Raises:
        ValidationError: names the value and the allowed range.
    """
    if not 1 <= len(grid.samples) <= MOST_N or not 1 <= len(grid.temperatures) <= MOST_T:
        raise ValidationError(
            gettext("A sweep has 1 to %(most_n)s numbers N and 1 to %(most_t)s temperatures T.")
            % {"most_n": MOST_N, "most_t": MOST_T}
        )
    for n in grid.samples:
        if not 1 <= n <= LARGEST_N:
            raise ValidationError(
                gettext("N = %(n)s is not possible; choose numbers from 1 to %(largest)s.")
                % {"n": n, "largest": LARGEST_N}
            )
    for t in grid.temperatures:
        if not 0 < t <= HIGHEST_T:
            raise ValidationError(
                gettext("T = %(t)s is not possible; choose temperatures above 0, up to %(highest)s.")
                % {"t": f"{t:g}", "highest": f"{HIGHEST_T:g}"}
            )
    if (drawn := grid.drawn(contexts)) > MOST_SAMPLES:
        raise ValidationError(
            gettext(
                "That is %(drawn)s samples, and a sweep has at most %(most)s. Choose fewer contexts, N or T."
            )
            % {"drawn": f"{drawn:,}", "most": f"{MOST_SAMPLES:,}"}
        )


@transaction.atomic
def start_sweep(bot: Bot, version: ContextSetVersion, grid: Grid, *, owner: User, seed: int) -> Sweep:
    """Queue a run for each pair of N and T, all with the same seed.

    Raises:
        ValidationError: the bot draws no samples or is switched off, or the grid is refused.
    """
    if not can_sample(bot):
        raise ValidationError(
            gettext("%(title)s does not sample and rank, so it has no N and T to vary. Choose another bot.")
            % {"title": bot.title}
        )
    check(grid, version.size)
    sweep = Sweep.objects.create(bot=bot, context_version=version, owner=owner, seed=seed)
    for temperature, samples in grid.pairs:
        run = services.start_run(version, bot, owner=owner, seed=seed)
        run.sweep, run.samples, run.temperature = sweep, samples, temperature
        run.system = f"{bot.title[:LONGEST_TITLE]}, {name_of(samples, temperature)}"
        run.save(update_fields=["sweep", "samples", "temperature", "system"])
    return sweep


def name_of(samples: int, temperature: float) -> str:
    """Name of a pair in tables and charts."""
    return f"N={samples}, T={temperature:g}"


def stop(sweep: Sweep, *, now: datetime) -> int:
    """Stop the runs in progress, keep their responses, and return the number of stopped runs."""
    return sum(services.cancel(run, now=now) for run in sweep.runs.all())


@transaction.atomic
def resume_sweep(sweep: Sweep) -> list[ResponseRun]:
    """Resume the runs that were stopped or failed. Only missing responses are asked for.

    Raises:
        ValidationError: no run was stopped or failed.
    """
    over = (ResponseRun.State.FAILED, ResponseRun.State.CANCELLED)
    stopped = list(sweep.runs.filter(state__in=over).order_by("pk"))
    if not stopped:
        raise ValidationError(gettext("No part of this sweep is stopped, so there is nothing to continue."))
    return [services.retry(run.pk) for run in stopped]


def sweeps_of(user: User | AnonymousUser) -> QuerySet[Sweep]:
    """Sweeps that this person may see."""
    found = Sweep.objects.select_related("bot", "context_version__context_set", "owner")
    return visible_to(user, found, owner="owner")


@dataclass(frozen=True, slots=True)
class Cell:
    """A pair of N and T, with its progress and the likelihood of its responses.

    Attributes:
        run: the run of the pair.
        had: number of responses so far.
        wanted: number of responses of a complete pair.
        scored: number of responses for which the bot gave a likelihood, once the pair is complete.
        per_token: mean ranking score of these responses, for Meena log P / tokens in nats; None: the pair is
        not
            complete, or no likelihood was given.
    """

    run: ResponseRun
    had: int
    wanted: int
    scored: int
    per_token: float | None

    @property
    def name(self) -> str:
        """Name of the pair, from `name_of`."""
        assert self.run.samples is not None
        assert self.run.temperature is not None
        return name_of(self.run.samples, self.run.temperature)

    @property
    def is_complete(self) -> bool:
        """True if every context was answered."""
        return self.run.state == ResponseRun.State.DONE

    @property
    def is_at_work(self) -> bool:
        """True if the run is waiting to start or running."""
        return self.run.state in AT_WORK


# A filter around a bot may choose another candidate than the first.
_LIKELIHOOD = """
SELECT count(scored.score), avg(scored.score)
  FROM responses_response AS r
 CROSS JOIN LATERAL (
       SELECT (c.one->>'score')::float8 AS score
         FROM jsonb_array_elements(CASE WHEN r.candidates->0->>'text' = r.text
                                        THEN jsonb_build_array(r.candidates->0)
                                        ELSE r.candidates END) AS c(one)
        WHERE c.one->>'text' = r.text
        LIMIT 1) AS scored
 WHERE r.run_id = %s AND jsonb_typeof(r.candidates) = 'array'
"""


def _likelihood(run: ResponseRun) -> tuple[int, float | None]:
    with connection.cursor() as cursor:
        cursor.execute(_LIKELIHOOD, [run.pk])
        scored, mean = cursor.fetchone()
    return scored, mean


def cells(sweep: Sweep) -> list[Cell]:
    """Cells of a sweep, ordered by T, then N."""
    found = []
    runs = sweep.runs.annotate(had=Count("responses")).order_by("temperature", "samples")
    for run in runs:
        scored, mean = 0, None
        if run.state == ResponseRun.State.DONE:
            # The responses of a complete run never change.
            key = cache_key("likelihood of a run", run.pk, run.created_at.isoformat(), str(run.finished_at))
            scored, mean = cached(key, lambda run=run: _likelihood(run))  # type: ignore[misc]
        found.append(Cell(run, run.had, sweep.context_version.size, scored, mean))
    return found


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a sweep: its pairs of N and T, and all its responses."""

    pairs: int
    complete: int
    is_at_work: bool
    had: int
    wanted: int

    @property
    def state(self) -> ResponseRun.State:
        """State in terms of a run: running, done, or cancelled if a part was stopped or failed."""
        if self.is_at_work:
            return ResponseRun.State.RUNNING
        return ResponseRun.State.DONE if self.complete == self.pairs else ResponseRun.State.CANCELLED


def progress(cells: Sequence[Cell]) -> Progress:
    return Progress(
        pairs=len(cells),
        complete=sum(each.is_complete for each in cells),
        is_at_work=any(each.is_at_work for each in cells),
        had=sum(each.had for each in cells),
        wanted=sum(each.wanted for each in cells),
    )


def stamp(cells: Iterable[Cell]) -> str:
    """A text that changes whenever the sweep's page does."""
    return "-".join(f"{each.run.state[:2]}{each.had}.{len(each.run.reason)}" for each in cells)


def reasons(cells: Sequence[Cell]) -> list[str]:
    """Reasons why runs wait or stopped, without duplicates."""
    return list(dict.fromkeys(each.run.reason for each in cells if each.run.reason))
