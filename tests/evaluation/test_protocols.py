"""Departures from a published protocol, each found by itself; what the protocols published."""

from dataclasses import replace

import pytest

from evaluation.protocols import conformance, protocol_named, protocol_with_scores, protocols
from evaluation.protocols.facts import AskFact, Design, Judging, SideBySide, Talks
from evaluation.questions import QUESTION_SETS

PAPER = Talks(
    bot_opens=True,
    opening_text="Hi!",
    min_turns=14,
    max_turns=28,
    question_set="ssa",
    blind=True,
    languages=["en"],
    conversations={"Ann": 100},
    unlabelled=0,
    most_raters=1,
)


MEENA = protocols()["meena-interactive"]
JUDGED = Judging(
    "ssa",
    "Sensibleness and specificity",
    5,
    10,
    0,
    ["en"],
    contexts=1477,
    context_lengths="1 turn: 315, 2 turns: 500, 3 turns: 662",
    context_set="Mini-Turing Benchmark",
    contexts_lacking={"Ann": 0},
)
READ = Judging(
    "ssa", "Sensibleness and specificity", 5, 10, 0, ["en"], conversations={"Ann": 100, "Bob": 119}
)


def test_a_study_that_follows_the_paper_has_no_departures() -> None:
    assert MEENA.deviations(PAPER, MEENA.asks) == []


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"bot_opens": False}, "The worker speaks first; in the paper the chatbot opens with “Hi!”."),
        ({"opening_text": "Hello"}, "The chatbot opens with “Hello”; in the paper with “Hi!”."),
        ({"min_turns": 6}, "A conversation has at least 6 turns; in the paper at least 14."),
        ({"max_turns": 40}, "A conversation has at most 40 turns; in the paper at most 28."),
        ({"question_set": "human-likeness"}, "in the paper sensibleness and specificity alone."),
        ({"blind": False}, "Workers learn which bot they talk to"),
        ({"languages": ["en", "zh"]}, "Conversations may be in any of en, zh; in the paper"),
        ({"languages": []}, "No language is set"),
        ({"conversations": {"Ann": 99}}, "Finished conversations of Ann: 99; in the paper 100 or more."),
        ({"unlabelled": 3}, "Replies without a label: 3;"),
        ({"most_raters": 5}, "labels of up to 5 workers"),
    ],
)
def test_each_departure_is_one_sentence(changed: dict[str, object], sentence: str) -> None:
    (found,) = MEENA.deviations(replace(PAPER, **changed), MEENA.asks)  # type: ignore[arg-type]

    assert sentence in found


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({}, None),
        ({"raters_wanted": 1}, "1 worker judges each item; in the paper 5."),
        ({"raters_wanted": 3}, "3 workers judge each item; in the paper 5."),
        (
            {"items_lacking_raters": 4},
            "4 of 10 items have fewer than the 5 raters that are wanted; in the paper every",
        ),
        (
            {"question_set": "likert", "question_set_title": "Ratings"},
            "the questions “Ratings”; in the paper",
        ),
        ({"languages": []}, "The languages of the study are none; in the paper"),
        ({"languages": ["en", "zh"]}, "The languages of the study are en, zh; in the paper"),
        ({"contexts": 9}, "Responses to 9 contexts are judged; in the paper to 1477."),
        ({"contexts": 1}, "Responses to 1 context are judged;"),
        ({"context_lengths": "1 turn: 1477"}, "number of turns: 1 turn: 1477; in the paper 1 turn: 315,"),
        (
            {"context_set": "of Open MTB"},
            "the Mini-Turing Benchmark, were never published, so",
        ),
        (
            {"contexts_lacking": {"Ann": 0, "Bob": 3}},
            "Contexts without a response of Bob: 3 of 1477; in the paper every system answers all.",
        ),
    ],
)
def test_a_judging_study_departs_from_the_static_evaluation(changed, sentence):
    found = protocols()["meena-static"].deviations(
        replace(JUDGED, **changed), protocols()["meena-static"].asks
    )

    assert len(found) == (sentence is not None)
    assert all(sentence in each for each in found)


