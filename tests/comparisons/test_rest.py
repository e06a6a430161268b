"""Studies compared over the REST API."""

import pytest

from tests.conftest import MakeStudy
from tests.planted import computed, talked
from tests.studies.test_rest import called, fields_of
from turnwise.accounts.models import User

pytestmark = pytest.mark.django_db(transaction=True)


def test_scores_of_two_studies_stand_in_rows(make_study: MakeStudy, rex: User, mallory: User) -> None:
    first, second, empty = (
        make_study({name: 5}, title=name, min_turns=2) for name in ("first", "second", "empty")
    )
    talked(first, [(True, True), (True, False)])
    talked(second, [(True, True), (False, False)])
    for each in (first, second):
        computed(each)
    query = "&".join(f"study={each.code}" for each in (first, second, empty))

    found = called(rex, "GET", f"/comparisons?{query}").json()
    of_other = called(mallory, "GET", f"/comparisons?{query}")
    none = called(rex, "GET", "/comparisons")

    sensible = {row["study_code"]: row["value"] for row in found["rows"] if row["title"] == "Sensibleness"}
    assert sensible, found["rows"]
    assert sensible == {first.code: pytest.approx(100), second.code: pytest.approx(50)}
    assert found["without_report"] == [empty.code]
    assert (of_other.status_code, fields_of(of_other)) == (422, {"study"})
    assert fields_of(none) == {"study"}
