from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Count, F, Q, QuerySet
from django.utils import timezone

from accounts.models import User
from bots.models import OPERATED, Bot
from crowd import again, gates, ledger, operated, pilot, refusals
from crowd.addresses import hashed, hashed_id
from crowd.models import PAID, Assignment, Participation, Worker
from crowd.panels import Arrival
from crowd.sessions import Session
from studies.models import ConsentVersion, Study, StudyBot
from studies.services import results_changed

# A worker who is silent for this long gives their place back to the pool (they may still finish).
HOLD = timedelta(hours=1)
# Before they have sent anything: else a few clicks on Start would empty a study's places for an hour.
RESERVED = timedelta(minutes=3)
# And of one network address no more than so many of these: else one person without cookies could press Start
# for all places again and again. Behind one address sits a class, too, so nobody is turned away for it: at
# worst a few of them carry a bot above its target.
MOST_RESERVED_FROM_AN_ADDRESS = 3


@transaction.atomic
def consent(
    study: Study,
    version: ConsentVersion,
    *,
    known: Session | None,
    arrival: Arrival | None,
    address: str = "",
) -> Participation:
    """Record that someone agreed to take part, creating the worker at their first study.

    Safe to repeat: the second call returns the first participation. So is it for somebody whom a panel
    names and who has sent nothing so far, yet whose browser never got the answer (a second click on the
    button, a broken line), or whose id somebody else used before: they begin anew, and the browser of the
    first time is no longer known.

    Args:
        study: what they take part in.
        version: the consent text that they were shown.
        known: the session of their browser, if it has one.
        arrival: how they came; None: by the plain link.
        address: of the network that they came from.

    Raises:
        EntryRefusedError: the study is not open or not for this worker, they began or ended the work in
            another browser, or somebody else is paid for what their link names.
    """
    if study.state != Study.State.OPEN:
        raise refusals.not_taking(study)
    arrival = arrival or Arrival("", "")
    refuse_whom_it_knew(arrival, study)
    worker = _worker(known, arrival)
    refuse_whom_it_is_not_for(worker, study)
    # Who agrees twice at once agrees one after the other.
    Worker.objects.select_for_update(no_key=True).get(pk=worker.pk)
    every = Participation.objects.select_for_update(of=("self",)).filter(worker=worker, study=study)
    own = every.order_by("number").last()
    if own and known and known.participations.intersection(each.pk for each in every):
        _come_again(own, arrival)
        return own
    if own:
        # The id in the link is no secret: whoever knows it must not get into the work of its owner.
        if own.number > 1 or _has_begun(own):
            raise refusals.started_elsewhere()
        own.delete()
    return _take_part(arrival, worker=worker, study=study, consent=version, address=hashed(address, study))


def _take_part(arrival: Arrival, **fields: Any) -> Participation:
    try:
        with transaction.atomic():
            return Participation.objects.create(
                entered_by_id=arrival.entered_by,
                submission=arrival.submission,
                way_back=dict(arrival.way_back),
                **fields,
            )
    except IntegrityError as error:
        if "submission_once" in str(error):
            raise refusals.used_submission() from None
        raise


@transaction.atomic
def enter_again(
    own: Participation,
    version: ConsentVersion,
    *,
    arrival: Arrival | None = None,
    address: str = "",
) -> Participation:
    """Have somebody who has finished take part once more, if the rule of their study lets them.

    Safe to repeat, in several tabs at once: whoever has begun anew meanwhile gets what they have begun.

    Args:
        own: the participation that has ended.
        version: the consent text, to which they agreed now or before.
        arrival: how they came, with what the panel pays now; None: they did not leave.
        address: of the network that they came from.

    Raises:
        EntryRefusedError: the study is not open or not for them any more, they took part as often as they
            can, or what their link names is paid already.
    """
    # Who begins in two tabs at once begins one after the other.
    worker = Worker.objects.select_for_update(no_key=True).get(pk=own.worker_id)
    newest = again.newest_of(own)
    if newest.pk != own.pk or not again.is_over(newest):
        return newest
    study = newest.study
    if study.state != Study.State.OPEN:
        raise refusals.not_taking(study)
    again.refuse(newest)
    refuse_whom_it_is_not_for(worker, study)
    if arrival is None and newest.submission:
        raise refusals.again_from_panel()
    arrival = arrival or Arrival("", "", way_back=newest.way_back, entered_by=newest.entered_by_id)
    if arrival.submission and arrival.submission == newest.submission:
        raise refusals.again_from_panel()
    return _take_part(
        arrival,
        worker=worker,
        study=study,
        consent=version,
        address=hashed(address, study),
        number=newest.number + 1,
        pseudonym=newest.pseudonym,
    )


