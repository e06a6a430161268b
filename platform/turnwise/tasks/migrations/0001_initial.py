import django.core.validators
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("bots", "0001_initial"),
        ("contexts", "0001_initial"),
        ("dialogues", "0001_initial"),
        ("studies", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="WritingPlan",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "responses_per_context",
                    models.PositiveSmallIntegerField(
                        default=1,
                        help_text="Each by a different worker.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(20),
                        ],
                        verbose_name="responses per context",
                    ),
                ),
                (
                    "batch_size",
                    models.PositiveSmallIntegerField(
                        default=10,
                        help_text="After this many the worker is done and gets the completion code.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(200),
                        ],
                        verbose_name="responses per worker",
                    ),
                ),
                (
                    "context_version",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="writing_plans",
                        to="contexts.contextsetversion",
                        verbose_name="contexts",
                    ),
                ),
                (
                    "study",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="writing",
                        to="studies.study",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("batch_size__gte", 1), ("responses_per_context__gte", 1)),
                        name="writing_plan_wants_something",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="TwoPeoplePlan",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "conversations",
                    models.PositiveIntegerField(
                        default=50,
                        help_text="Finished ones; each needs two people.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(100000),
                        ],
                        verbose_name="conversations of two people",
                    ),
                ),
                (
                    "wait_minutes",
                    models.PositiveSmallIntegerField(
                        default=5,
                        help_text="For another person. People are told, and can see how long they have waited.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(60),
                        ],
                        verbose_name="longest wait in minutes",
                    ),
                ),
                (
                    "alone",
                    models.CharField(
                        choices=[
                            ("leave", "They leave, and are paid for the time they waited"),
                            ("bot", "They talk with a chatbot of the study instead"),
                        ],
                        default="leave",
                        max_length=10,
                        verbose_name="if nobody comes by then",
                    ),
                ),
                (
                    "disclosed",
                    models.BooleanField(
                        default=True,
                        help_text="Both know that they are talking with a person, and see whether the other is typing. Otherwise they are told that their partner may be a person or a chatbot; say so in the consent text, too.",
                        verbose_name="Tell people whom they talk with",
                    ),
                ),
                (
                    "study",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="two_people",
                        to="studies.study",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("conversations__gte", 1), ("wait_minutes__gte", 1)),
                        name="two_people_plan_wants_something",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="SelfPlayPlan",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "opener",
                    models.CharField(
                        choices=[
                            ("text", "The opening text is the first turn"),
                            ("own", "What the bot answers to the opening text is the first turn"),
                        ],
                        default="own",
                        max_length=10,
                        verbose_name="how conversations begin",
                    ),
                ),
                (
                    "opening_text",
                    models.CharField(
                        blank=True,
                        default="Hi!",
                        help_text="Neither counted nor judged. Empty: the chatbot that begins answers an empty turn.",
                        max_length=500,
                        verbose_name="opening text",
                    ),
                ),
                (
                    "conversations",
                    models.PositiveIntegerField(
                        default=100,
                        help_text="How many, at most 10,000.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(10000),
                        ],
                        verbose_name="conversations",
                    ),
                ),
                (
                    "utterances",
                    models.PositiveSmallIntegerField(
                        default=10,
                        help_text="Of both together.",
                        validators=[
                            django.core.validators.MinValueValidator(2),
                            django.core.validators.MaxValueValidator(500),
                        ],
                        verbose_name="turns of each",
                    ),
                ),
                (
                    "seed",
                    models.BigIntegerField(
                        default=1,
                        help_text="The same seed gives the same conversations, where the bots can.",
                        validators=[
                            django.core.validators.MinValueValidator(0),
                            django.core.validators.MaxValueValidator(9007199254740992),
                        ],
                        verbose_name="seed",
                    ),
                ),
                (
                    "active_at",
                    models.DateTimeField(
                        blank=True, editable=False, help_text="When a bot last said something.", null=True
                    ),
                ),
                (
                    "reason",
                    models.TextField(blank=True, editable=False, help_text="Why it waits or stopped."),
                ),
                (
                    "first",
                    models.ForeignKey(
                        help_text="Each begins every other conversation.",
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="bots.bot",
                        verbose_name="chatbot",
                    ),
                ),
                (
                    "first_version",
                    models.ForeignKey(
                        blank=True,
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="bots.botversion",
                    ),
                ),
                (
                    "second",
                    models.ForeignKey(
                        help_text="The same one again: it talks with itself.",
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="bots.bot",
                        verbose_name="talks with",
                    ),
                ),
                (
                    "second_version",
                    models.ForeignKey(
                        blank=True,
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="bots.botversion",
                    ),
                ),
                (
                    "study",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="self_play",
                        to="studies.study",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("conversations__gte", 1), ("utterances__gte", 2)),
                        name="self_play_wants_conversations",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("opener", "own"), models.Q(("opening_text", ""), _negated=True), _connector="OR"
                        ),
                        name="self_play_opening_says_something",
                        violation_error_message="A text that is the first turn cannot be empty. Write one, such as “Hi!”, or let the chatbot answer it.",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="SelfPlayed",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "number",
                    models.PositiveIntegerField(
                        help_text="From 1. The first bot begins those with odd numbers."
                    ),
                ),
                (
                    "attempts",
                    models.PositiveSmallIntegerField(
                        default=0, help_text="How often the next turn has failed, in a row."
                    ),
                ),
                (
                    "fell_silent",
                    models.BooleanField(
                        default=False, help_text="A bot said nothing, each time it was asked."
                    ),
                ),
                (
                    "repeated",
                    models.PositiveSmallIntegerField(
                        default=0, help_text="Turns that repeat an earlier one; counted at the end."
                    ),
                ),
                (
                    "measures",
                    models.JSONField(
                        blank=True,
                        editable=False,
                        help_text="Its metrics, by turn, and their encoders; once it has ended.",
                        null=True,
                    ),
                ),
                (
                    "dialogue",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="self_played",
                        to="dialogues.dialogue",
                    ),
                ),
                (
                    "plan",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="played",
                        to="tasks.selfplayplan",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "self-played",
                "constraints": [
                    models.UniqueConstraint(fields=("plan", "number"), name="self_played_once_per_number")
                ],
            },
        ),
    ]
