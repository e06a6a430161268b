"""Slices of work that the loss of the database breaks off without ending the work."""

import pytest
from django.db import InterfaceError, OperationalError

from turnwise.responses.bulk_replies import run_slice


@pytest.mark.parametrize("loss", [InterfaceError, OperationalError])
def test_work_is_not_given_up_because_the_database_was_lost(loss: type[Exception]) -> None:
    given_up: list[str] = []

    async def work() -> bool:
        raise loss("connection already closed")

    with pytest.raises(loss):
        run_slice("A run", work(), given_up.append)

    assert not given_up


def test_work_that_fails_by_itself_is_given_up_with_its_reason() -> None:
    given_up: list[str] = []

    async def work() -> bool:
        raise ValueError("The file has no such column.")

    assert not run_slice("A run", work(), given_up.append)
    assert "no such column" in given_up[0]
