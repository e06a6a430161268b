"""Erasures: the only way to change or delete what participants, bots and raters said.

Triggers refuse it in every other transaction (accounts/sql/only_by_erasure.sql), and write in the log how
many rows of which table an erasure touched.
"""

from django.db import connection

from turnwise.accounts.models import Erasure, User

PROTECTED = frozenset(
    {
        "dialogues_turn",
        "dialogues_replyversion",
        "responses_response",
        "labels_label",
        "experts_adjudication",
    }
)
"""Tables whose rows only an erasure changes or deletes, apart from revisions while a person is at work."""


def begin(reason: Erasure.Reason, *, by: User | None = None, study_id: int | None = None) -> None:
    """Log an erasure, and permit it until the end of the caller's transaction.

    The first reason of a transaction stays; a person or a study that is named later is added.

    Args:
        reason: why records are changed or deleted.
        by: user who does it; None for the participant or a timer.
        study_id: study of the records.

    Raises:
        RuntimeError: there is no transaction, so the permission would end with this call.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("Begin an erasure in the transaction that erases: with transaction.atomic().")
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT accounts_begin_erasure(%s, %s, %s)", [reason.value, by.pk if by else None, study_id]
        )
