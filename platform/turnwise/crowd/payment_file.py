"""The file by which people are paid, written while it is sent."""

from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

from django.db import connection, transaction

from turnwise.crowd.ledger import UNPAID
from turnwise.studies.models import Study

_STATEMENT = f"""
SELECT who.panel, who.panel_id, who.submission, who.pseudonym, claim.due, coalesce(claim.earned, 0.00),
       coalesce(claim.bonus, 0.00)
  FROM ({UNPAID}) AS claim
 CROSS JOIN LATERAL (
       SELECT w.panel, w.panel_id, p.submission, p.pseudonym
         FROM crowd_participation AS p JOIN crowd_worker AS w ON w.id = p.worker_id
        WHERE p.id = claim.participation LIMIT 1) AS who
 WHERE claim.due > 0 AND (%s::text IS NULL OR who.panel = %s)
 ORDER BY claim.participation
"""


class ToPay(NamedTuple):
    """Somebody to be paid, as the file has them."""

    panel: str
    panel_id: str
    submission: str
    worker: str
    amount: Decimal
    earned: Decimal
    bonus: Decimal


def to_pay(study: Study, panel: str | None, *, batch: int = 1000) -> Iterator[list[ToPay]]:
    """Those of `ledger.due` who are still there, of one panel or of all, as one moment has them.

    Each is summed up and looked up when it is their turn, so the first come at once, however many there are.
    """
    with transaction.atomic():
        connection.ensure_connection()
        with connection.connection.cursor(name="to_pay") as cursor:
            cursor.execute(_STATEMENT, [study.pk, panel, panel])
            while rows := cursor.fetchmany(batch):
                yield [ToPay(*row) for row in rows]
