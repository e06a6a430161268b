"""Topical-Chat as a starting point: two people, both annotate each message and rate the whole."""

import pytest

from tests.planted import SignIn
from turnwise.accounts.models import User
from turnwise.dialogues.services import asks_of_study
from turnwise.knowledge.services import load_shipped
from turnwise.studies.asks import About, Moment
from turnwise.studies.presets import preset_named
from turnwise.studies.services import save_study


@pytest.mark.django_db
def test_the_preset_has_both_asks_of_the_paper(rex: User, sign_in: SignIn) -> None:
    preset = preset_named("topical-chat")
    assert preset
    study = preset.study()
    study.title, study.languages, study.knowledge = "Talk about what you read", ["en"], load_shipped()
    saved = save_study(study, owner=rex, consent_text="Yes.", targets={}, asks=preset.asks)

    asked = [(ask.question_set, ask.about, ask.moment) for ask in asks_of_study(saved, of_worker=True)]

    assert asked == [
        ("topical-chat-own", About.OWN_TURN, Moment.WAITING),
        ("topical-chat-partner", About.PARTNER_TURN, Moment.WAITING),
        ("topical-chat-conversation", About.DIALOGUE, Moment.AT_END),
    ]
    assert (saved.min_turns, saved.opening_text) == (20, "")
    page = sign_in(rex).get("/studies/new/?protocol=topical-chat").content.decode()
    assert '<option value="topical-chat-own" selected>' in page
    assert "Open knowledge, version 1" in page
