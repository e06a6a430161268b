import random
from collections import deque

import pytest

from chatbots.hosting.requests import TenantQueue


def test_tenants_are_served_in_turn_and_each_in_its_order() -> None:
    lines: TenantQueue[str] = TenantQueue()
    for tenant, item in [("a", "a1"), ("a", "a2"), ("a", "a3"), ("b", "b1"), ("c", "c1"), ("c", "c2")]:
        lines.append(tenant, item)

    assert [lines.popleft() for _ in range(6)] == ["a1", "b1", "c1", "a2", "c2", "a3"]


def test_a_single_tenant_has_a_plain_queue() -> None:
    lines: TenantQueue[int] = TenantQueue()
    plain: deque[int] = deque()
    fate = random.Random(3)
    for number in range(500):
        if fate.random() < 0.6 or not plain:
            lines.append(None, number)
            plain.append(number)
        elif fate.random() < 0.3:
            gone = fate.choice(plain)
            lines.remove(None, gone)
            plain.remove(gone)
        else:
            assert lines.popleft() == plain.popleft()
        assert (len(lines), list(lines)) == (len(plain), list(plain))


def test_an_empty_queue_raises() -> None:
    lines: TenantQueue[int] = TenantQueue()
    lines.append("a", 1)
    lines.remove("a", 1)

    with pytest.raises(KeyError):
        lines.popleft()
    with pytest.raises(KeyError):
        lines.remove("a", 1)
