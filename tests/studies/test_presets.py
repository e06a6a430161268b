"""A new study begins as a published protocol has it, and its report then finds nothing to remark."""

import re
from html import unescape

import pytest
from django.test import Client

from accounts.models import User
from bots.services import register_bot
from evaluation.protocols import protocols
from studies.models import Study
from studies.presets import PRESETS, Preset
from tests.planted import SignIn


def sent(page: str) -> dict[str, str]:
    """What a browser would send of the form without a change."""
    fields = dict(re.findall(r'<input[^>]*name="([^"]+)"[^>]*value="([^"]*)"', page))
    ticked = re.findall(r'<input type="checkbox"[^>]*name="([^"]+)"[^>]*checked', page)
    boxes = set(re.findall(r'<input type="checkbox"[^>]*name="([^"]+)"', page))
    chosen = {
        name: found.group(1)
        for name, options in re.findall(r'<select[^>]*name="([^"]+)"[^>]*>(.*?)</select>', page, re.S)
        if (found := re.search(r'<option value="([^"]*)" selected', options))
    }
    written = re.findall(r'<textarea[^>]*name="([^"]+)"[^>]*>\s*(.*?)</textarea>', page, re.S)
    fields |= {name: unescape(text) for name, text in written}
    kept = {name: value for name, value in fields.items() if name not in boxes}
    return kept | chosen | dict.fromkeys(ticked, "on")


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.protocol)
def test_the_form_sent_as_it_is_makes_a_study_of_the_protocol(
    rex: User, sign_in: SignIn, preset: Preset
) -> None:
    register_bot(name="scripty", title="Scripty", adapter="scripted", configuration={"replies": ["Go on."]})
    browser: Client = sign_in(rex)
    address = f"/studies/new/?protocol={preset.protocol}"
    page = browser.get(address).content.decode()

    made = browser.post(
        address, sent(page) | {"title": "New", "consent_text": "Yes?", "opening_text": preset_opening(preset)}
    )

    assert made.status_code == 302, made.content.decode()
    study = Study.objects.get()
    assert study.task == preset.task
    assert [ask.declared for ask in study.asks.all()] == list(preset.asks)
    for name, value in preset.fields.items():
        assert getattr(study, name) == value
    assert study.question_set in protocols()[preset.protocol].question_sets


def preset_opening(preset: Preset) -> str:
    return str(preset.fields.get("opening_text", "Hi!"))


def test_the_page_of_a_new_study_offers_them(rex: User, sign_in: SignIn) -> None:
    page = sign_in(rex).get("/studies/new/").content.decode()

    for preset in PRESETS:
        assert f"?protocol={preset.protocol}" in page
        assert preset.title in page
