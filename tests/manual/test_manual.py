"""The manual inside the product: every page is there, every link leads somewhere, words are found."""

from collections import Counter
from pathlib import Path

import pytest
from django.test import Client

from tests.project.test_access import OURS, PUBLIC, TOKEN
from turnwise.manual import pages
from turnwise.manual.pages import FILES, HELP, SECTIONS, find, page

DOCS = Path(__file__).parents[2] / "docs"


def test_every_document_stands_in_one_part_of_the_manual() -> None:
    placed = Counter(file for _, files in SECTIONS.values() for file in files)

    assert [file for file, times in placed.items() if times > 1] == []
    assert {each.stem for each in DOCS.glob("*.md")} - set(placed) == set(), "Name it in manual/pages.py."


@pytest.mark.parametrize("name", FILES)
def test_every_link_leads_to_a_page_and_a_heading_of_it(name: str) -> None:
    lost = []
    for link in page(name).links:
        there, _, anchor = link.partition("#")
        known = there in FILES
        if not known or (anchor and anchor not in {each.anchor for each, _ in page(there).passages}):
            lost.append(link)

    # What leads into the code is no page: a reader of the source has it beside this file.
    assert [link for link in lost if link.endswith(".md") or "#" in link or "/" not in link] == []


def test_every_page_for_researchers_has_help() -> None:
    named = {each.name for each in OURS if each.rule not in (PUBLIC, TOKEN)}
    without = {name for name in named if not {name, name.partition(":")[0]} & set(HELP)}

    # The study itself has all of its pages beside it: the manual's first page helps there.
    assert {name.partition(":")[0] for name in without} <= {"studies"}
    assert set(HELP.values()) <= set(FILES)


def test_words_in_headings_come_first() -> None:
    found = find("BUNDLE")
    titled = ["bundle" in f"{each.page.title} {each.heading.text}".casefold() for each in found]

    assert titled[0]
    assert titled == sorted(titled, reverse=True)
    assert all("bundle" in f"{each.heading.text} {each.excerpt}".casefold() for each in found)
    assert len(find("the")) == pages.MOST_FOUND
    assert find("  ") == find("xyzzy") == []


def test_all_words_must_stand_below_one_heading() -> None:
    [found] = [each for each in find("password once chooses their own") if each.page.name == "people"]

    assert found.heading.text == "People, sharing and the audit log"
    assert all(each.page.name != "people" for each in find("password krippendorff"))


@pytest.mark.django_db
def test_anybody_reads_it(client: Client) -> None:
    contents = client.get("/manual/").content.decode()
    for name in FILES:
        answer = client.get(f"/manual/{name}/")
        assert answer.status_code == 200
        assert f'href="/manual/{name}/"' in contents

    asked = client.get("/manual/", {"find": "<b>kappa"}).content.decode()
    assert "<b>kappa" not in asked
    assert "&lt;b&gt;kappa" in asked
    assert client.get("/manual/settings/").content.count(b"<table>") >= 1
    assert client.get("/manual/pictures/chat.png")["Content-Type"] == "image/png"
    for path in ("nothing/", "pictures/nothing.png", "..%2fREADME.md/"):
        assert client.get(f"/manual/{path}").status_code == 404


def test_headings_have_the_anchors_that_links_between_documents_use() -> None:
    assert "make-one" in {each.anchor for each in page("pairs").headings}
    assert page("changelog").title == "Changelog"
