"""What seems to be personal data in a text, and what does not; marks in its place."""

import pytest

from evaluation.texts.personal_data import Kind, Redactor, find_personal_data


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("My name is Wanda and I live in Gdynia", [("NAME", "Wanda")]),
        ("my name is wanda, mail w.k+1@x.co.uk!", [("NAME", "wanda"), ("EMAIL", "w.k+1@x.co.uk")]),
        ("I'm Tom Smith.", [("NAME", "Tom Smith")]),
        ("Ring +44 20 7946 0958 now", [("PHONE", "+44 20 7946 0958")]),
        ("or (555) 123-4567.", [("PHONE", "(555) 123-4567")]),
        # Both numbers are published examples: of ISO 13616, and of Visa's for tests.
        ("DE89 3704 0044 0532 0130 00", [("ACCOUNT", "DE89 3704 0044 0532 0130 00")]),
        ("DE90 3704 0044 0532 0130 00", [("PHONE", "3704 0044 0532")]),  # one digit off: no account
        ("card 4111 1111 1111 1111", [("ACCOUNT", "4111 1111 1111 1111")]),
        ("I live at 221B Baker Street, London", [("ADDRESS", "221B Baker Street")]),
        ("Ich wohne Hauptstraße 12", [("ADDRESS", "Hauptstraße 12")]),
        ("au 10 rue de la Paix", [("ADDRESS", "10 rue de la Paix")]),
        ("我叫李明\uff0c住在南京路100号", [("NAME", "李明"), ("ADDRESS", "住在南京路100号")]),
        ("اسمي خالد", [("NAME", "خالد")]),
        ("see https://x.org/me, or @wanda_k", [("LINK", "https://x.org/me"), ("LINK", "@wanda_k")]),
    ],
)  # fmt: skip
def test_likely_personal_data_are_found(text: str, expected: list[tuple[str, str]]) -> None:
    found = list(find_personal_data(text))

    assert [(each.kind.name, each.text) for each in found] == expected
    assert all(text[each.start : each.end] == each.text for each in found)


@pytest.mark.parametrize(
    "text",
    [
        "I am American.",
        "I'm from Berlin",
        "Call me later",
        "Pi is 3.14159265, and 1,000,000 people know 12345678",
        "On 2026-11-22 at 23:05, or 22.11.2026",
        "My name? No!",
    ],
)
def test_texts_that_only_resemble_personal_data_are_not_found(text: str) -> None:
    assert list(find_personal_data(text)) == []


def test_redaction_marks_replace_whole_words_in_any_case_the_longest_first() -> None:
    redactor = Redactor({"Ann": Kind.NAME, "Ann Lee": Kind.NAME, "李明": Kind.NAME, "a@b.org": Kind.EMAIL})

    marked = redactor("ann lee, Ann\u2019s annual mail: A@b.org, not a@b.organic. 我叫李明\uff0c")

    assert marked == "[name], [name]\u2019s annual mail: [e-mail], not a@b.organic. 我叫[name]\uff0c"
    assert not Redactor({})
    assert Redactor({})("Ann") == "Ann"
