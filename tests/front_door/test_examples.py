"""Example reports at the front door: shipped, small, and said to be of simulated people on each page."""

import pytest
from django.test import Client

from turnwise.front_door.examples import EXAMPLES, FOLDER, load

pytestmark = pytest.mark.django_db


def test_the_first_page_leads_to_all_examples(client: Client) -> None:
    assert 'href="/examples/"' in client.get("/").content.decode()

    page = client.get("/examples/").content.decode()

    assert "simulated" in page
    for each in EXAMPLES:
        assert f'href="/examples/{each.key}/"' in page


@pytest.mark.parametrize("key", [each.key for each in EXAMPLES])
def test_an_example_shows_its_figures_and_says_that_its_people_are_simulated(
    client: Client, key: str
) -> None:
    example = load(key)

    answer = client.get(f"/examples/{key}/")
    page = answer.content.decode()

    assert answer.status_code == 200
    assert "simulated people took part" in page
    assert "say nothing about real chatbots" in page
    assert example.verdict.split(".")[0] in page
    assert "<svg" in page
    assert "System A" in page
    assert "ELIZA" not in page
    assert all(each["holds"] is not False for each in example.findings)


def test_an_unknown_example_is_not_found(client: Client) -> None:
    assert client.get("/examples/nothing/").status_code == 404


def test_the_files_are_small_and_those_of_the_page() -> None:
    files = {file.stem: file.stat().st_size for file in FOLDER.glob("*.json")}

    assert set(files) == {each.key for each in EXAMPLES}
    assert sum(files.values()) < 1_000_000
