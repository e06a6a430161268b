"""Training questions before a study of pairs: all right, or no work."""

import pytest
from django.core.exceptions import ValidationError
from django.test import Client

from evaluation.questions import QUESTION_SETS, question_set
from evaluation.questions.sets.preference import TRAINING, training_of, wrong_in
from tests.conftest import MakePairs
from tests.planted import SignIn
from turnwise.accounts.models import User
from turnwise.judging.models import Batch, JudgingPlan, Training
from turnwise.studies.models import Study
from turnwise.studies.presets import preset_named


@pytest.mark.parametrize("key", sorted(TRAINING))
def test_training_questions_are_answered_as_the_set_wants_and_teach_every_answer(key: str) -> None:
    questions = QUESTION_SETS[key]

    for example in training_of(questions):
        assert wrong_in(example, questions, questions.check(example.answers)) == []
        assert wrong_in(example, questions, {}) == [question.key for question in questions.questions]
        assert example.why
    overall = [example.answers[questions.questions[0].key] for example in training_of(questions)]
    assert sorted(map(str, overall)) == ["first", "second", "tied"]


def rightly(key: str, *, but: str = "") -> dict[str, str]:
    """The form with all right answers, or with another one in the place named."""
    questions, sent = question_set(key), {}
    for n, example in enumerate(training_of(questions)):
        for question in questions.questions:
            place = [choice.value for choice in question.choices].index(example.answers[question.key])  # type: ignore[arg-type]
            name = f"{n}-{question.key}"
            sent[name] = str((place + 1) % 3 if name == but else place)
    return sent


@pytest.fixture
def study(make_pairs: MakePairs) -> Study:
    # Practice would come first; the training takes its place.
    made: Study = make_pairs(2, question_set="preferences", practice=True)
    JudgingPlan.objects.filter(study=made).update(training_tries=2)
    return made


def entered(study: Study) -> Client:
    client, at = Client(), f"/s/{study.code}/"
    client.get(at)
    client.post(f"{at}consent/", {"agree": "yes", "consent": study.consent_versions.get().number})
    return client


@pytest.mark.django_db
def test_who_answers_all_rightly_begins_and_mistakes_are_explained(study: Study) -> None:
    client, at = entered(study), f"/s/{study.code}/"

    sent_on = client.post(f"{at}compare/start/")
    assert sent_on.headers["Location"] == f"{at}training/"
    assert "You have 2 attempts left." in client.get(sent_on.headers["Location"]).content.decode()
    wrong = client.post(sent_on.headers["Location"], rightly("preferences", but="1-empathy"))
    page = wrong.content.decode()
    assert wrong.status_code == 422
    assert page.count("Not quite") == 1
    assert page.count("Answer again") == 1
    assert "Only the second has to do with what was said" in page
    assert "You have 1 attempt left." in page
    assert not Batch.objects.exists()

    right = client.post(sent_on.headers["Location"], rightly("preferences"))

    assert "All right" in right.content.decode()
    assert client.post(f"{at}compare/start/").headers["Location"] == f"{at}compare/"
    assert (Batch.objects.count(), Training.objects.get().tries) == (1, 2)


@pytest.mark.django_db
def test_who_has_no_try_left_is_turned_away_kindly_everywhere(study: Study) -> None:
    client, at = entered(study), f"/s/{study.code}/"
    for _ in range(2):
        last = client.post(f"{at}training/", {"0-quality": "99", "1-fluency": "x" * 5000, "2-empathy": "²"})

    assert last.status_code == 403
    assert "Thank you for trying" in last.content.decode()
    assert client.post(f"{at}training/", rightly("preferences")).status_code == 403
    assert client.post(f"{at}compare/start/").status_code == 403
    assert not Batch.objects.exists()


@pytest.mark.django_db
def test_the_preset_trains_and_questions_without_training_are_refused(
    make_pairs: MakePairs, rex: User, sign_in: SignIn
) -> None:
    preset = preset_named("neural-chat-pairwise")
    assert preset
    assert preset.plan == {"raters_per_item": 7, "batch_size": 50, "training_tries": 3}
    study = make_pairs(2)
    study.asks.update(question_set="votes")  # which has no worked examples to train by
    plan = {"raters_per_item": 5, "batch_size": 50, "lease_seconds": 600, "training_tries": 3}

    refused = sign_in(rex).post(f"/studies/{study.pk}/queue/", plan)

    assert "have no training questions" in refused.content.decode()
    assert JudgingPlan.objects.get(study=study).training_tries == 0
    with pytest.raises(ValidationError, match="20"):
        JudgingPlan(study=study, training_tries=21).full_clean()
