import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from studies.models import Study
from tests.conftest import MakeQueue

pytestmark = pytest.mark.django_db


def page_of(study: Study, reader: User) -> str:
    client = Client()
    client.force_login(reader)
    return " ".join(client.get(reverse("judging:queue", args=[study.pk])).content.decode().split())


def test_the_queue_says_what_it_costs_before_anybody_works(make_queue: MakeQueue, rex: User) -> None:
    study = make_queue(7, raters=3, batch=5, pay_amount=4)

    said = "7 items \u00d7 3 raters = 21 judgments, about 5 batches; at 4.00 USD each that is 20.00 USD."
    assert said in page_of(study, rex)


def test_nobody_judges_an_item_twice_so_a_small_queue_has_a_batch_for_each_rater(
    make_queue: MakeQueue, rex: User
) -> None:
    page = page_of(make_queue(2, raters=3, batch=50), rex)

    assert "2 items \u00d7 3 raters = 6 judgments, about 3 batches." in page
