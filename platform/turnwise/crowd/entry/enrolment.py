"""Enrol workers: consent, return by a panel's link, and taking part again.

Network addresses and erased panel IDs are stored as keyed hashes, which show whether two are the same.
"""

import ipaddress
from dataclasses import dataclass, field
from typing import Any

from django.db import IntegrityError, transaction
from django.utils.crypto import salted_hmac

from turnwise.accounts import erasures
from turnwise.accounts.models import Erasure
from turnwise.crowd import refusals
from turnwise.crowd.entry import gates
from turnwise.crowd.entry.sessions import Session
from turnwise.crowd.models import Assignment, Participation, Worker, resume_code
from turnwise.crowd.panels import Arrival
from turnwise.crowd.panels.links import invitation_key
from turnwise.crowd.places import re_entry
from turnwise.crowd.places.conditions import choose_condition
from turnwise.crowd.places.reservation import has_begun
from turnwise.studies.models import ConsentVersion, Study

# A household has a whole IPv6 network, and its devices change their addresses every day.
IPV6_NETWORK_BITS = 64


def hash_panel_id(panel: str, panel_id: str, study: Study) -> str:
    """Keyed hash of a panel ID, different in every study. The holder of the key can test an ID against it."""
    named = salted_hmac(f"crowd.ids.{study.code}", f"{panel}\n{panel_id}", algorithm="sha256")
    return named.hexdigest()[:32]


def hash_address(address: str, study: Study) -> str:
    """Hash a network address with the installation's secret key, different in every study; "" for none.

    The holder of the key can try addresses until one matches. Without the key, addresses cannot be guessed,
    and workers cannot be followed across studies.
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return ""
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is None:
        address = str(ipaddress.ip_network((parsed, IPV6_NETWORK_BITS), strict=False))
    return salted_hmac(f"crowd.addresses.{study.code}", address, algorithm="sha256").hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class EntryKey:
    """Idempotency key of an entry; it identifies a worker whose browser never got the first answer.

    Attributes:
        code: resume code of the participation.
        is_used: True if an earlier attempt may have stored it.
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
    """Record a consent, creating the worker if needed.

    Idempotent: a second call with the same session or key returns the first participation. Without them
    (another person used the panel ID before), a participation without any work is replaced by a new one, and
    the earlier browser loses access.

    Args:
        study: the study.
        version: the consent text that was shown.
        known: the browser's session, if any.
        arrival: the worker's arrival; None for the plain link.
        address: network address of the browser.
        key: idempotency key of the request; a repeated request returns the stored participation.

    Raises:
        EntryRefusedError: the study is not open, the worker is not eligible, the work was started or ended
            in another browser, or another worker has used the submission that the link names.
    """
    key = key or EntryKey()
    if key.is_used and (stored := Participation.objects.filter(study=study, resume_code=key.code).first()):
        return stored
    if study.state != Study.State.OPEN:
        raise refusals.not_taking(study)
    arrival = arrival or Arrival("", "")
    _refuse_revoked_invitation(arrival, study)
    refuse_erased_participant(arrival, study)
    worker = _worker(known, arrival)
    refuse_ineligible(worker, study)
    # Two simultaneous consents of one worker run one after the other.
    Worker.objects.select_for_update(no_key=True).get(pk=worker.pk)
    every = Participation.objects.select_for_update(of=("self",)).filter(worker=worker, study=study)
    newest = every.order_by("number").last()
    if newest and known and known.participations.intersection(each.pk for each in every):
        _record_return(newest, arrival)
        return newest
    condition = newest.condition if newest else {}
    if newest:
        # The ID in the link is no secret: knowing it must not open its owner's work.
        if newest.number > 1 or has_begun(newest.pk):
            raise refusals.started_elsewhere()
        erasures.begin(Erasure.Reason.RELEASED, study_id=study.pk)
        newest.delete()
    return _create_participation(
        arrival,
        worker=worker,
        study=study,
        consent=version,
        address=hash_address(address, study),
        resume_code=key.code,
        condition=condition or choose_condition(study),
    )


def _create_participation(arrival: Arrival, **fields: Any) -> Participation:
    try:
        with transaction.atomic():
            return Participation.objects.create(
                entered_by_id=arrival.entered_by,
                submission=arrival.submission,
                panel_values=dict(arrival.panel_values),
                **fields,
            )
    except IntegrityError as error:
        if "submission_once" in str(error):
            raise refusals.used_submission() from None
        raise


