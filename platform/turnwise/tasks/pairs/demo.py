"""A study of pairs that a fresh installation starts with: what two of its bots said to the same people."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from django.db import transaction

from turnwise.accounts.models import User
from turnwise.contexts.files import ContextRow
from turnwise.contexts.models import ContextSet
from turnwise.contexts.services import import_version, save_set
from turnwise.judging import pairs
from turnwise.responses.services import store_file
from turnwise.studies.demo import CONSENT_TO_READ
from turnwise.studies.models import Study
from turnwise.studies.presets import preset_named
from turnwise.studies.services import save_study, set_state

TITLE = "Demo: say which of two replies is better"
SET = "demo-pairs"
SYSTEMS = ("ELIZA", "GenericBot")
_SAID = Path(__file__).with_name("demo.json")


@transaction.atomic
def create_demo_pairs(owner: User) -> Study:
    """An open study that compares ELIZA and GenericBot as neural.chat compared its bots."""
    said: list[dict[str, Any]] = json.loads(_SAID.read_text())
    preset = preset_named("neural-chat-pairwise")
    assert preset
    study = preset.study()
    study.title, study.languages, study.expected_minutes = TITLE, ["en"], 10
    save_study(study, owner=owner, consent_text=CONSENT_TO_READ, targets={}, asks=preset.asks)
    pairs.add(study, pairs.Source.of_runs(_runs(said, owner)))
    return set_state(study.pk, Study.State.OPEN)


def _runs(said: Sequence[Mapping[str, Any]], owner: User) -> list[Any]:
    context_set = save_set(
        ContextSet(name=SET, title="Demo: what people said", licence="CC0-1.0", owner=owner)
    )
    rows = [
        ContextRow(number, f"demo-{number}", tuple(each["turns"]), "", "en", False, "")
        for number, each in enumerate(said, 1)
    ]
    version = import_version(context_set, rows, origin="Written for the demo study")
    contexts = list(version.contexts.order_by("position"))
    return [
        store_file(
            version,
            {(context.pk, 1): each[system] for context, each in zip(contexts, said, strict=True)},
            system=system,
            owner=owner,
        )
        for system in SYSTEMS
    ]
