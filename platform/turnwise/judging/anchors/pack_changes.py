"""Changes of an anchor pack by its owner: another name, and deletion, which can be undone for a day."""

from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from turnwise.accounts.access import visible_to
from turnwise.accounts.models import User
from turnwise.judging.anchors.packs import packs_of
from turnwise.judging.batteries.batch_allocation import fill_slots
from turnwise.judging.items.subjects import lock_plan
from turnwise.judging.models import AnchorPack, Item
from turnwise.studies.models import Study
from turnwise.studies.queries import readable_studies_of
from turnwise.studies.services import results_changed
from turnwise.trash.models import Deletion
from turnwise.trash.soft_delete import SoftDeleter

MOST_NAMED = 5
"""Largest number of studies that a refusal names."""


def own_packs(user: User | AnonymousUser) -> QuerySet[AnchorPack]:
    """Packs that a person may rename and delete: their own; admins all."""
    return visible_to(user, packs_of(user), owner="owner")


def studies_using(pack: AnchorPack) -> QuerySet[Study]:
    """Studies that have anchors of the pack in their queue, oldest first."""
    using = Item.objects.filter(anchor__pack=pack).order_by().values("study")
    return Study.objects.filter(pk__in=using).order_by("pk")


def why_kept(pack: AnchorPack, user: User | AnonymousUser) -> str:
    """Sentence that says which opened studies use the pack, so that it stays; empty if none does."""
    opened = studies_using(pack).exclude(state=Study.State.DRAFT)
    number = opened.count()
    if not number:
        return ""
    readable = opened.filter(pk__in=readable_studies_of(user).values("pk"))[:MOST_NAMED]
    named = [f"“{each}”" for each in readable]
    if others := number - len(named):
        says = ngettext("%(n)s more study", "%(n)s more studies", others)
        alone = ngettext("%(n)s study that you may not read", "%(n)s studies that you may not read", others)
        named.append((says if named else alone) % {"n": f"{others:,}"})
    return _(
        "It stays, because opened studies have its anchors, and their reports compare judgments with its "
        "values: %(studies)s."
    ) % {"studies": ", ".join(named)}


@transaction.atomic
def rename_pack(pack: AnchorPack, title: str) -> None:
    """Rename all versions of a pack. Hashes, values, and what is published already stay as they are.

    Raises:
        ValidationError: the name is empty or too long, or another pack of its owner has it.
    """
    User.objects.select_for_update().get(pk=pack.owner_id)  # as for new versions
    pack.refresh_from_db()  # of two renamings at once, the later one counts
    versions = AnchorPack.objects.filter(owner=pack.owner_id, title=pack.title)
    new = title.strip()
    AnchorPack._meta.get_field("title").clean(new, pack)
    if new == pack.title:
        return
    if AnchorPack.objects.filter(owner=pack.owner_id, title=new).exists():
        raise ValidationError(_("Another pack is called “%(title)s”. Choose another name.") % {"title": new})
    # Their reports and bundles have the name.
    using = Item.objects.filter(anchor__pack__in=versions).order_by("study").distinct()
    for study in list(using.values_list("study", flat=True)):
        results_changed(study)
    versions.update(title=new)


@transaction.atomic
def delete_pack(pack_id: int, *, by: User) -> Deletion | None:
    """Delete a version of a pack, and take its anchors out of drafts; None if it was deleted already.

    Texts that came with a file stay as the context set and the responses that they became.

    Raises:
        ValidationError: opened studies use it; nothing was changed.
    """
    # Whoever mixes it in locks it first, too, so no study can begin to use it meanwhile.
    pack = AnchorPack.objects.select_for_update().filter(pk=pack_id).first()
    if pack is None:
        return None
    plans = [lock_plan(study) for study in studies_using(pack)]
    for plan in plans:
        results_changed(plan.study_id)  # locks the study: it cannot open meanwhile
    if refusal := why_kept(pack, by):
        raise ValidationError(refusal)
    deleter = SoftDeleter()
    deleter.delete(AnchorPack.objects.filter(pk=pack.pk))
    for plan in plans:
        fill_slots(plan)
    return deleter.store(_("Anchor pack %(pack)s") % {"pack": pack}, by=by)
