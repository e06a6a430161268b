import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from turnwise.live.sql import LoadSQL


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="OwnSet",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "name",
                    models.CharField(
                        help_text="Begins the key of every version; never changes.",
                        max_length=34,
                        unique=True,
                    ),
                ),
                (
                    "shared",
                    models.BooleanField(
                        default=False, help_text="Every researcher here can read it and use it."
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "archived_at",
                    models.DateTimeField(
                        blank=True, help_text="Since when lists and new studies leave it out.", null=True
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="question_sets",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ("name",),
            },
        ),
        migrations.CreateModel(
            name="SetVersion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                (
                    "key",
                    models.CharField(
                        help_text="As studies, labels and files name it.", max_length=40, unique=True
                    ),
                ),
                (
                    "declaration",
                    models.JSONField(help_text="As evaluation.questions.QuestionSet.to_json gives it."),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "made_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "own_set",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="versions",
                        to="questions.ownset",
                    ),
                ),
            ],
            options={
                "ordering": ("own_set", "-number"),
                "constraints": [
                    models.UniqueConstraint(fields=("own_set", "number"), name="question_set_version_once")
                ],
            },
        ),
        LoadSQL("questions", "version_never_changes"),
    ]
