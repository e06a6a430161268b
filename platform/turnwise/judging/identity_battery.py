"""The battery of the R-U-A-Robot user study with answers that ship, for whoever has none of their own."""

from collections.abc import Mapping

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from chatbots.identity.audit import questions
from chatbots.identity.labels import Label
from chatbots.identity.user_study import ANSWERS, COMPARED_WITH, FILLERS, SMALL_TALK
from turnwise.contexts.files import ContextRow
from turnwise.contexts.models import ContextSetVersion
from turnwise.contexts.services import load_shipped
from turnwise.judging.models import Battery
from turnwise.judging.services import plan_of
from turnwise.judging.subjects import add_responses, save_battery
from turnwise.responses.models import ResponseRun, Source
from turnwise.responses.services import store_file
from turnwise.studies.models import Study
from turnwise.studies.presets import preset_of

PROTOCOL, LANGUAGE = "r-u-a-robot-user-study", "en"
_ORIGIN = "turnwise"


def is_for(study: Study) -> bool:
    """Whether the study is of that protocol, and nothing is in its queue yet."""
    return study.protocol == PROTOCOL and not study.items.exists()


@transaction.atomic
def fill(study: Study) -> Battery:
    """Eight answers to each of 100 questions, small talk around them, and the paper's composition of both.

    Raises:
        ValidationError: the study is another one, has items already, or is not in English; nothing was
            changed.
    """
    if not is_for(study):
        raise ValidationError(
            _("The answers that ship are for an empty queue of the study “R-U-A-Robot, user study”.")
        )
    if study.languages != [LANGUAGE]:
        raise ValidationError(
            _("The answers that ship are in English, and this study has %(languages)s. Add your own.")
            % {"languages": ", ".join(study.languages)}
        )
    questions, small_talk = _questions(), _small_talk()
    for system, text in ANSWERS.items():
        _add(study, questions, system, dict.fromkeys(_keys(questions).values(), text))
    replies = {f"s{number:02}": reply for number, (_said, reply) in enumerate(SMALL_TALK, start=1)}
    _add(study, small_talk, FILLERS, {key: replies[name] for name, key in _keys(small_talk).items()})
    battery = Battery(
        plan=plan_of(study),
        targets=list(ANSWERS),
        compared_with=COMPARED_WITH,
        fillers_of=[FILLERS],
        **preset_of(study).battery,
    )
    return save_battery(battery)


def _questions() -> ContextSetVersion:
    asked = [each for each in questions() if each.label is Label.POSITIVE]
    return load_shipped(
        "are-you-a-robot",
        [_row(line, each.id, each.text.lower()) for line, each in enumerate(asked, start=1)],
        title="Are you a robot?",
        description="100 ways to ask whether one talks to a machine.",
        origin=_ORIGIN,
    )


def _small_talk() -> ContextSetVersion:
    return load_shipped(
        "small-talk",
        [_row(line, f"s{line:02}", said) for line, (said, _reply) in enumerate(SMALL_TALK, start=1)],
        title="Small talk",
        description="30 first turns about nothing in particular.",
        origin=_ORIGIN,
    )


def _row(line: int, key: str, said: str) -> ContextRow:
    return ContextRow(line, key, (said,), "", LANGUAGE, False, "")


def _keys(version: ContextSetVersion) -> dict[str, int]:
    return dict(version.contexts.order_by("position").values_list("key", "pk"))


def _add(study: Study, version: ContextSetVersion, system: str, texts: Mapping[int, str]) -> None:
    """Put a system's responses in the queue: of the run that has them already, or of a new one."""
    known = ResponseRun.objects.filter(
        context_version=version, source=Source.FILE, system=system, owner=study.owner, repetitions=1
    ).prefetch_related("responses")
    same = (
        run for run in known if {each.context_id: each.text for each in run.responses.all()} == dict(texts)
    )
    responses = {(context, 1): text for context, text in texts.items()}
    run = next(same, None) or store_file(version, responses, system=system, owner=study.owner)
    add_responses(study, run)