@transaction.atomic
def come_again(participation_id: int, arrival: Arrival) -> None:
    """Note that somebody who takes part came back by a link of their panel.

    A panel may have made their work a new submission; that is what it pays, unless the work was done before.

    Raises:
        EntryRefusedError: they have taken part already, and another submission is to pay for it once more; or
            somebody else is paid for what their link names.
    """
    _come_again(Participation.objects.select_for_update(of=("self",)).get(pk=participation_id), arrival)


def _come_again(own: Participation, arrival: Arrival) -> None:
    if not arrival.submission or arrival.submission == own.submission:
        return
    if Assignment.objects.filter(participation=own).exclude(outcome="").exists():
        raise refusals.already_done()
    own.entered_by_id, own.submission = arrival.entered_by, arrival.submission
    own.way_back = dict(arrival.way_back)
    try:
        with transaction.atomic():
            own.save(update_fields=["entered_by", "submission", "way_back"])
    except IntegrityError:
        raise refusals.used_submission() from None


def refuse_whom_it_is_not_for(worker: Worker, study: Study) -> None:
    """Refuse who took part in a study that excludes them from this one, or whom a gate does not let through.

    Raises:
        EntryRefusedError: why.
    """
    gates.refuse(worker, study)
    earlier = Participation.objects.filter(worker=worker, study__in=study.closed_to_workers_of.all())
    if earlier.exclude(assignment=None).exists():
        raise refusals.took_part_elsewhere()


def refuse_whom_it_knew(arrival: Arrival, study: Study) -> None:
    """Refuse who took part before their id was erased here.

    Raises:
        EntryRefusedError: they did.
    """
    if not arrival.worker:
        return
    known_by = hashed_id(arrival.panel, arrival.worker, study)
    if Participation.objects.filter(study=study, known_by=known_by).exists():
        raise refusals.took_part_and_erased()


def begun_by(arrival: Arrival, study: Study) -> Participation | None:
    """The participation of whom a link names, if they have begun: another browser may not begin it again."""
    if not arrival.worker:
        return None
    named = Participation.objects.filter(
        study=study, worker__panel=arrival.panel, worker__panel_id=arrival.worker
    )
    own = named.select_related("worker").order_by("number").first()
    return own if own and _has_begun(own) else None


def _has_begun(participation: Participation) -> bool:
    """Whether anything would be lost with this participation.

    Of a conversation between two people that is also what the other one said, who would lose it with them.
    """
    own = Assignment.objects.filter(participation=participation)
    said = own.filter(
        seat__dialogue__turn_set__bot_version=None,
        seat__dialogue__turn_set__position__gte=F("seat__dialogue__opening_turns"),
    )
    return own.exclude(UNTOUCHED).exists() or said.exists()


def _worker(known: Session | None, arrival: Arrival) -> Worker:
    if arrival.worker:
        worker, _ = Worker.objects.get_or_create(panel=arrival.panel, panel_id=arrival.worker)
        return worker
    return (known and Worker.objects.filter(pk=known.worker_id).first()) or Worker.objects.create()


@transaction.atomic
def assign(participation_id: int, *, now: datetime | None = None) -> Assignment:
    """Give the worker a place with the bot that is furthest from its target.

    The rows of the study's bots are locked, so that counting and taking a place are one step:
    a bot never has more finished and live conversations together than its target. Only workers
    who return after their place went back to the pool can carry it above, and those of whom many press
    Start at one network address.

    Raises:
        EntryRefusedError: the study is not open, every place is taken, or no bot that has one is running.
    """
    participation = _lock_participation(participation_id)
    existing = Assignment.objects.filter(participation=participation).first()
    if existing:
        return _open_or_paid(existing)
    if participation.study.state != Study.State.OPEN:
        raise refusals.not_taking(participation.study)
    now = now or timezone.now()
    _join_pilot(participation, now)
    # After the study, which a pilot locks: as whoever saves a study does.
    bots = _lock_bots(participation.study_id)
    bot = _least_filled(again.not_met(participation, bots), now)
    ledger.promise(participation)
    return _begun(participation, now, bot)


def _begun(participation: Participation, now: datetime, bot: StudyBot | None = None) -> Assignment:
    return Assignment.objects.create(
        participation=participation,
        study_id=participation.study_id,
        study_bot=bot,
        assigned_at=now,
        active_at=now,
    )


def _join_pilot(participation: Participation, now: datetime) -> None:
    """Make whoever begins while the study is in its pilot one of its people.

    Raises:
        EntryRefusedError: it has all that it wants.
    """
    if not pilot.is_on(participation.study):
        return
    # Places are counted and taken in one step, and not while somebody goes on.
    study = Study.objects.select_for_update(no_key=True).get(pk=participation.study_id)
    if not pilot.is_on(study):
        return
    if pilot.is_full(study, holding(now)):
        raise refusals.paused()
    participation.pilot = True
    participation.save(update_fields=["pilot"])


