import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("audits", "0001_initial"),
        ("bots", "0001_initial"),
    ]

    operations = [
        migrations.AlterField(
            model_name="audit",
            name="version",
            field=models.ForeignKey(
                blank=True,
                help_text="Version that answered first. If the bot changes on the way, the audit stops.",
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="audits",
                to="bots.botversion",
            ),
        ),
    ]