@transaction.atomic
def create_re_entry(
    ended: Participation,
    version: ConsentVersion,
    *,
    arrival: Arrival | None = None,
    address: str = "",
) -> Participation:
    """Create another participation of a worker who has finished, if the study's re-entry rule allows it.

    Idempotent, also in several tabs at once: if a newer participation exists, it is returned.

    Args:
        ended: the participation that has ended.
        version: the consent text to which the worker agreed, now or before.
        arrival: the new arrival with the submission that the panel pays; None if the worker did not leave.
        address: network address of the browser.

    Raises:
        EntryRefusedError: the study is not open, the worker is no longer eligible or has used all
            participations, or the submission that the link names was used before.
    """
    # Simultaneous requests from two tabs run one after the other.
    worker = Worker.objects.select_for_update(no_key=True).get(pk=ended.worker_id)
    newest = re_entry.newest_participation(ended)
    if newest.pk != ended.pk or not re_entry.is_over(newest):
        return newest
    study = newest.study
    if study.state != Study.State.OPEN:
        raise refusals.not_taking(study)
    re_entry.refuse_re_entry(newest)
    refuse_ineligible(worker, study)
    if arrival is None and newest.submission:
        raise refusals.re_enter_from_panel()
    arrival = arrival or Arrival("", "", panel_values=newest.panel_values, entered_by=newest.entered_by_id)
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
        condition=newest.condition,
    )


@transaction.atomic
def record_return(participation_id: int, arrival: Arrival) -> None:
    """Record that a participant returned by a link of their panel.

    If the link names a new submission, it replaces the earlier one, unless the work is already done.

    Raises:
        EntryRefusedError: the work is done and was for another submission, or another worker has used this
            submission.
    """
    _record_return(Participation.objects.select_for_update(of=("self",)).get(pk=participation_id), arrival)


def _record_return(participation: Participation, arrival: Arrival) -> None:
    if not arrival.submission or arrival.submission == participation.submission:
        return
    if Assignment.objects.filter(participation=participation).exclude(outcome="").exists():
        raise refusals.already_done()
    participation.entered_by_id, participation.submission = arrival.entered_by, arrival.submission
    participation.panel_values = dict(arrival.panel_values)
    try:
        with transaction.atomic():
            participation.save(update_fields=["entered_by", "submission", "panel_values"])
    except IntegrityError:
        raise refusals.used_submission() from None


def refuse_ineligible(worker: Worker, study: Study) -> None:
    """Refuse workers whom a gate refuses, or who took part in a study whose participants are excluded.

    Raises:
        EntryRefusedError: names the reason.
    """
    gates.refuse(worker, study)
    earlier = Participation.objects.filter(worker=worker, study__in=study.closed_to_workers_of.all())
    if earlier.exclude(assignment=None).exists():
        raise refusals.took_part_elsewhere()


def refuse_erased_participant(arrival: Arrival, study: Study) -> None:
    """Refuse a panel ID that has taken part in the study and was erased since.

    Raises:
        EntryRefusedError: the ID has taken part.
    """
    if not arrival.worker:
        return
    known_by = hash_panel_id(arrival.panel, arrival.worker, study)
    if Participation.objects.filter(study=study, known_by=known_by).exists():
        raise refusals.took_part_and_erased()


def _refuse_revoked_invitation(arrival: Arrival, study: Study) -> None:
    """Refuse a link that was revoked after the worker opened it.

    Raises:
        EntryRefusedError: the link is no longer valid.
    """
    key = invitation_key(arrival.panel, arrival.worker)
    if key and study.invitations.filter(pk=key, revoked_at__isnull=False).exists():
        raise refusals.not_invited()


def begun_participation(arrival: Arrival, study: Study) -> Participation | None:
    """First participation of the worker named by a link, if it has begun; other browsers cannot start it."""
    if not arrival.worker:
        return None
    named = Participation.objects.filter(
        study=study, worker__panel=arrival.panel, worker__panel_id=arrival.worker
    )
    first = named.select_related("worker").order_by("number").first()
    return first if first and has_begun(first.pk) else None


def _worker(known: Session | None, arrival: Arrival) -> Worker:
    if arrival.worker:
        worker, _ = Worker.objects.get_or_create(panel=arrival.panel, panel_id=arrival.worker)
        return worker
    return (known and Worker.objects.filter(pk=known.worker_id).first()) or Worker.objects.create()
