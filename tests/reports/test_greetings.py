"""PostgreSQL reads the pattern by which it leaves out texts that cannot be greetings like Python."""

import re

import pytest
from django.db import connection

from evaluation.texts.greetings import STARTS_LIKE_GREETING, only_greets
from tests.evaluation.test_greetings import GREETS, OTHERS

TEXTS = [
    *(text for text in (*GREETS, *OTHERS) if text.isascii()),
    "  (HI)", "\n\thello", "_hi_", "hi5", "'hello'", "WHAT'S UP", "Ok.", "so", "song", "", "?!", "I",
]  # fmt: skip


@pytest.mark.django_db
def test_postgresql_reads_the_pattern_of_greetings_like_python() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            'SELECT text COLLATE "C" ~* %s FROM unnest(%s::text[]) WITH ORDINALITY AS t (text, n) ORDER BY n',
            [STARTS_LIKE_GREETING, TEXTS],
        )
        kept = [row[0] for row in cursor.fetchall()]

    assert kept == [bool(re.match(STARTS_LIKE_GREETING, text, re.IGNORECASE)) for text in TEXTS]
    assert all(is_kept for text, is_kept in zip(TEXTS, kept, strict=True) if only_greets(text))
    assert not all(kept)
