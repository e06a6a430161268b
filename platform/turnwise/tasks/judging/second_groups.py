"""Studies in which a second group of readers judges a part of another study."""

from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _

from turnwise.accounts.models import User
from turnwise.judging.items import subjects
from turnwise.judging.items.subjects import Added
from turnwise.judging.models import JudgingPlan
from turnwise.judging.readers import second_group
from turnwise.studies.models import Study
from turnwise.studies.presets import preset_of
from turnwise.studies.queries import readable_real_studies_of, readable_studies_of, studies_of
from turnwise.studies.services import fields_of_copy, save_study
from turnwise.studies.tasks import task_of
from turnwise.tasks.judging.task import Judging

MOST, MOST_RATERS, MOST_SEED = 5000, 25, 2**31 - 1


def source_study(user: User | AnonymousUser, **which: object) -> Study:
    """A study of this person whose items or conversations a second group can judge.

    Raises:
        Http404: there is none.
    """
    study = get_object_or_404(studies_of(user).filter(rehearsal_of=None), **which)
    task = task_of(study)
    if not study.question_set or not (task.has_conversations or isinstance(task, Judging)):
        raise Http404("Nothing in this study can be judged by readers.")
    return study


def second_groups_of(study: Study, user: User | AnonymousUser) -> QuerySet[Study]:
    """Studies that this person may read and whose raters judged items of this one by the same questions."""
    others = readable_real_studies_of(user).filter(pk__in=second_group.other_groups_of(study))
    sets = {ask.question_set for ask in study.work_asks}
    return others.filter(task=Judging.key, asks__question_set__in=sets).distinct()


def compared_studies(
    user: User | AnonymousUser, first: dict[str, object], second: dict[str, object]
) -> tuple[Study, Study]:
    """Two different studies that this person may read and that have asks in common.

    Raises:
        Http404: one of them is missing, or they have none.
    """
    readable = readable_studies_of(user).filter(task=Judging.key)
    one, other = (get_object_or_404(readable, **which) for which in (first, second))
    if one == other or not second_group.have_common_asks(one, other):
        raise Http404("These two studies do not ask the same questions about the same items.")
    return one, other


@transaction.atomic
def create_second_group(
    source: Study, *, number: int, raters: int, seed: int, by: User, language: str | None = None
) -> tuple[Study, Added]:
    """Create a draft with the same asks and a sample of the items.

    Args:
        source: the study that a second group judges.
        number: how many contexts or conversations are drawn, as many of each system as of any other.
        raters: raters for each item.
        seed: determines the sample.
        by: owner of the draft.
        language: language of the conversations; None: the first one of the study.

    Raises:
        ValidationError: the sample is impossible or empty; nothing was created.
    """
    is_judging = isinstance(task_of(source), Judging)
    consent = source.consent_versions.last()
    fields = fields_of_copy(source) if is_judging else _reading_fields(source)
    title = _("%(title)s, second group") % {"title": source.title[:100]}
    study = save_study(
        Study(**fields | {"title": title[:120], "task": Judging.key}),
        owner=by,
        # Readers consent to something else than chatters.
        consent_text=consent.text if is_judging and consent else "",
        targets={},
        asks=second_group.asks_of_second_group(source),
    )
    subjects.save_plan(JudgingPlan(study=study, raters_per_item=raters))
    added = second_group.add_sample(
        study, source, number=number, seed=seed, language=language or source.languages[0]
    )
    if not added.items:
        raise ValidationError(
            _("Nothing could be drawn: “%(study)s” has nothing finished yet.") % {"study": source}
        )
    return study, added


def _reading_fields(source: Study) -> dict[str, Any]:
    """Fields of a study whose readers judge the conversations of this one."""
    return {"languages": source.languages, "protocol": preset_of(source).read_as}
