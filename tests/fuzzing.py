"""How much is tried of what hypothesis makes up: some seconds in the suite, hours with TURNWISE_SLOW=1.

The suite tries the same every time, so that it does not fail by chance; by hand, each run tries others.
"""

import os
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

SLOW = bool(os.environ.get("TURNWISE_SLOW"))
TIMES = 200 if SLOW else 1


def tries(number: int) -> settings:
    """Settings of a test that tries so many examples in the suite."""
    return settings(
        max_examples=number * TIMES,
        deadline=None,
        derandomize=not SLOW,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )


ODD = st.sampled_from(
    [
        *(
            None,
            True,
            False,
            0,
            -1,
            1.5,
            2**31,
            2**63,
            -(2**63) - 1,
            10**400,
            1e308,
            float("inf"),
            float("nan"),
        ),
        *("", " ", "\x00", "\ud800", "\u202e", "0", "-1", "1e9", "true", "null", "a" * 3000, "\u0661", "😀"),
        *([], {}, [[]], {"": {}}),
    ]
)
"""Values that programs stumble over."""
TEXTS = st.text(max_size=40)
ANYTHING: st.SearchStrategy[Any] = st.recursive(
    ODD | TEXTS | st.integers() | st.floats(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=8,
)
