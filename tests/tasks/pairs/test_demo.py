import pytest

from turnwise.accounts.models import User
from turnwise.judging.models import Item, JudgingPlan, Slot
from turnwise.tasks.pairs.task import create_demo_pairs


@pytest.mark.django_db
def test_the_demo_study_of_pairs_is_open_and_follows_its_protocol_but_for_its_size(ada: User) -> None:
    study = create_demo_pairs(ada)

    assert study.state == "open"
    assert (Item.objects.count(), Slot.objects.count()) == (12, 12 * 7)
    assert JudgingPlan.objects.get(study=study).training_tries == 3
