import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("studies", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Rehearsal",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "findings",
                    models.JSONField(
                        help_text="Of each a sentence, and whether it holds; null if that cannot be told."
                    ),
                ),
                ("holds", models.BooleanField(help_text="Whether all of them hold.")),
                ("verdict", models.TextField(help_text="What came of it, in a sentence.")),
                (
                    "agreement",
                    models.TextField(
                        blank=True, help_text="Why nothing is said about alpha; empty if it is."
                    ),
                ),
                ("finished_at", models.DateTimeField(auto_now_add=True)),
                (
                    "study",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="outcome",
                        to="studies.study",
                    ),
                ),
            ],
        ),
    ]
