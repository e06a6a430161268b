"""Keyed hashes of network addresses and of erased ids of workers: they show whether two are the same.

Coming in: consent, and coming back to what one has begun.
"""

import ipaddress
from dataclasses import dataclass, field
from typing import Any

from django.db import IntegrityError, transaction
from django.utils.crypto import salted_hmac

from turnwise.crowd import refusals
from turnwise.crowd.entry import gates
from turnwise.crowd.entry.sessions import Session
from turnwise.crowd.models import Assignment, Participation, Worker, resume_code
from turnwise.crowd.panels import Arrival
from turnwise.crowd.places import re_entry
from turnwise.crowd.places.reservation import has_begun
from turnwise.studies.models import ConsentVersion, Study

# A household has a whole network of them; its devices change theirs every day.
IPV6_NETWORK_BITS = 64


def hash_panel_id(panel: str, panel_id: str, study: Study) -> str:
    """Keyed hash of a panel's id, another in every study. The holder of the key can test an id against it."""
    named = salted_hmac(f"crowd.ids.{study.code}", f"{panel}\n{panel_id}", algorithm="sha256")
    return named.hexdigest()[:32]


def hash_address(address: str, study: Study) -> str:
    """Hash of the address with the installation's secret key, another in every study; "" for no address.

    Whoever has the key can try addresses until one fits. Without it, nobody can, nor follow people across
    studies.
    """
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return ""
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is None:
        address = str(ipaddress.ip_network((found, IPV6_NETWORK_BITS), strict=False))
    return salted_hmac(f"crowd.addresses.{study.code}", address, algorithm="sha256").hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class EntryKey:
    """Idempotency key of an entry: without it, nobody knows a worker whose first answer was lost.

    Attributes:
        code: the resume code of the participation.
        is_used: whether an earlier try may have stored it.
    """

    code: str = field(default_factory=resume_code)
    is_used: bool = False


@transaction.atomic
def consent(
    study: Study,
    version: ConsentVersion,
    *,
    known: Session | None,
    arrival: Arrival | None,
    address: str = "",
    key: EntryKey | None = None,
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
        key: of the request, by which a second try finds what the first one stored.

    Raises:
        EntryRefusedError: the study is not open or not for this worker, they began or ended the work in
            another browser, or somebody else is paid for what their link names.
    """
    key = key or EntryKey()
    if key.is_used and (stored := Participation.objects.filter(study=study, resume_code=key.code).first()):
        return stored
    if study.state != Study.State.OPEN:
        raise refusals.not_taking(study)
    arrival = arrival or Arrival("", "")
    refuse_erased_participant(arrival, study)
    worker = _worker(known, arrival)
    refuse_ineligible(worker, study)
    # Who agrees twice at once agrees one after the other.
    Worker.objects.select_for_update(no_key=True).get(pk=worker.pk)
    every = Participation.objects.select_for_update(of=("self",)).filter(worker=worker, study=study)
    own = every.order_by("number").last()
    if own and known and known.participations.intersection(each.pk for each in every):
        _record_return(own, arrival)
        return own
    if own:
        # The id in the link is no secret: whoever knows it must not get into the work of its owner.
        if own.number > 1 or has_begun(own.pk):
            raise refusals.started_elsewhere()
        own.delete()
    return _create_participation(
        arrival,
        worker=worker,
        study=study,
        consent=version,
        address=hash_address(address, study),
        resume_code=key.code,
    )


def _create_participation(arrival: Arrival, **fields: Any) -> Participation:
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
def create_re_entry(
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
    newest = re_entry.newest_participation(own)
    if newest.pk != own.pk or not re_entry.is_over(newest):
        return newest
    study = newest.study
    if study.state != Study.State.OPEN:
        raise refusals.not_taking(study)
    re_entry.refuse_re_entry(newest)
    refuse_ineligible(worker, study)
    if arrival is None and newest.submission:
        raise refusals.re_enter_from_panel()
    arrival = arrival or Arrival("", "", way_back=newest.way_back, entered_by=newest.entered_by_id)
    if arrival.submission and arrival.submission == newest.submission:
        raise refusals.re_enter_from_panel()
    return _create_participation(
        arrival,
        worker=worker,
        study=study,
        consent=version,
        address=hash_address(address, study),
        number=newest.number + 1,
        pseudonym=newest.pseudonym,
    )


@transaction.atomic
def record_return(participation_id: int, arrival: Arrival) -> None:
    """Note that somebody who takes part came back by a link of their panel.

    A panel may have made their work a new submission; that is what it pays, unless the work was done before.

    Raises:
        EntryRefusedError: they have taken part already, and another submission is to pay for it once more; or
            somebody else is paid for what their link names.
    """
    _record_return(Participation.objects.select_for_update(of=("self",)).get(pk=participation_id), arrival)


def _record_return(own: Participation, arrival: Arrival) -> None:
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


def refuse_ineligible(worker: Worker, study: Study) -> None:
    """Refuse who took part in a study that excludes them from this one, or whom a gate does not let through.

    Raises:
        EntryRefusedError: why.
    """
    gates.refuse(worker, study)
    earlier = Participation.objects.filter(worker=worker, study__in=study.closed_to_workers_of.all())
    if earlier.exclude(assignment=None).exists():
        raise refusals.took_part_elsewhere()


def refuse_erased_participant(arrival: Arrival, study: Study) -> None:
    """Refuse who took part before their id was erased here.

    Raises:
        EntryRefusedError: they did.
    """
    if not arrival.worker:
        return
    known_by = hash_panel_id(arrival.panel, arrival.worker, study)
    if Participation.objects.filter(study=study, known_by=known_by).exists():
        raise refusals.took_part_and_erased()


def begun_participation(arrival: Arrival, study: Study) -> Participation | None:
    """The participation of whom a link names, if they have begun: another browser may not begin it again."""
    if not arrival.worker:
        return None
    named = Participation.objects.filter(
        study=study, worker__panel=arrival.panel, worker__panel_id=arrival.worker
    )
    own = named.select_related("worker").order_by("number").first()
    return own if own and has_begun(own.pk) else None


def _worker(known: Session | None, arrival: Arrival) -> Worker:
    if arrival.worker:
        worker, _ = Worker.objects.get_or_create(panel=arrival.panel, panel_id=arrival.worker)
        return worker
    return (known and Worker.objects.filter(pk=known.worker_id).first()) or Worker.objects.create()
