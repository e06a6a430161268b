"""Pages of anchor packs, and a linked leaderboard, in a browser: they fit a phone and are accessible."""

import pytest
from django.utils import timezone

from tests.browser.conftest import Visit
from tests.conftest import MakeQueue
from tests.desks import judge
from tests.judging.test_anchors import by_rater
from tests.planted import computed
from turnwise.accounts.models import User
from turnwise.judging.anchors import packs, study_anchors
from turnwise.judging.anchors.packs import Choice
from turnwise.publications import services as publishing
from turnwise.publications.row_files import RowsChoice
from turnwise.publications.snapshots import Details
from turnwise.studies.models import Study
from turnwise.studies.services import set_state

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


@pytest.fixture
def paths(make_queue: MakeQueue, rex: User) -> list[str]:
    """Pages of a study with judged anchors, of the study from which they are, and of their leaderboard."""
    earlier = make_queue(24, raters=3, title="First wave")
    for rater in range(3):
        judge(earlier, by_rater(rater, 0))
    earlier = set_state(earlier.pk, Study.State.CLOSED)
    choice = Choice("Wave 1", "ssa", "sensible", 12)
    pack = packs.make_pack(earlier, choice, owner=rex, seed=1, now=timezone.now())
    later = make_queue(8, raters=5, title="Second wave", system="Beta")
    study_anchors.add_pack(later, pack)
    for rater in range(5):
        judge(later, by_rater(rater, 3))
    other = make_queue(3, title="Third wave")
    judge(other, by_rater(0, 0))
    for study in (earlier, later, other):
        computed(study)
        publish(study, by=rex)
    return [
        "/anchors/", f"/anchors/{pack.pk}/", f"/studies/{earlier.pk}/anchor-pack/",
        f"/studies/{later.pk}/queue/anchors/", f"/studies/{other.pk}/queue/anchors/",
        f"/studies/{later.pk}/queue/", f"/studies/{later.pk}/report/", "/leaderboards/",
    ]  # fmt: skip


def publish(study: Study, *, by: User) -> None:
    """Publish the study's report in leaderboards."""
    details, listing = Details(study.title, [], "CC-BY-4.0"), publishing.Listing(in_leaderboard=True)
    chosen = (study, details, "", listing, RowsChoice.NONE)
    draft = publishing.draft(*chosen)
    assert publishing.publish(*chosen, by=by, previewed=draft.digest)


@pytest.mark.timeout(600)  # the report of all scores is long
async def test_pages_of_anchors_have_no_flaws(visit: Visit, rex: User, paths: list[str]) -> None:
    visitor = await visit()
    await visitor.sign_in(rex)
    flaws: dict[str, list[str]] = {}
    for path in paths:
        await visitor.go(path)
        if found := await visitor.flaws_at(1280, 320):
            flaws[path] = found

    assert flaws == {}
