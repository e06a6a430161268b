"""The planner's page: a plan from typed variances and from an earlier study, and refusals in words."""

from decimal import Decimal

import pytest
from django.test import Client

from tests.comparisons.conftest import BOTH, NO, SENSIBLE, talk
from tests.conftest import MakeStudy
from turnwise.accounts.models import User
from turnwise.comparisons.planner import study_components

pytestmark = pytest.mark.django_db(transaction=True)

TYPED = {
    "kind": "conversations", "difference": "5", "power": "80", "systems": "2", "per_worker": "1",
    "allocation": "random", "raters": "1", "study": "", "deviation": "20", "worker": "0",
    "worker_by_system": "0", "context": "0", "correlation": "", "judged_only": "0", "minutes": "10",
    "pay": "12", "currency": "eur", "low": "0", "high": "100",
}  # fmt: skip


def test_the_planner_plans_shows_a_curve_and_refuses_in_words(client: Client, rex: User) -> None:
    assert client.get("/plan/").status_code == 302
    client.force_login(rex)
    page = client.get("/plan/", TYPED)

    # Cohen: (z(.975) + z(.8))² · 2 · (20 / 5)² is 251.2; the t needs one more.
    assert page.context["plan"].needed.units == 253
    assert page.context["plan"].needed.cost == pytest.approx(506 * 2)
    assert "1,012.00 EUR" in page.content.decode()
    assert b'alt="Chart of the smallest detectable difference with 80' in page.content
    assert b"<svg" in client.get("/plan/plan.svg", TYPED).content
    for change, words in (
        ({"deviation": ""}, "A plan needs variance"),
        ({"difference": "0"}, "must be above 0"),
        ({"difference": "2", "low": "1", "high": "2", "deviation": "0.4"}, "it can be at most 1"),
        ({"deviation": "60"}, "cannot vary more"),
        ({"low": "100"}, "must be above the lowest"),
        ({"power": "100"}, "less than or equal to 99.9"),
        ({"worker": "70", "worker_by_system": "60"}, "add up to 130"),
        ({"per_worker": "0"}, "greater than or equal to 1"),
        ({"correlation": "0.8"}, "A machine judge needs both numbers"),
        ({"currency": "€"}, "three letters of a currency"),
    ):
        refused = client.get("/plan/", TYPED | change)
        assert refused.status_code == 422
        assert words in refused.content.decode()
        assert client.get("/plan/plan.svg", TYPED | change).status_code == 404


def test_an_earlier_study_gives_its_variances(client: Client, rex: User, make_study: MakeStudy) -> None:
    study = make_study({"ann": 9, "bob": 9}, title="Earlier", min_turns=2, max_turns=8)
    for labels in ([BOTH, BOTH], [SENSIBLE, NO], [BOTH, SENSIBLE], [NO, NO]):
        talk(study, {"ann": labels, "bob": labels})
    client.force_login(rex)
    page = client.get("/plan/", TYPED | {"study": study.pk, "deviation": ""})

    variances, scale = study_components(study)
    assert scale == 100
    assert variances.rest == variances.total > 0  # every worker has one conversation
    assert page.context["plan"].needed.power >= 0.8
    of_pairs = client.get("/plan/", TYPED | {"study": study.pk, "kind": "pairs"})
    assert "Choose no study for pairs" in of_pairs.content.decode()
    assert client.get("/plan/", TYPED | {"study": "999999"}).status_code == 422


def test_a_plan_begins_with_the_numbers_of_a_study(client: Client, rex: User, make_study: MakeStudy) -> None:
    study = make_study(
        {"ann": 9, "bob": 9, "cy": 9}, title="Paid", min_turns=2, max_turns=8,
        pay_amount=Decimal("2.50"), pay_currency="EUR", expected_minutes=15,
    )  # fmt: skip
    client.force_login(rex)
    link = f"/plan/?study={study.pk}"

    assert link in client.get(study.get_absolute_url()).content.decode()
    form = client.get(link).context["form"]
    values = {name: form[name].value() for name in ("study", "systems", "minutes", "pay", "currency")}
    assert values == {"study": study.pk, "systems": 3, "minutes": 15, "pay": 10, "currency": "EUR"}
    for other in ("999999", "x", "9" * 30):
        assert client.get("/plan/", {"study": other}).context["form"]["study"].value() is None


def test_pairs_need_no_deviation_and_only_used_settings_unfold(client: Client, rex: User) -> None:
    client.force_login(rex)
    pairs = client.get("/plan/", TYPED | {"kind": "pairs", "deviation": "", "difference": "10"})

    assert pairs.context["plan"].needed.units == pytest.approx(198, abs=1)  # 60 % against one half
    assert not pairs.context["form"].uses_advanced
    assert client.get("/plan/", TYPED | {"context": "10"}).context["form"].uses_advanced