def of_this_phase(studies: QuerySet[Study]) -> QuerySet[Assignment]:
    """Assignments that count towards a study's targets: once its pilot is over, those of it do not."""
    over = studies.filter(pilot_over_at__isnull=False)
    of_pilots = Participation.objects.filter(pilot=True, study__in=over)
    return Assignment.objects.filter(study__in=studies).exclude(participation__in=of_pilots)


@transaction.atomic
def admit(participation_id: int, *, now: datetime | None = None) -> Assignment:
    """Give the worker of a study without conversations their place. Safe to repeat.

    Raises:
        EntryRefusedError: the study is not open, or its pilot has all that it wants.
    """
    participation = _lock_participation(participation_id)
    existing = Assignment.objects.filter(participation=participation).first()
    if existing:
        return _open_or_paid(existing)
    if participation.study.state != Study.State.OPEN:
        raise refusals.not_taking(participation.study)
    now = now or timezone.now()
    _join_pilot(participation, now)
    ledger.promise(participation)
    return _begun(participation, now)


@transaction.atomic
def give_bot(assignment_id: int, *, now: datetime) -> Assignment:
    """Have somebody who waited for another person in vain talk with a bot of the study.

    Raises:
        EntryRefusedError: every place is taken, or no bot that has one is running.
    """
    assignment = Assignment.objects.select_related("participation__study").get(pk=assignment_id)
    assignment.study_bot = _least_filled(_lock_bots(assignment.participation.study_id), now)
    assignment.active_at = now
    assignment.save(update_fields=["study_bot", "active_at"])
    return assignment


def _open_or_paid(existing: Assignment) -> Assignment:
    if existing.outcome and existing.outcome not in PAID:
        raise refusals.ended()
    return existing


def _lock_participation(participation_id: int) -> Participation:
    rows = Participation.objects.select_related("study", "worker").select_for_update(of=("self",))
    participation = rows.filter(pk=participation_id).first()
    if participation is None:  # its worker agreed once more, in another browser
        raise refusals.not_started()
    return participation


def _lock_bots(study_id: int) -> list[StudyBot]:
    return list(
        StudyBot.objects.select_for_update(of=("self",))
        .select_related("bot")
        .filter(study_id=study_id, bot__active=True)
        .order_by("pk")
    )


def _least_filled(bots: Collection[StudyBot], now: datetime) -> StudyBot:
    taken = places_taken(bots, now)
    wanting = [bot for bot in bots if taken[bot.pk] < bot.target]
    if not wanting:
        later = places_taken(bots, now + HOLD)
        raise refusals.full(may_become_free=any(later[bot.pk] < bot.target for bot in bots))
    _lock_operated(wanting)
    available = operated.admitting([bot.bot for bot in wanting], now=now)
    free = [bot for bot in wanting if bot.bot_id in available]
    if not free:
        raise refusals.no_bot()
    # Evenly, so whoever only pressed Start counts here, from wherever they came.
    live = Counter(
        _counted(free)
        .filter(Q(outcome=Assignment.Outcome.COMPLETE) | holding(now))
        .values_list("study_bot", flat=True)
    )
    return min(free, key=lambda bot: (live[bot.pk] / bot.target, bot.pk))


def _lock_operated(wanting: Collection[StudyBot]) -> None:
    """An operator may answer in several studies: their room is counted and taken in one step, too."""
    ids = [each.bot_id for each in wanting if each.bot.adapter == OPERATED]
    if ids:
        list(Bot.objects.select_for_update(no_key=True).filter(pk__in=ids).order_by("pk"))


def _counted(bots: Collection[StudyBot]) -> QuerySet[Assignment]:
    """Assignments of these bots that count towards their targets."""
    studies = Study.objects.filter(pk__in={bot.study_id for bot in bots})
    return of_this_phase(studies).filter(study_bot__in=bots)


def places_taken(bots: Collection[StudyBot], now: datetime) -> Counter[int]:
    """Finished and live conversations of each of these bots of a study, by its key."""
    of_bots = _counted(bots)
    settled = of_bots.filter(Q(outcome=Assignment.Outcome.COMPLETE) | _at_work(now))
    taken = Counter(dict(settled.values_list("study_bot").annotate(n=Count("pk"))))
    reserved = of_bots.filter(UNTOUCHED, active_at__gt=now - RESERVED).order_by("pk")
    from_address = Counter[str]()
    for study_bot, address in reserved.values_list("study_bot", "participation__address"):
        from_address[address] += 1
        taken[study_bot] += not address or from_address[address] <= MOST_RESERVED_FROM_AN_ADDRESS
    return taken


UNTOUCHED = Q(outcome="", active_at=F("assigned_at"))
"""Assignments in which nothing was sent yet."""


