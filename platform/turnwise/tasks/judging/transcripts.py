"""A judging study whose way begins with a file: import it, choose what of it is judged, then ask and open."""

from collections.abc import Sequence

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from turnwise.dialogues.models import TranscriptImport
from turnwise.judging.models import JudgingPlan
from turnwise.judging.services import plan_of
from turnwise.studies.models import Study
from turnwise.studies.tasks import FirstStep

WAY = "transcripts"


def set_out(study: Study) -> str:
    """Note that this is its way; the address where its file is imported."""
    JudgingPlan.objects.filter(pk=plan_of(study).pk).update(of_transcripts=True)
    return reverse("transcripts:imports", args=[study.pk])


def first_steps(study: Study) -> Sequence[FirstStep]:
    """To import the file, and to choose what is judged; nothing of a study that began otherwise."""
    plan: JudgingPlan | None = getattr(study, "judging", None)
    if plan is None or not plan.of_transcripts:
        return ()
    items = study.items.count()
    return (_importing(study, has_items=items > 0), _choosing(study, items))


def _importing(study: Study, *, has_items: bool) -> FirstStep:
    records = study.imports.defer("content").order_by("-uploaded_at")
    there = reverse("transcripts:imports", args=[study.pk])
    brought = sum(record.conversations for record in records if record.imported_at)
    if brought:
        says = ngettext("%(n)s conversation is imported.", "%(n)s conversations are imported.", brought)
        return FirstStep(_("Import"), says % {"n": f"{brought:,}"}, there, is_done=True)
    if has_items:
        return FirstStep(_("Import"), _("The items come from other studies."), there, is_done=True)
    newest: TranscriptImport | None = records.first()
    if newest is None:
        return FirstStep(_("Import"), _("Upload the file with the conversations."), there, is_done=False)
    says = _("The file is being imported.") if newest.is_under_way else _("Look at the preview, then import.")
    return FirstStep(_("Import"), says, reverse("transcripts:import", args=[newest.pk]), is_done=False)


def _choosing(study: Study, items: int) -> FirstStep:
    says = (
        ngettext("%(n)s item is in the queue.", "%(n)s items are in the queue.", items) % {"n": f"{items:,}"}
        if items
        else _("Choose what is judged of the conversations, and by how many people.")
    )
    return FirstStep(_("Choose"), says, reverse("judging:queue", args=[study.pk]), is_done=items > 0)
