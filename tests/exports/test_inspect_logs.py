"""Logs of inspect_ai with the scores that people gave, checked against the schema of that program."""

import io
import json
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from django.test import Client

from tests.conftest import MakeContexts, MakeQueue, MakeRun
from tests.desks import judge
from turnwise.accounts.models import User
from turnwise.judging.items import subjects
from turnwise.judging.models import Item
from turnwise.studies.models import Study

SCHEMA = jsonschema_rs.validator_for(
    json.loads((Path(__file__).parent / "inspect_eval_log.schema.json").read_text())
)


def valid_logs(archive: bytes) -> dict[str, dict[str, Any]]:
    """Logs of an archive by their model, once each is valid."""
    logs = dict[str, dict[str, Any]]()
    with zipfile.ZipFile(io.BytesIO(archive)) as entries:
        for name in entries.namelist():
            log = json.loads(entries.read(name))
            SCHEMA.validate(log)
            logs[log["eval"]["model"]] = log
    return logs


def _answers(item: Item, *, is_specific: bool) -> dict[str, bool]:
    is_sensible = item.response.run.system == "Alpha"
    return {"sensible": is_sensible, "specific": is_sensible and is_specific}


@pytest.mark.django_db(transaction=True)
def test_judged_responses_are_samples_of_a_log_for_each_system(
    make_queue: MakeQueue, make_contexts: MakeContexts, make_run: MakeRun, rex: User,
    sign_in: Callable[[User], Client],
) -> None:  # fmt: skip
    study: Study = make_queue(raters=2)
    version = make_contexts(2)
    for system in ("Alpha", "Beta"):
        subjects.add_responses(study, make_run(version, system))
    for is_specific in (True, False):
        judge(study, partial(_answers, is_specific=is_specific))
    browser = sign_in(rex)

    page = browser.get(f"/studies/{study.pk}/").content.decode()
    logs = valid_logs(b"".join(browser.get(f"/studies/{study.pk}/inspect_logs.zip")))

    assert f"/studies/{study.pk}/inspect_logs.zip" in page
    assert logs.keys() == {"Alpha", "Beta"}
    means = {each["name"]: each["metrics"]["mean"]["value"] for each in logs["Alpha"]["results"]["scores"]}
    assert means == {"ssa.sensible": 1.0, "ssa.specific": 0.5}
    sample = logs["Alpha"]["samples"][0]
    assert len(logs["Alpha"]["samples"]) == 2
    assert sample["scores"]["ssa.specific"]["explanation"] == "Mean. Answers: 2, raters: 2."
    assert sample["messages"][-1] == sample["output"]["choices"][0]["message"]
    assert [each["role"] for each in sample["messages"][-2:]] == ["user", "assistant"]
