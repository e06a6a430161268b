"""The question sets that come with Turnwise, in every language that comes with it."""

import pytest

from evaluation.questions import QUESTION_SETS, QuestionSet
from evaluation.questions.checks import texts_of
from evaluation.questions.declarations import shipped_translations
from evaluation.questions.sets.preference import TRAINING, training_of

LANGUAGES = sorted(shipped_translations())
# Written as in English.
ALIKE = {"es": {"No"}, "fr": {"Excellent", "Passable"}}
NUMBERS = {str(n) for n in range(10)}


def read_by_workers() -> set[str]:
    examples = [example for each in TRAINING.values() for example in each]
    said = {text for example in examples for _, text in example.context}
    told = {text for each in examples for text in (each.response, each.other, each.why)}
    sets = QUESTION_SETS.values()
    return {text for each in sets for text in texts_of(each.questions, each.examples)} | said | told


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_text_is_translated_and_none_is_left_over(language: str) -> None:
    assert set(shipped_translations()[language]) == read_by_workers() - NUMBERS


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("questions", QUESTION_SETS.values(), ids=lambda each: each.key)
def test_every_text_of_a_set_is_translated(questions: QuestionSet, language: str) -> None:
    english = set(texts_of(questions.questions, questions.examples)) - NUMBERS - ALIKE.get(language, set())

    spoken = questions.in_language(language)

    assert not english & set(texts_of(spoken.questions, spoken.examples))
    assert [each.key for each in spoken.questions] == [each.key for each in questions.questions]
    assert QuestionSet.from_json(questions.to_json()) == questions


def test_a_script_or_a_country_falls_back_to_its_language() -> None:
    ssa = QUESTION_SETS["ssa"]

    assert ssa.in_language("zh-hans").questions == ssa.in_language("zh").questions
    assert ssa.in_language("ar-EG").questions == ssa.in_language("ar").questions
    assert ssa.in_language("nl").questions == ssa.questions


def test_training_questions_are_in_the_language_of_the_questions() -> None:
    questions = QUESTION_SETS["preference"]

    english, chinese = training_of(questions), training_of(questions.in_language("zh-hans"), "zh-hans")

    assert [each.answers for each in chinese] == [each.answers for each in english]
    assert chinese[2].response == "我很好，谢谢。你呢？"  # noqa: RUF001