def holding(now: datetime, prefix: str = "") -> Q:
    """Assignments under way whose worker was seen lately; `prefix` is the path to them."""
    return _at_work(now, prefix) | Q(**{f"{prefix}outcome": "", f"{prefix}active_at__gt": now - RESERVED})


def _at_work(now: datetime, prefix: str = "") -> Q:
    """Those of them who have sent something."""
    seen_lately = Q(**{f"{prefix}outcome": "", f"{prefix}active_at__gt": now - HOLD})
    return seen_lately & Q(**{f"{prefix}active_at__gt": F(f"{prefix}assigned_at")})


def keep_place(assignment_id: int, *, now: datetime | None = None) -> None:
    """Note that the worker is at work, so that the place is not given to another."""
    Assignment.objects.filter(pk=assignment_id).update(active_at=now or timezone.now())


@transaction.atomic
def keep_places(assignments: Collection[int], *, now: datetime | None = None) -> None:
    """The same of many. One that somebody else writes just now is left out: it is not forgotten."""
    free = Assignment.objects.filter(pk__in=assignments).select_for_update(skip_locked=True, no_key=True)
    Assignment.objects.filter(pk__in=free.values("pk")).update(active_at=now or timezone.now())


def complete(assignment_id: int, outcome: Assignment.Outcome, *, now: datetime) -> None:
    """End an assignment, in the caller's transaction; the worker's completion code becomes valid."""
    assignment = Assignment.objects.select_related("participation").get(pk=assignment_id)
    if Assignment.objects.filter(pk=assignment_id, outcome="").update(
        outcome=outcome, ended_at=now, active_at=now
    ):
        ledger.settle(assignment, outcome, now)
    results_changed(assignment.participation.study_id)


@transaction.atomic
def end(participation_id: int, outcome: Assignment.Outcome, *, now: datetime | None = None) -> bool:
    """End a participation before its work is done: they left, returned the task, or ran out of time.

    Their place is free at once. Safe to repeat.

    Args:
        participation_id: whose.
        outcome: how.
        now: when.

    Returns:
        Whether it was still open; an end that was there before stays as it is.
    """
    now = now or timezone.now()
    participation = _lock_participation(participation_id)
    assignment, is_new = Assignment.objects.get_or_create(
        participation=participation,
        defaults={
            "study_id": participation.study_id,
            "assigned_at": now,
            "active_at": now,
            "outcome": outcome,
            "ended_at": now,
        },
    )
    if assignment.outcome and not is_new:
        return False
    complete(assignment.pk, outcome, now=now)
    return True


@transaction.atomic
def exclude(participation_id: int, *, reason: str, by: User, now: datetime | None = None) -> Participation:
    """Exclude a worker from the study's analysis without them; an empty reason takes that back.

    The labels stay, and count in the analysis of all workers; the pay is untouched. It holds for each time
    that they take part.
    """
    participation = Participation.objects.select_for_update().get(pk=participation_id)
    participation.excluded_reason = reason.strip()[:500]
    is_excluded = bool(participation.excluded_reason)
    participation.excluded_at = (now or timezone.now()) if is_excluded else None
    participation.excluded_by = by if is_excluded else None
    Participation.objects.filter(worker=participation.worker_id, study=participation.study_id).update(
        excluded_reason=participation.excluded_reason,
        excluded_at=participation.excluded_at,
        excluded_by=participation.excluded_by,
    )
    results_changed(participation.study_id)
    return participation


def note_signs(study_id: int, signs: Mapping[str, str]) -> None:
    """Keep with each participation what a report found, by pseudonym; in the caller's transaction."""
    _note(study_id, "signs", signs)


def note_proposals(study_id: int, reasons: Mapping[str, str]) -> None:
    """Keep, likewise, whom the study's rules propose to exclude. Nobody is excluded by it."""
    _note(study_id, "proposed_reason", reasons)


def _note(study_id: int, field: str, said: Mapping[str, str]) -> None:
    here = Participation.objects.filter(study_id=study_id)
    here.exclude(**{field: ""}).exclude(pseudonym__in=said).update(**{field: ""})
    found = list(here.filter(pseudonym__in=said))
    for participation in found:
        setattr(participation, field, said[participation.pseudonym])
    Participation.objects.bulk_update(found, [field], batch_size=500)


@transaction.atomic
def delete_workers(worker_ids: Iterable[int]) -> None:
    """Delete workers with their conversations and labels; the reports of their studies follow."""
    workers = Worker.objects.filter(pk__in=list(worker_ids))
    studies = Participation.objects.filter(worker__in=workers).values_list("study_id", flat=True)
    touched = sorted(set(studies))
    workers.delete()
    for study_id in touched:
        results_changed(study_id)