def test_judged_conversations_are_checked_against_the_paper() -> None:
    read = protocols()["meena-read"]

    assert read.deviations(READ, read.asks) == []
    (few,) = read.deviations(replace(READ, conversations={"Ann": 99, "Bob": 119}), read.asks)
    assert few.startswith(
        "Conversations of Ann: 99; in the paper 100 of people with each other, 100 of Mitsuku"
    )
    # The paper had 119 of XiaoIce; of every other system 100 are as many as it had.
    (fewer,) = read.deviations(replace(READ, conversations={"XIAOICE": 118, "Mitsuku": 100}), read.asks)
    assert fewer.startswith("Conversations of XIAOICE: 118; in the paper 100 of people")
    assert read.deviations(replace(READ, conversations={"XiaoIce": 119, "Mitsuku": 100}), read.asks) == []
    (mixed,) = read.deviations(replace(READ, contexts=3), read.asks)
    assert mixed.startswith("Responses to 3 contexts are judged beside the conversations;")
    # The interactive scores of the paper: Human 86, Mitsuku 56, XiaoIce 31.
    assert {each.system: each.scores["ssa"] for each in read.published} == {
        "Human": 86,
        "Mitsuku": 56,
        "XiaoIce": 31,
    }


def test_published_agreement_is_the_papers() -> None:
    agreed = protocols()["meena-static"].agreement

    assert agreed is not None
    assert {key: (each.percent, each.alpha) for key, each in agreed.items()} == {
        "sensible": ("76 ± 3", "0.42 ± 0.03"),
        "specific": ("66 ± 2", "0.30 ± 0.05"),
    }


def test_each_bot_with_too_few_conversations_is_named() -> None:
    few = replace(PAPER, conversations={"Ann": 100, "Bob": 7, "Eve": 0})

    assert [each.split(";")[0] for each in MEENA.deviations(few, MEENA.asks)] == [
        "Finished conversations of Bob: 7",
        "Finished conversations of Eve: 0",
    ]


def test_a_custom_design_has_no_departures_and_no_published_scores() -> None:
    assert conformance(Design("", MEENA.asks), replace(PAPER, min_turns=2)) == {
        "protocol_key": "",
        "protocol": "",
        "deviations": [],
    }
    assert protocol_with_scores("", "ssa") is None
    assert protocol_named("").level == 0.95


def test_published_scores_stand_beside_those_of_the_same_questions_only() -> None:
    assert protocol_with_scores("meena-interactive", "ssa") == MEENA
    assert protocol_with_scores("meena-interactive", "likert") is None
    assert protocol_named("neural-chat-interactive").level == 0.90


NEURAL = protocols()["neural-chat-interactive"]
RATINGS, VOTES = NEURAL.asks
RATED, VOTED = "Five ratings of a whole conversation, 1 to 7", "Votes for single replies"
OWN = AskFact("own-2", "partner_turn", "each_turn", title="Our own")


@pytest.mark.parametrize(
    ("asks", "sentences"),
    [
        ([RATINGS, VOTES], []),
        (
            [RATINGS],
            [f"The paper also asks “{VOTED}” about each of the partner's turns; this study does not."],
        ),
        (
            [RATINGS, VOTES, OWN],
            ["This study also asks “Our own” about each of the partner's turns; the paper does not."],
        ),
        (
            [RATINGS, replace(VOTES, moment="each_turn", required=True)],
            [
                f"“{VOTED}” about each of the partner's turns is asked before the next message (in the "
                "paper, at any time before the end) and must be answered (in the paper, it may be left "
                "unanswered)."
            ],
        ),
        # The first questions are a rule's: it is told once that they are others.
        ([OWN, VOTES], []),
        (
            [VOTES],
            [f"The paper also asks “{RATED}” about the whole conversation; this study does not."],
        ),
    ],
)
def test_different_wordings_are_departures(asks: list[AskFact], sentences: list[str]) -> None:
    talks = replace(PAPER, bot_opens=False, min_turns=6, question_set="likert")

    assert NEURAL.deviations(talks, asks) == sentences


