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
            name="KnowledgeBase",
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
                        help_text="Short name, also of exported files: open-knowledge",
                        max_length=60,
                        verbose_name="name",
                    ),
                ),
                ("title", models.CharField(max_length=120, verbose_name="title")),
                ("description", models.TextField(blank=True, max_length=4000, verbose_name="description")),
                (
                    "licence",
                    models.CharField(
                        help_text="Under which the texts may be used, such as CC0 1.0 or CC BY 4.0.",
                        max_length=120,
                        verbose_name="licence",
                    ),
                ),
                (
                    "open_to_all",
                    models.BooleanField(
                        default=False,
                        help_text="Everybody who signs in can read it and use it in studies.",
                        verbose_name="everybody can use it",
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
                        related_name="knowledge_bases",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "shared_with",
                    models.ManyToManyField(
                        blank=True,
                        help_text="Who may do so besides the owner and admins.",
                        related_name="shared_knowledge_bases",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ("title", "pk"),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("owner", "name"),
                        name="knowledge_base_name_once_per_owner",
                        nulls_distinct=False,
                        violation_error_message="You already have a knowledge base of that name. Choose another, or import a new version of that base.",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="BaseVersion",
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
                    models.CharField(help_text="SHA-256 of its content as JSON.", max_length=64),
                ),
                (
                    "configurations",
                    models.CharField(help_text="For which there are enough facts: ABCD", max_length=4),
                ),
                (
                    "budgets",
                    models.JSONField(
                        blank=True, default=dict, help_text="By topic, how many entities it should have."
                    ),
                ),
                ("entity_count", models.PositiveIntegerField()),
                ("article_count", models.PositiveIntegerField()),
                (
                    "origin",
                    models.CharField(blank=True, help_text="Name of the imported file.", max_length=200),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "base",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="versions",
                        to="knowledge.knowledgebase",
                    ),
                ),
            ],
            options={
                "ordering": ("base", "-number"),
                "constraints": [
                    models.UniqueConstraint(fields=("base", "number"), name="base_version_once"),
                    models.UniqueConstraint(fields=("base", "content_hash"), name="base_content_once"),
                    models.CheckConstraint(
                        condition=models.Q(("entity_count__gte", 1)), name="base_version_has_entities"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Article",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveIntegerField(help_text="Place in the base, from 1.")),
                (
                    "key",
                    models.CharField(
                        help_text="Its address, or another name that stays the same.", max_length=500
                    ),
                ),
                ("headline", models.CharField(max_length=300)),
                (
                    "sections",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(),
                        help_text="Its text in four parts of similar length.",
                        size=None,
                    ),
                ),
                (
                    "named",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.PositiveIntegerField(),
                        help_text="Numbers of the three entities that it names most, in that order.",
                        size=None,
                    ),
                ),
                (
                    "version",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="articles",
                        to="knowledge.baseversion",
                    ),
                ),
            ],
            options={
                "ordering": ("version", "number"),
                "constraints": [
                    models.UniqueConstraint(fields=("version", "number"), name="article_once_per_number"),
                    models.UniqueConstraint(fields=("version", "key"), name="article_once_per_key"),
                    models.CheckConstraint(
                        condition=models.Q(("named__len", 3), ("sections__len", 4)),
                        name="article_can_be_read_together",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Entity",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveIntegerField(help_text="Place in the base, from 1.")),
                ("name", models.CharField(max_length=120)),
                ("topic", models.CharField(max_length=60)),
                (
                    "aliases",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=120), blank=True, default=list, size=None
                    ),
                ),
                ("shortened", models.TextField(help_text="The first paragraph or two of its lead.")),
                ("summarized", models.TextField(help_text="An extract of the whole lead.")),
                (
                    "facts",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(),
                        help_text="Things worth telling, one sentence or two each.",
                        size=None,
                    ),
                ),
                (
                    "version",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="entities",
                        to="knowledge.baseversion",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "entities",
                "ordering": ("version", "number"),
                "constraints": [
                    models.UniqueConstraint(fields=("version", "number"), name="entity_once_per_number"),
                    models.UniqueConstraint(fields=("version", "name"), name="entity_once_per_name"),
                ],
            },
        ),
        LoadSQL("knowledge", "version_never_changes"),
    ]
