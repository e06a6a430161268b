import io
from collections import Counter

from django.apps import apps
from django.core.management import call_command

from turnwise.bots.models import BotCopy
from turnwise.studies.models import Study


def rehearsed(study: Study, *options: str) -> str:
    said = io.StringIO()
    call_command("rehearse", str(study.pk), *options, stdout=said)
    return said.getvalue()


def rows() -> Counter[str]:
    """How many rows every table of ours has, but for what processes say of themselves.

    A server that takes too long to end is killed, and its last word stays for a while.
    """
    ours = [model for model in apps.get_models() if model._meta.app_label in OURS]
    ours.remove(BotCopy)
    return Counter({model.__name__: model.objects.count() for model in ours})


OURS = (
    "bots",
    "studies",
    "crowd",
    "dialogues",
    "labels",
    "judging",
    "reports",
    "rehearsals",
    "responses",
    "tasks",
)
