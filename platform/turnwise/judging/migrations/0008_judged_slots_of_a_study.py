from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    atomic = False  # so that raters need not wait while the index is made

    dependencies = [("judging", "0007_anchor_packs")]

    operations = [
        AddIndexConcurrently(
            "slot",
            models.Index(
                fields=["study", "batch"], condition=Q(label__isnull=False, is_gold=False), name="slot_judged"
            ),
        )
    ]
