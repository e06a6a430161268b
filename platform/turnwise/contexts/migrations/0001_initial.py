import django.contrib.postgres.fields
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
            name="ContextSet",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "name",
                    models.SlugField(
                        help_text="Short name, also of exported files: open-mtb",
                        max_length=60,
                        verbose_name="name",
                    ),
                ),
                ("title", models.CharField(max_length=120, verbose_name="title")),
                ("description", models.TextField(blank=True, max_length=4000, verbose_name="description")),
                (
                    "licence",
                    models.CharField(
                        help_text="Under which the contexts may be used, such as Apache-2.0 or CC BY 4.0.",
                        max_length=120,
                        verbose_name="licence",
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "owner",
                    models.ForeignKey(
                        blank=True,
                        help_text="Nobody: it ships with the platform, and every researcher can use it.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="context_sets",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ("title", "pk"),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("owner", "name"),
                        name="context_set_name_once_per_owner",
                        nulls_distinct=False,
                        violation_error_message="You already have a context set of that name. Choose another, or import a new version of that set.",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ContextSetVersion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                (
                    "content_hash",
                    models.CharField(help_text="SHA-256 of the contexts in their order.", max_length=64),
                ),
                ("size", models.PositiveIntegerField(help_text="How many contexts.")),
                (
                    "origin",
                    models.CharField(blank=True, help_text="Name of the imported file.", max_length=200),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "context_set",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="versions",
                        to="contexts.contextset",
                    ),
                ),
            ],
            options={
                "ordering": ("context_set", "-number"),
                "constraints": [
                    models.UniqueConstraint(fields=("context_set", "number"), name="context_version_once"),
                    models.UniqueConstraint(
                        fields=("context_set", "content_hash"), name="context_content_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("size__gte", 1)), name="context_version_is_not_empty"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Context",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("position", models.PositiveIntegerField(help_text="Place in the set, from 1.")),
                (
                    "key",
                    models.CharField(
                        help_text="The context's id in files; stable between versions.", max_length=100
                    ),
                ),
                (
                    "turns",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=2000), help_text="Oldest first.", size=None
                    ),
                ),
                ("category", models.CharField(blank=True, max_length=60)),
                ("language", models.CharField(help_text="ISO 639-1 code, such as en.", max_length=10)),
                (
                    "consistency",
                    models.BooleanField(
                        default=False,
                        help_text="A right response must agree with something said in an earlier turn.",
                    ),
                ),
                (
                    "extends",
                    models.CharField(
                        blank=True,
                        help_text="Key of the context with all turns but the last.",
                        max_length=100,
                    ),
                ),
                (
                    "material",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=2000),
                        blank=True,
                        default=list,
                        help_text="Sentences to read for a response: bots get them, and raters see them "
                        "beside it.",
                        size=None,
                    ),
                ),
                (
                    "version",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="contexts",
                        to="contexts.contextsetversion",
                    ),
                ),
            ],
            options={
                "ordering": ("version", "position"),
                "constraints": [
                    models.UniqueConstraint(fields=("version", "key"), name="context_once_per_key"),
                    models.UniqueConstraint(fields=("version", "position"), name="context_once_per_position"),
                    models.CheckConstraint(
                        condition=models.Q(("turns__len__gte", 1), ("turns__len__lte", 100)),
                        name="context_has_turns",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("material__len__lte", 20)), name="context_material_is_short"
                    ),
                ],
            },
        ),
        LoadSQL("contexts", "version_never_changes"),
    ]
