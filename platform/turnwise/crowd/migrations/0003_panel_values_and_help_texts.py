import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from turnwise.live.sql import LoadSQL


class Migration(migrations.Migration):
    dependencies = [
        ("crowd", "0002_refuse_truncate"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RenameField(model_name="participation", old_name="way_back", new_name="panel_values"),
        migrations.AlterField(
            model_name="participation",
            name="panel_values",
            field=models.JSONField(
                blank=True,
                default=dict,
                editable=False,
                help_text="Further values of the panel's link that its pages need at the end.",
            ),
        ),
        migrations.AlterField(
            model_name="participation",
            name="address",
            field=models.CharField(
                blank=True,
                editable=False,
                help_text="Keyed hash of the network address from which they agreed, different in every study: equal hashes mean one address. Anyone who holds the key can test an address. Empty: not known.",
                max_length=32,
            ),
        ),
        migrations.AlterField(
            model_name="payentry",
            name="by",
            field=models.CharField(
                blank=True,
                help_text="Name of the person who entered it; empty: the platform.",
                max_length=150,
            ),
        ),
        migrations.AlterField(
            model_name="withdrawal",
            name="by",
            field=models.ForeignKey(
                blank=True,
                help_text="Team member who did it at their request; empty: the participant.",
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        LoadSQL("crowd", "begin", "ledger_never_changes"),
    ]
