"""Where what lies behind a mark of a chart can be read: conversations or items, narrowed to it."""

from collections.abc import Mapping
from urllib.parse import urlencode

from django.urls import reverse

from turnwise.charts.interactive.marks import Behind
from turnwise.labels.explorer import score_key, scores_of
from turnwise.reports.names import bots_called
from turnwise.reports.reported import ReportedTask
from turnwise.studies.models import Study
from turnwise.studies.tasks import task_of


def behind(study: Study) -> Behind:
    """Of this study."""
    task = task_of(study)
    if task.has_conversations:
        return _Conversations(study)
    if isinstance(task, ReportedTask):
        return _Items(study, reverse(task.read_at, args=[study.pk]))
    return _nothing


class _Conversations:
    def __init__(self, study: Study) -> None:
        self._address = reverse("labels:dialogues", args=[study.pk])
        bots = list(study.study_bots.values_list("bot_id", "bot__title", "bot__name"))
        called = bots_called(study, bots)
        self._slugs = {called[pk]: name for pk, _title, name in bots}

    def __call__(
        self, system: str, *, reply: int = 0, question: str = "", score: str = "", ask: int = 0
    ) -> str:
        # What is no bot of the study, such as people or the best of all, narrows nothing.
        wanted = {
            "bot": self._slugs.get(system, ""),
            "replies": str(reply) if reply > 1 else "",
            "score": score_key(ask, score) if score else "",
        }
        return _with(self._address, wanted)


class _Items:
    def __init__(self, study: Study, address: str) -> None:
        self._address = address
        self._scores = scores_of(study)

    def __call__(
        self, system: str, *, reply: int = 0, question: str = "", score: str = "", ask: int = 0
    ) -> str:
        # Items are listed by the answers to one question: of a score, the first that it is made of.
        _number, found = self._scores.get(score_key(ask, score), (ask, None))
        made_of = found.terms[0].question if found else ""
        wanted = {"ask": str(ask) if ask else "", "question": question or made_of, "system": system}
        return _with(self._address, wanted)


def _nothing(system: str, *, reply: int = 0, question: str = "", score: str = "", ask: int = 0) -> str:
    return ""


def _with(address: str, wanted: Mapping[str, str]) -> str:
    given = {name: value for name, value in wanted.items() if value}
    return f"{address}?{urlencode(given)}" if given else address
