"""Gates before the work: blocked workers and workers without the required qualification are refused."""

from typing import Any

from django.dispatch import receiver
from django.utils.translation import gettext as _
from typing_extensions import override

from turnwise.accounts.models import User
from turnwise.crowd.entry import gates
from turnwise.crowd.models import Assignment, Outcome, Participation, Worker
from turnwise.crowd.refusals import EntryRefusedError
from turnwise.quality import decisions, qualification_tests
from turnwise.quality.models import Block
from turnwise.studies.models import Study
from turnwise.studies.sharing.services import owner_changed

_SCREENED_OUT = Outcome.SCREENED_OUT


def not_qualified() -> EntryRefusedError:
    return EntryRefusedError(
        "not_qualified",
        status=403,
        title=_("This study is not for you"),
        say=_("You have already tried its qualification and did not pass. You cannot try it again."),
        cure=_("Return the task to your panel if you came from one. Nothing was stored about this visit."),
        outcome=_SCREENED_OUT,
    )


def blocked() -> EntryRefusedError:
    return EntryRefusedError(
        "blocked",
        status=403,
        title=_("This study is not open to you"),
        say=_("Its research team has decided that you cannot take part in their studies any more."),
        cure=_("If you think that this is a mistake, write to them. What you have earned stays yours."),
        outcome=_SCREENED_OUT,
    )


class BlockGate(gates.Gate):
    """Gate that refuses workers whom the study's owner has blocked."""

    @override
    def refuse(self, worker: Worker, study: Study) -> None:
        if Block.objects.filter(worker=worker, owner=study.owner).exists():
            raise blocked()


class QualificationGate(gates.Gate):
    """Gate that sends workers to the study's qualification test first, and refuses those who failed it."""

    @override
    def refuse(self, worker: Worker, study: Study) -> None:
        wanted = qualification_tests.required_qualification(study)
        if wanted and qualification_tests.attempt_status(worker, wanted).failed:
            raise not_qualified()

    @override
    def first(self, participation: Participation) -> str:
        wanted = qualification_tests.required_qualification(participation.study)
        if wanted is None or qualification_tests.attempt_status(participation.worker, wanted).passed:
            return ""
        return "quality:qualify"

    @override
    def why_ended(self, participation: Participation) -> str:
        ended: Assignment | None = getattr(participation, "assignment", None)
        wanted = qualification_tests.required_qualification(participation.study)
        if wanted is None or ended is None or ended.outcome != _SCREENED_OUT:
            return ""
        if not qualification_tests.attempt_status(participation.worker, wanted).failed:
            return ""
        return _(
            "Its qualification requires %(mark)d of %(n)d right answers, and each time you had fewer. That "
            "is the only reason."
        ) % {"mark": wanted.pass_mark, "n": wanted.of}


gates.register(BlockGate())
gates.register(QualificationGate())


@receiver(owner_changed)
def _move_blocks(study: Study, old: User, new: User, **_more: Any) -> None:
    decisions.move_blocks(study, old=old, new=new)
