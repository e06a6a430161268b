"""How a bot's responses change with the number of samples N and the temperature T: a run for each pair.

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
from turnwise.bots.queries import draws
from turnwise.contexts.models import ContextSetVersion
from turnwise.live.caching import key_of, remembered
from turnwise.responses import services
from turnwise.responses.bot_jobs import AT_WORK
from turnwise.responses.models import ResponseRun, Sweep

LARGEST_N = MAX_CANDIDATES
HIGHEST_T = 10.0
MOST_N, MOST_T = 8, 5
# A model of 11 million weights draws them in about a day and a half on one core.
MOST_SAMPLES = 10_000_000
LONGEST_TITLE = 90


@dataclass(frozen=True, slots=True)
class Grid:
    """The pairs of N and T that are asked for: every N with every T.

    Attributes:
        samples: N, each once.
        temperatures: T, each once.
    """

    samples: tuple[int, ...]
    temperatures: tuple[float, ...]

    @property
    def pairs(self) -> Iterator[tuple[float, int]]:
        """T and N, the cheapest of each T first."""
        return product(sorted(self.temperatures), sorted(self.samples))

    def responses(self, contexts: int) -> int:
        """How many are given to so many contexts."""
        return contexts * len(self.samples) * len(self.temperatures)

    def drawn(self, contexts: int) -> int:
        """How many samples are drawn for them: what it costs."""
        return contexts * sum(self.samples) * len(self.temperatures)


def check(grid: Grid, contexts: int) -> None:
    """Refuse a grid that is empty, out of bounds or too dear for so many contexts.

    Raises:
        ValidationError: says which value, and what may be.
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
        ValidationError: the bot draws no samples or is switched off, or the grid cannot be.
    """
    if not draws(bot):
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
    """What a pair is called in tables and charts."""
    return f"N={samples}, T={temperature:g}"


def stop(sweep: Sweep, *, now: datetime) -> int:
    """Stop the runs that are under way; their responses stay. How many they were."""
    return sum(services.cancel(run, now=now) for run in sweep.runs.all())


@transaction.atomic
def go_on(sweep: Sweep) -> list[ResponseRun]:
    """Take up the runs that were stopped or failed: only what they lack is asked for.

    Raises:
        ValidationError: none was.
    """
    over = (ResponseRun.State.FAILED, ResponseRun.State.CANCELLED)
    found = list(sweep.runs.filter(state__in=over).order_by("pk"))
    if not found:
        raise ValidationError(gettext("No part of this sweep is stopped, so there is nothing to continue."))
    return [services.retry(run.pk) for run in found]


def sweeps_of(user: User | AnonymousUser) -> QuerySet[Sweep]:
    """The sweeps that this person may see."""
    found = Sweep.objects.select_related("bot", "context_version__context_set", "owner")
    return visible_to(user, found, owner="owner")


@dataclass(frozen=True, slots=True)
class Cell:
    """A pair of N and T, how far it is, and how likely is what was said.

    Attributes:
        run: which asks for its responses.
        had: responses so far.
        wanted: responses when it is complete.
        scored: of a complete one, the responses whose likelihood the bot told.
        per_token: of these the mean score by which they were chosen, for Meena log P / tokens in nats; None:
            the pair is not complete, or nothing was told.
    """

    run: ResponseRun
    had: int
    wanted: int
    scored: int
    per_token: float | None

    @property
    def name(self) -> str:
        """As `name_of` has it."""
        assert self.run.samples is not None
        assert self.run.temperature is not None
        return name_of(self.run.samples, self.run.temperature)

    @property
    def is_complete(self) -> bool:
        """Whether every context was answered."""
        return self.run.state == ResponseRun.State.DONE

    @property
    def is_at_work(self) -> bool:
        """Whether more is to come without anybody's doing."""
        return self.run.state in AT_WORK


# A filter around a bot may have it say another candidate than the first.
_LIKELIHOOD = """
SELECT count(said.score), avg(said.score)
  FROM responses_response AS r
 CROSS JOIN LATERAL (
       SELECT (c.one->>'score')::float8 AS score
         FROM jsonb_array_elements(CASE WHEN r.candidates->0->>'text' = r.text
                                        THEN jsonb_build_array(r.candidates->0)
                                        ELSE r.candidates END) AS c(one)
        WHERE c.one->>'text' = r.text
        LIMIT 1) AS said
 WHERE r.run_id = %s AND jsonb_typeof(r.candidates) = 'array'
"""


def _likelihood(run: ResponseRun) -> tuple[int, float | None]:
    with connection.cursor() as cursor:
        cursor.execute(_LIKELIHOOD, [run.pk])
        scored, mean = cursor.fetchone()
    return scored, mean


def cells(sweep: Sweep) -> list[Cell]:
    """The pairs of a sweep by T, then N."""
    found = []
    runs = sweep.runs.annotate(had=Count("responses")).order_by("temperature", "samples")
    for run in runs:
        scored, mean = 0, None
        if run.state == ResponseRun.State.DONE:
            # Its responses change no more.
            key = key_of("likelihood of a run", run.pk, run.created_at.isoformat(), str(run.finished_at))
            scored, mean = remembered(key, lambda run=run: _likelihood(run))  # type: ignore[misc]
        found.append(Cell(run, run.had, sweep.context_version.size, scored, mean))
    return found


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a sweep is: its pairs of N and T, and the responses of all."""

    pairs: int
    complete: int
    is_at_work: bool
    had: int
    wanted: int

    @property
    def state(self) -> ResponseRun.State:
        """As of a run: running, done, or cancelled, where a part was stopped or failed."""
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
    """A word that changes whenever the sweep's page does."""
    return "-".join(f"{each.run.state[:2]}{each.had}.{len(each.run.reason)}" for each in cells)


def reasons(cells: Sequence[Cell]) -> list[str]:
    """Why runs wait or stopped, each reason once."""
    return list(dict.fromkeys(each.run.reason for each in cells if each.run.reason))
