"""In what studies differ, in words."""

from turnwise.comparisons.protocols import Difference, Protocol, Variant, differences


def protocol(study: str, *, turns: str = "14 to 28", instructions: str = "Chat.") -> Protocol:
    return Protocol(
        study, {"Opening": "the chatbot, with “Hi!”", "Turns": turns}, {"Instructions": instructions}
    )


def test_studies_that_are_alike_differ_in_nothing() -> None:
    assert differences([protocol("A"), protocol("B")]) == []
    assert differences([protocol("A")]) == []
    assert differences([]) == []


def test_what_holds_where_is_told() -> None:
    found = differences([protocol("A"), protocol("B", turns="6 to 10"), protocol("C")])

    assert found == [Difference("Turns", [Variant("14 to 28", ["A", "C"]), Variant("6 to 10", ["B"])])]


def test_an_aspect_that_a_study_does_not_have_sets_it_apart_from_nobody() -> None:
    reading = Protocol("R", {"Raters": "5 for each item"}, {"Instructions": "Chat."})
    alone = Protocol("S", {"Raters": "1 for each item"}, {"Instructions": "Chat."})

    assert differences([protocol("A"), reading]) == []
    assert differences([protocol("A"), reading, alone]) == [
        Difference("Raters", [Variant("5 for each item", ["R"]), Variant("1 for each item", ["S"])])
    ]


def test_long_texts_are_told_apart_without_their_words() -> None:
    found = differences(
        [
            protocol("A", instructions="Chat."),
            protocol("B", instructions=" Chat.\n"),
            protocol("C", instructions="Be rude."),
            protocol("D", instructions=""),
        ]
    )

    assert found == [
        Difference(
            "Instructions",
            [Variant("wording 1", ["A", "B"]), Variant("wording 2", ["C"]), Variant("none", ["D"])],
        )
    ]
