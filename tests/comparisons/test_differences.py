"""Differences between studies' protocols."""

from turnwise.comparisons.protocols import Difference, Protocol, Variant, differences


def protocol(study: str, *, turns: str = "14 to 28", instructions: str = "Chat.") -> Protocol:
    return Protocol(
        study, {"Opening": "the chatbot, with “Hi!”", "Turns": turns}, {"Instructions": instructions}
    )


def test_equal_protocols_have_no_differences() -> None:
    assert differences([protocol("A"), protocol("B")]) == []
    assert differences([protocol("A")]) == []
    assert differences([]) == []


def test_a_difference_names_each_variant_and_its_studies() -> None:
    found = differences([protocol("A"), protocol("B", turns="6 to 10"), protocol("C")])

    assert found == [Difference("Turns", [Variant("14 to 28", ["A", "C"]), Variant("6 to 10", ["B"])])]


def test_a_study_without_an_aspect_does_not_differ_in_it() -> None:
    reading = Protocol("R", {"Raters": "5 for each item"}, {"Instructions": "Chat."})
    alone = Protocol("S", {"Raters": "1 for each item"}, {"Instructions": "Chat."})

    assert differences([protocol("A"), reading]) == []
    assert differences([protocol("A"), reading, alone]) == [
        Difference("Raters", [Variant("5 for each item", ["R"]), Variant("1 for each item", ["S"])])
    ]


def test_different_long_texts_are_numbered_and_not_shown() -> None:
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