def test_other_first_questions_are_named_once() -> None:
    talks = replace(PAPER, question_set="our-own")
    (found,) = MEENA.deviations(talks, [OWN])

    assert found.startswith("Workers answer the questions “our-own”")


RESPONDED = replace(JUDGED, question_set="own-1", context_lengths="1 turn: 10", contexts=10)
COMPARED = SideBySide("preference", "Which is better", 1, 300, 0, ["en"], items_of_pairs={"Ann and Bob": 100})
TALKED = replace(PAPER, bot_opens=False, min_turns=6, question_set="helpful-harmless-honest")


@pytest.mark.parametrize(
    ("key", "study", "sentence"),
    [
        ("helpful-harmless-honest", TALKED, None),
        (
            "helpful-harmless-honest",
            replace(TALKED, min_turns=2),
            "A conversation has at least 2 turns; in the",
        ),
        (
            "helpful-harmless-honest",
            replace(TALKED, question_set="ssa"),
            "answer the questions “ssa”; in the",
        ),
        ("helpful-harmless-honest", replace(TALKED, blind=False), "Workers learn which bot they talk to"),
        ("prompts-by-models", RESPONDED, None),
        ("prompts-by-models", replace(RESPONDED, contexts_of_several_turns=1), "1 of 10 contexts has more"),
        ("prompts-by-models", replace(RESPONDED, contexts_lacking={"Ann": 3}), "response of Ann: 3 of 10;"),
        ("prompts-by-models", replace(RESPONDED, conversations={"Ann": 2}), "Conversations of Ann that are"),
        (
            "prompts-by-models",
            replace(RESPONDED, raters_wanted=1),
            "1 worker judges each response; at least 2",
        ),
        ("prompts-by-models", replace(RESPONDED, items_lacking_raters=4), "4 of 10 responses have fewer"),
        ("live-arena", COMPARED, None),
        (
            "live-arena",
            replace(COMPARED, items_of_pairs={"Ann and Bob": 99}),
            "Ann and Bob: 99 comparisons; the preset",
        ),
    ],
)
def test_departures_from_designs_of_turnwise_speak_of_the_preset(
    key: str, study: Talks | Judging, sentence: str | None
) -> None:
    protocol = protocols()[key]
    found = protocol.deviations(study, protocol.asks)

    assert len(found) == (sentence is not None)
    assert all(sentence in each and "paper" not in each for each in found)  # type: ignore[operator]
    further = [*protocol.asks, OWN]  # only a preset that leaves its questions open allows more of them
    assert [each for each in protocol.deviations(study, further) if each not in found] == (
        ["This study also asks “Our own” about each of the partner's turns; the preset does not."]
        if protocol.asks
        else []
    )


@pytest.mark.parametrize("key", sorted(protocols()))
def test_published_scores_have_keys_that_a_set_declares(key: str) -> None:
    protocol = protocols()[key]
    declared = {score.key for name in protocol.question_sets for score in QUESTION_SETS[name].scores}

    # Topical-Chat collected conversations and scored no system; a design of Turnwise has no publication.
    assert protocol.published or key == "topical-chat" or protocol.is_own
    for system in protocol.published:
        assert set(system.scores) <= declared


@pytest.mark.parametrize("key", ["meena-interactive", "meena-static"])
def test_a_published_average_is_that_of_the_published_shares_but_for_rounding(key: str) -> None:
    for system in protocols()[key].published:
        both = system.scores["sensible"] + system.scores["specific"]
        assert abs(system.scores["ssa"] - both / 2) <= 1
