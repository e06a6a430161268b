"""Every kind of question: what it takes, what is stored, how it is scored, which declarations are refused."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.questions import (
    LIKERT,
    QUESTION_SETS,
    SSA,
    VOTES,
    AnswersError,
    Choice,
    Combine,
    Condition,
    DeclarationError,
    Example,
    Kind,
    Level,
    Question,
    QuestionSet,
    Scale,
    Score,
    Subject,
    Term,
    bounds,
    coded_answers,
    question_set,
    score_values,
)

MOOD = Question(
    "mood", "How does it sound?", choices=(Choice("glad", "Glad"), Choice("sad", "Sad"), Choice("odd", "Odd"))
)
SOURCES = Question(
    "sources",
    "What is it based on?",
    kind=Kind.SEVERAL,
    choices=(Choice("fact", "A fact"), Choice("news", "News"), Choice("self", "Itself")),
)
EASE = Question("ease", "How easy was it?", kind=Kind.SCALE, scale=Scale(-2, 2, "hard", "easy"))
WHY = Question("why", "Why?", kind=Kind.TEXT, longest=20, required=False)


def declared(*questions: Question, **more: object) -> QuestionSet:
    fields: dict[str, object] = {
        "key": "own",
        "title": "Our own",
        "subjects": frozenset({Subject.TURN}),
        "questions": questions,
        "source": "us",
    }
    return QuestionSet(**(fields | more))  # type: ignore[arg-type]  # each test gives what belongs there


# --- answers --------------------------------------------------------------------------------------


def test_several_choices_are_stored_in_the_declared_order():
    assert declared(SOURCES).check({"sources": ["self", "fact"]}) == {"sources": ["fact", "self"]}


@pytest.mark.parametrize(
    "wrong", [["fact", "fact"], ["fact", "rumour"], "fact", [True], {"fact": 1}, [["fact"]]]
)
def test_several_choices_with_repeats_or_strangers_are_refused(wrong):
    with pytest.raises(AnswersError, match="any of, each once: “A fact”, “News”, “Itself”"):
        declared(SOURCES).check({"sources": wrong})


def test_none_of_several_choices_is_no_answer():
    with pytest.raises(AnswersError, match="Please answer “What is it based on"):
        declared(SOURCES).check({"sources": []})
    assert declared(replace(SOURCES, required=False)).check({"sources": []}) == {}


def test_a_scale_takes_its_whole_numbers_and_nothing_else():
    for number in range(-2, 3):
        assert declared(EASE).check({"ease": number}) == {"ease": number}
    for wrong in (-3, 3, 0.0, "1", True, [1]):
        with pytest.raises(AnswersError, match="choose one of: “-2”"):
            declared(EASE).check({"ease": wrong})


def test_free_text_is_cleaned_and_may_not_be_too_long():
    assert declared(WHY).check({"why": "  so\r\nit\x00 is\u202e "}) == {"why": "so\nit is"}
    assert declared(WHY).check({"why": "x" * 20 + "   "}) == {"why": "x" * 20}
    with pytest.raises(AnswersError, match="longer than 20 characters") as caught:
        declared(WHY).check({"why": "x" * 21})
    assert (caught.value.code, caught.value.question) == ("too_long", "why")
    with pytest.raises(AnswersError, match="in words"):
        declared(WHY).check({"why": 7})


def test_an_optional_question_may_be_left_and_a_required_text_may_not_be_blank():
    assert declared(MOOD, WHY).check({"mood": "sad", "why": " \n"}) == {"mood": "sad"}
    assert VOTES.check({}) == {}
    assert VOTES.check({"vote": -1}) == {"vote": -1}
    with pytest.raises(AnswersError, match="Please answer “Why"):
        declared(replace(WHY, required=True)).check({"why": "\u2066 "})


def test_a_condition_holds_on_any_of_several_answers():
    both = declared(MOOD, replace(WHY, required=True, asked_if=Condition("mood", ("sad", "odd"))))

    assert both.check({"mood": "glad"}) == {"mood": "glad"}
    for mood in ("sad", "odd"):
        with pytest.raises(AnswersError, match="Please answer “Why"):
            both.check({"mood": mood})
    with pytest.raises(AnswersError, match=r"asked only if the answer to .* is “Sad” or “Odd”"):
        both.check({"mood": "glad", "why": "so"})


def test_a_condition_on_several_choices_holds_if_one_of_them_is_chosen():
    both = declared(SOURCES, replace(WHY, required=True, asked_if=Condition("sources", ("news", "self"))))

    assert both.check({"sources": ["fact"]}) == {"sources": ["fact"]}
    assert both.check({"sources": ["fact", "self"], "why": "so"})["why"] == "so"


def test_a_question_that_was_not_asked_shows_no_answer():
    shown = {
        question.key: answer for question, answer in SSA.answered_questions(SSA.check({"sensible": False}))
    }

    assert shown == {"sensible": False, "specific": None}


# --- declarations: any that can be made survives the way through JSON ----------------------------

# Texts that look like markup or script are texts like any other.
TEXTS = st.one_of(
    st.text(
        st.characters(exclude_categories=["Cc", "Cs", "Cf", "Zs", "Zl", "Zp", "Cn"]), min_size=1, max_size=40
    ),
    st.just("<script>alert(1)</script>"),
    st.just("{{ 7 * 7 }} & <b>"),
)
VALUES = st.one_of(st.integers(-99, 99), st.sampled_from(["a", "b", "c d", "<i>"]), st.booleans())


@st.composite
def questions(draw: st.DrawFn, key: str, earlier: list[Question]) -> Question:
    kind = draw(st.sampled_from(list(Kind)))
    more: dict[str, object] = {}
    if kind is Kind.SCALE:
        low = draw(st.integers(-10, 10))
        more["scale"] = Scale(
            low, low + draw(st.integers(1, 12)), draw(TEXTS), draw(TEXTS), draw(st.booleans())
        )
    elif kind is Kind.TEXT:
        more["longest"] = draw(st.integers(1, 4000))
    else:
        values = draw(st.lists(VALUES, min_size=2, max_size=6, unique_by=lambda v: (type(v), v)))
        if all(type(value) is int for value in values):
            values = sorted(values)
        more["choices"] = tuple(Choice(v, f"{n} {draw(TEXTS)}") for n, v in enumerate(values))
    closed = [each for each in earlier if each.choices]
    if closed and draw(st.booleans()):  # type: ignore[arg-type]
        before = draw(st.sampled_from(closed))
        chosen = draw(st.lists(st.sampled_from([c.value for c in before.choices]), min_size=1, max_size=3))
        more["asked_if"] = Condition(before.key, tuple(chosen))
    return Question(key, draw(TEXTS), kind=kind, required=draw(st.booleans()), **more)  # type: ignore[arg-type]


@st.composite
def question_sets(draw: st.DrawFn) -> QuestionSet:
    made: list[Question] = []
    for number in range(draw(st.integers(1, 5))):
        made.append(draw(questions(f"q{number}", made)))
    return declared(*made, subjects=frozenset(draw(st.sets(st.sampled_from(list(Subject)), min_size=1))))


def some_answer(draw: st.DrawFn, question: Question) -> object:
    if question.kind is Kind.TEXT:
        return draw(st.text(max_size=min(question.longest, 30)))
    values = [choice.value for choice in question.choices]
    if question.kind is Kind.SEVERAL:
        return draw(st.lists(st.sampled_from(values), max_size=4))
    return draw(st.sampled_from(values))


@given(question_sets())
def test_a_declaration_survives_json(own):
    there = json.loads(json.dumps(own.to_json()))

    assert QuestionSet.from_json(there) == own
    assert QuestionSet.from_json(there).to_json() == there


@given(st.data(), question_sets())
def test_stored_answers_are_accepted_again(data, own):
    given_ = {each.key: some_answer(data.draw, each) for each in own.questions if data.draw(st.booleans())}
    try:
        stored = own.check(given_)
    except AnswersError:
        return
    assert own.check(stored) == stored
    assert json.loads(json.dumps(stored)) == stored
    for question in own.questions:
        asked = question.asked_if is None or question.asked_if.holds(stored)
        assert (question.key in stored) <= asked
        assert (asked and question.required) <= (question.key in stored)


@given(st.data(), question_sets())
def test_a_score_is_counted_from_the_answers_one_by_one(data, own):
    several = [
        {each.key: some_answer(data.draw, each) for each in own.questions if data.draw(st.booleans())}
        for _ in range(4)
    ]
    stored = []
    for each in several:
        try:
            stored.append(own.check(each))
        except AnswersError:
            continue
    columns = {q.key: coded_answers(q, (each.get(q.key) for each in stored)) for q in own.questions}
    for score in own.scores:
        (term,) = score.terms
        expected = [by_hand(each.get(term.question), term) for each in stored]
        low, high = bounds(own, score)
        assert all(math.isnan(value) or low <= value <= high for value in expected)
        np.testing.assert_array_equal(score_values(own, score, columns), np.array(expected, dtype=float))


def by_hand(answer: object, term: Term) -> float:
    if answer is None:
        return math.nan
    if term.choice is None:
        return float(answer)  # type: ignore[arg-type]  # a number
    chosen = answer if isinstance(answer, list) else [answer]
    return 1.0 * any(type(each) is type(term.choice) and each == term.choice for each in chosen)


# --- scores by hand -------------------------------------------------------------------------------


def test_the_average_of_two_shares_is_taken_within_each_label():
    columns = {"sensible": np.array([1.0, 1, 0, np.nan]), "specific": np.array([1.0, 0, 0, np.nan])}

    found = [score_values(SSA, score, columns) for score in SSA.scores]

    np.testing.assert_array_equal(found[0], [1, 1, 0, np.nan])
    np.testing.assert_array_equal(found[1], [1, 0, 0, np.nan])
    np.testing.assert_array_equal(found[2], [1, 0.5, 0, np.nan])


def test_five_ratings_have_a_sum_from_5_to_35_where_all_are_given():
    columns = {each.key: np.array([n + 1.0, 7.0]) for n, each in enumerate(LIKERT.questions)}
    columns["empathy"][1] = np.nan

    total = LIKERT.score("sum")

    np.testing.assert_array_equal(score_values(LIKERT, total, columns), [1 + 2 + 3 + 4 + 5, np.nan])
    assert bounds(LIKERT, total) == (5, 35)
    assert not total.is_percent


def test_names_have_a_share_each_and_several_choices_too_and_text_none():
    own = declared(MOOD, SOURCES, WHY)

    assert [(score.key, score.title) for score in own.scores] == [
        ("mood.1", "How does it sound? Glad"),
        ("mood.2", "How does it sound? Sad"),
        ("mood.3", "How does it sound? Odd"),
        ("sources.1", "What is it based on? A fact"),
        ("sources.2", "What is it based on? News"),
        ("sources.3", "What is it based on? Itself"),
    ]
    # Places from 0: sad is 1. A fact and itself are 2**0 + 2**2 = 5.
    columns = {
        "mood": coded_answers(MOOD, ["sad", None]),
        "sources": coded_answers(SOURCES, [["fact", "self"], None]),
    }
    assert columns["mood"][0] == 1
    assert columns["sources"][0] == 5
    values = [score_values(own, score, columns)[0] for score in own.scores]
    assert values == [0, 1, 0, 1, 0, 1]
    assert all(math.isnan(score_values(own, score, columns)[1]) for score in own.scores)


def test_votes_have_a_share_of_up_and_a_mean():
    columns = {"vote": np.array([1.0, 1, -1, 1, np.nan])}

    assert np.nanmean(score_values(VOTES, VOTES.score("up"), columns)) == 0.75
    assert np.nanmean(score_values(VOTES, VOTES.score("vote"), columns)) == 0.5


@pytest.mark.parametrize(
    ("question", "level"),
    [
        (SSA.questions[0], Level.BINARY),
        (MOOD, Level.NOMINAL),
        (SOURCES, Level.NOMINAL),
        (VOTES.questions[0], Level.ORDINAL),
        (EASE, Level.ORDINAL),
        (replace(EASE, scale=Scale(0, 4, "low", "high", equal_steps=True), choices=()), Level.INTERVAL),
        (WHY, None),
    ],
)
def test_the_level_of_measurement_follows_from_the_declaration(question, level):
    assert question.level == level


# --- declarations that are refused ----------------------------------------------------------------


def numbers(count: int) -> tuple[Choice, ...]:
    return tuple(Choice(n, str(n)) for n in range(count))


@pytest.mark.parametrize(
    ("broken", "field"),
    [
        ({"questions": (MOOD, MOOD)}, "questions[1].key"),
        ({"questions": ()}, "questions"),
        ({"questions": (replace(MOOD, key="rater"),)}, "questions[0].key"),
        ({"questions": (replace(MOOD, key="Wrong key"),)}, "questions[0].key"),
        ({"questions": (replace(MOOD, wording=" "),)}, "questions[0].wording"),
        ({"questions": (replace(MOOD, wording="x" * 301),)}, "questions[0].wording"),
        ({"questions": (replace(MOOD, choices=MOOD.choices[:1]),)}, "questions[0].choices"),
        ({"questions": (replace(MOOD, choices=numbers(51)),)}, "questions[0].choices"),
        ({"questions": (replace(MOOD, choices=numbers(200)),)}, "questions[0].choices"),
        ({"questions": (replace(MOOD, choices=numbers(3)[::-1]),)}, "questions[0].choices"),
        ({"questions": (replace(MOOD, choices=(MOOD.choices[0],) * 2),)}, "questions[0].choices[1].value"),
        (
            {"questions": (replace(MOOD, choices=(Choice("a", "A"), Choice("b", "x" * 121))),)},
            "questions[0].choices[1].label",
        ),
        ({"questions": (replace(MOOD, scale=EASE.scale),)}, "questions[0].scale"),
        ({"questions": (replace(WHY, choices=MOOD.choices),)}, "questions[0].choices"),
        ({"questions": (replace(WHY, longest=0),)}, "questions[0].longest"),
        ({"questions": (Question("q", "Q?", kind=Kind.SCALE),)}, "questions[0].scale"),
        (
            {"questions": (Question("q", "Q?", kind=Kind.SCALE, scale=Scale(3, 3, "a", "b")),)},
            "questions[0].scale.high",
        ),
        (
            {"questions": (Question("q", "Q?", kind=Kind.SCALE, scale=Scale(0, 10**9, "a", "b")),)},
            "questions[0].scale.high",
        ),
        (
            {"questions": (Question("q", "Q?", kind=Kind.SCALE, scale=Scale(0, 50, "a", "b")),)},
            "questions[0].scale.high",
        ),
        (
            {"questions": (replace(MOOD, asked_if=Condition("why", ("x",))), WHY)},
            "questions[0].asked_if.question",
        ),
        (
            {"questions": (replace(MOOD, asked_if=Condition("mood", ("sad",))),)},
            "questions[0].asked_if.question",
        ),
        (
            {"questions": (MOOD, replace(WHY, asked_if=Condition("mood", ("mad",))))},
            "questions[1].asked_if.any_of",
        ),
        ({"questions": (MOOD, replace(WHY, asked_if=Condition("mood", ())))}, "questions[1].asked_if.any_of"),
        ({"questions": (replace(MOOD, otherwise="sad"),)}, "questions[0].otherwise"),
        ({"scores": (Score("s", "S", (Term("mood"),)),)}, "scores[0].terms[0].choice"),
        ({"scores": (Score("s", "S", (Term("moon"),)),)}, "scores[0].terms[0].question"),
        ({"scores": (Score("s", "S", (Term("mood", "mad"),)),)}, "scores[0].terms[0].choice"),
        ({"scores": (Score("s", "S", (Term("mood", "sad"),)),) * 2}, "scores[1].key"),
        ({"scores": (Score("s", "S", ()),)}, "scores[0].terms"),
        (
            {"questions": (MOOD, EASE), "scores": (Score("s", "S", (Term("mood", "sad"), Term("ease"))),)},
            "scores[0].terms",
        ),
        ({"headline": "best"}, "headline"),
        ({"subjects": frozenset()}, "subjects"),
        ({"key": "not_a_key"}, "key"),
        ({"title": ""}, "title"),
        ({"examples": (Example((), "Hi", {"mood": "mad"}, "so"),)}, "examples[0].answers.mood"),
        ({"translations": {"zh": {"no such text": "x"}}}, "translations.zh"),
        ({"translations": {"en": {}}}, "translations.en"),
    ],
)
def test_an_invalid_declaration_is_refused_with_field_and_cure(broken, field):
    with pytest.raises(DeclarationError) as caught:
        declared(*broken.pop("questions", (MOOD,)), **broken)

    assert caught.value.field == field
    assert caught.value.cure.endswith(".")
    assert str(caught.value).startswith(f"{field}: ")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"format": 2}, "format"),
        ({"format": True}, "format"),
        ({"colour": "red"}, "colour"),
        ({"title": 7}, "title"),
        ({"questions": "all"}, "questions"),
        ({"questions": [{"key": "q", "wording": "Q?", "kind": "guess"}]}, "questions[0].kind"),
        (
            {"questions": [{"key": "q", "wording": "Q?", "choices": [{"value": 1.5, "label": "x"}]}]},
            "questions[0]",
        ),
        ({"questions": [{"key": "q"}]}, "questions[0].wording"),
        ({"subjects": ["weather"]}, "subjects[0]"),
    ],
)
def test_json_without_a_set_is_refused_with_its_field(change, field):
    with pytest.raises(DeclarationError) as caught:
        QuestionSet.from_json(SSA.to_json() | change)

    assert caught.value.field.startswith(field)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"questions": [{"key": "q", "wording": "Q?", "kind": "sevral"}]},
            "questions[0].kind: “sevral” cannot be chosen. Did you mean “several”? "
            "Use one, scale, several or text.",
        ),
        (
            {"questions": [{"key": "q", "wording": "Q?", "kind": "text", "longst": 9}]},
            "questions[0].longst: there is no such field. Did you mean “longest”? Take it out, or use key, "
            "wording, help, kind, choices, scale, longest, required, asked_if or otherwise.",
        ),
        (
            {"questions": [{"key": "q", "wording": "Q?", "choices": [{"value": None, "label": "x"}]}]},
            "questions[0].choices[0].value: None cannot be an answer. "
            "Give true, false, a whole number or a text.",
        ),
        ({"title": 7}, "title: 7 is not a text. Give a text, in quotation marks."),
        ({"title": "x" * 121}, "title: it has 121 characters; 120 is the most. Shorten it."),
        ({"questions": "all"}, "questions: “all” is not a list. Give a list, in square brackets."),
        ({"questions": [7]}, "questions[0]: 7 is not an object. Give an object, in braces."),
        ({"subjects": ["turns"]}, "subjects[0]: “turns” cannot be chosen. Did you mean “turn”? "),
        (
            {"translations": {"en_GB": {}}},
            "translations.en_GB: “en_GB” is not the code of a language. Use a code such as zh or pt-BR.",
        ),
        (
            {"translations": {"zh": {"Does it make sense?": " "}}},
            "translations.zh, “Does it make sense?”: it is empty. Write what people are to read.",
        ),
    ],
)
def test_faults_in_json_name_the_value_and_the_cure(change, said):
    with pytest.raises(DeclarationError) as caught:
        QuestionSet.from_json(SSA.to_json() | {"scores": [], "headline": "", "examples": []} | change)

    assert said in [f"{each}"[: len(said)] for each in caught.value.all]


def test_all_faults_are_found_at_once_and_none_is_invented_for_parts_that_depend_on_them():
    """The first question is invalid, so nothing is said of what refers to it; all else is checked."""
    first, second = (each | {"choices": [*each["choices"]]} for each in SSA.to_json()["questions"])
    wrong = {
        "title": "",
        "questions": [first | {"wording": ""}, second, second, first | {"key": "third", "help": 7}],
        "scores": [
            {"key": "a", "title": "A", "terms": [{"question": "sensible", "choice": True}]},
            {"key": "a", "title": "A", "terms": [{"question": "specific", "choice": "maybe"}]},
        ],
        "headline": "b",
        "examples": [{"context": [], "response": " ", "answers": {"sensible": True}, "why": "So."}],
        "translations": {"en": {"Sensible?": "?"}},
    }

    with pytest.raises(DeclarationError) as caught:
        QuestionSet.from_json(SSA.to_json() | wrong)

    assert [each.field for each in caught.value.all] == [
        "title",
        "questions[0].wording",
        "questions[2].key",
        "questions[3].help",
        "scores[1].key",
        "scores[1].terms[0].choice",
        "examples[0].response",
        "translations.en",
    ]


@pytest.mark.parametrize("nothing", [None, [], "ssa", 7, {"format": 1, "key": float("nan")}])
def test_json_other_than_an_object_is_refused(nothing):
    with pytest.raises(DeclarationError):
        QuestionSet.from_json(nothing)


def test_texts_of_researchers_are_cleaned():
    own = declared(MOOD).to_json()
    own["title"] = "  a\x00b\u202ec "

    assert QuestionSet.from_json(own).title == "abc"


# --- languages, the registry ----------------------------------------------------------------------


def test_a_set_is_in_the_language_of_its_workers_as_far_as_translated():
    own = declared(MOOD, EASE, translations={"zh": {"How does it sound?": "听起来怎么样?", "hard": "难"}})

    chinese = own.in_language("zh-CN")

    assert [each.wording for each in chinese.questions] == ["听起来怎么样?", "How easy was it?"]
    assert chinese.questions[1].choices[0].hint == "难"
    assert chinese.questions[0].choices == MOOD.choices
    assert chinese.check({"mood": "sad", "ease": 1}) == own.check({"mood": "sad", "ease": 1})
    assert own.in_language("fr") == own


@pytest.mark.parametrize("key", sorted(QUESTION_SETS))
def test_the_shipped_sets_survive_json(key):
    own = QUESTION_SETS[key]

    assert QuestionSet.from_json(json.loads(json.dumps(own.to_json()))) == own
    assert own.main_score is not None


def test_sets_of_researchers_do_not_hide_shipped_sets():
    mine = {"own": declared(MOOD), "ssa": declared(MOOD, key="ssa")}

    assert question_set("own", mine.get) is mine["own"]
    assert question_set("ssa", mine.get) is SSA


def test_a_million_labels_are_scored_from_columns():
    rng = np.random.default_rng(1)
    own = declared(SOURCES, scores=(Score("s", "S", (Term("sources", "fact"), Term("sources", "self"))),))
    codes = rng.integers(1, 8, 1_000_000).astype(float)

    values = score_values(own, own.scores[0], {"sources": codes})

    bits = codes.astype(int)
    np.testing.assert_array_equal(values, 0.5 * ((bits & 1) + (bits >> 2 & 1)))


def test_a_sum_of_numbers_is_a_sum():
    total = declared(
        EASE, VOTES.questions[0], scores=(Score("t", "T", (Term("ease"), Term("vote")), Combine.SUM),)
    )

    assert score_values(total, total.scores[0], {"ease": np.array([2.0]), "vote": np.array([-1.0])}) == 1
    assert bounds(total, total.scores[0]) == (-3, 3)


def test_the_example_of_the_documentation_is_a_question_set():
    page = (Path(__file__).parents[2] / "docs" / "questions.md").read_text()
    (example,) = re.findall(r"```json\n(.*?)```", page, re.S)

    own = QuestionSet.from_json(json.loads(example))

    assert [score.key for score in own.scores] == ["polite", "warmth"]
    assert own.check({"polite": False, "warmth": 2, "why": "It shouts."})["why"] == "It shouts."
