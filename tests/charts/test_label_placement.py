"""Placement of points' labels without overlap."""

import math

from hypothesis import given
from hypothesis import strategies as st

from turnwise.charts.planes import Box, position_label

SIZE, SIDE = (8.0, 10.0), 200.0
POINT = st.tuples(st.floats(0, SIDE), st.floats(0, SIDE))


@given(st.lists(POINT, min_size=1, max_size=12))
def test_no_label_overlaps_a_mark_or_a_label_or_an_edge(points: list[tuple[float, float]]) -> None:
    taken = [Box(x - 5, y - 5, x + 5, y + 5) for x, y in points]
    placed = []
    for point in points:
        found = position_label(point, SIZE, [*taken, *placed], within=SIDE)
        if found:
            assert math.dist(found.middle, point) <= 24
            placed.append(found)

    for n, box in enumerate(placed):
        assert not any(box.overlaps(other) for other in [*taken, *placed[:n]])
        assert 0 <= box.left < box.right <= SIDE
        assert 0 <= box.bottom < box.top <= SIDE


def test_the_label_of_a_single_point_is_at_its_upper_right() -> None:
    found = position_label((100, 100), SIZE, [], within=SIDE)

    assert found
    assert found.left > 100 < found.bottom + 5


def test_a_point_without_space_has_no_label() -> None:
    assert position_label((100, 100), SIZE, [Box(0, 0, SIDE, SIDE)], within=SIDE) is None
