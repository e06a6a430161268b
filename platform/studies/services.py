from collections.abc import Mapping

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F

from accounts.models import User
from bots.models import OUTSIDE, Bot
from studies.models import ConsentVersion, Study, StudyBot, Task, WritingPlan

# What decides how a conversation runs and is judged. Conversations of one study must be
# comparable, so these stay as they are once the study has been opened.
PROTOCOL_FIELDS = (
    "task", "opening_speaker", "opening_text", "min_turns", "max_turns", "question_set", "labelling_moment",
    "blind",
)  # fmt: skip

# The others move on while a form is open, and saving it must not set them back.
_EDITED_FIELDS = [
    field.name
    for field in Study._meta.concrete_fields
    if field.name not in {"id", "code", "owner", "state", "created_at", "results_version"}
]


@transaction.atomic
def save_study(
    study: Study,
    *,
    owner: User,
    consent_text: str,
    targets: Mapping[Bot, int],
    writing: WritingPlan | None = None,
) -> Study:
    """Store a new or edited study with its bots; a changed consent text becomes a new version.

    Args:
        study: the study, saved before or not.
        owner: whose it is, if it is new.
        consent_text: what workers agree to.
        targets: conversations wanted of each bot.
        writing: of a study whose workers write, what they write.

    Raises:
        ValidationError: a value the study cannot have, or a protocol changed after the study was opened.
    """
    if study.pk:
        _refuse_changed_protocol(study)
        study.full_clean()
        study.save(update_fields=_EDITED_FIELDS)
    else:
        study.owner = owner
        study.full_clean()
        study.save()
    latest = study.consent_versions.last()
    if latest is None or latest.text != consent_text:
        ConsentVersion.objects.create(
            study=study, number=latest.number + 1 if latest else 1, text=consent_text
        )
    _set_targets(study, targets)
    if writing:
        _save_plan(study, writing)
    results_changed(study.pk)
    return study


def _refuse_changed_protocol(study: Study) -> None:
    stored = Study.objects.select_for_update().get(pk=study.pk)
    if stored.state == Study.State.DRAFT:
        return
    changed = [name for name in PROTOCOL_FIELDS if getattr(stored, name) != getattr(study, name)]
    if changed:
        stays = "The study has been opened, so its protocol stays as it is. Make a new study to change it."
        raise ValidationError(dict.fromkeys(changed, stays))


def _save_plan(study: Study, plan: WritingPlan) -> None:
    """Store what workers write. It stays as it is once the study has been opened."""
    if study.state != Study.State.DRAFT:
        return
    plan.study = study
    plan.full_clean()
    plan.save()


def _set_targets(study: Study, targets: Mapping[Bot, int]) -> None:
    """Store the targets. A bot that is left out keeps its conversations but gets no further workers."""
    left_out = study.study_bots.exclude(bot__in=targets).exclude(bot__adapter=OUTSIDE)
    if study.state == Study.State.DRAFT:
        left_out.delete()
    else:
        left_out.update(target=0)
    for bot, target in targets.items():
        StudyBot.objects.update_or_create(study=study, bot=bot, defaults={"target": target})


@transaction.atomic
def set_state(study_id: int, state: Study.State) -> Study:
    """Open or close a study. Conversations under way may be finished after closing.

    Raises:
        ValidationError: opening a study that no worker could enter.
    """
    study = Study.objects.select_for_update().get(pk=study_id)
    if state == Study.State.DRAFT:
        raise ValidationError("A study that was opened stays open or closed; it cannot become a draft again.")
    if state == Study.State.OPEN:
        _refuse_empty(study)
    study.state = state
    study.save(update_fields=["state"])
    return study


def _refuse_empty(study: Study) -> None:
    if study.task == Task.CONVERSATION:
        if not study.study_bots.filter(target__gt=0, bot__active=True).exists():
            raise ValidationError(
                "Choose at least one active bot with a target above zero, then open the study."
            )
    elif study.task == Task.WRITING and not hasattr(study, "writing"):
        raise ValidationError("Choose the contexts that people are to respond to, then open the study.")
    elif study.task == Task.JUDGING and not study.items.exists():
        raise ValidationError(
            "Nothing to judge yet: add responses or conversations to the queue, then open it."
        )


def results_changed(study_id: int) -> None:
    """Note, in the caller's transaction, that the study's report no longer tells everything.

    A counter, not a time: the row lock makes it grow in the order of the commits, so that a
    report which read version n holds every change up to n.
    """
    Study.objects.filter(pk=study_id).update(results_version=F("results_version") + 1)
