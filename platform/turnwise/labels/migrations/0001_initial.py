import django.db.models.deletion
import django.db.models.lookups
from django.db import migrations, models

from turnwise.live.sql import LoadSQL


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("contexts", "0001_initial"),
        ("crowd", "0001_initial"),
        ("dialogues", "0001_initial"),
        ("responses", "0001_initial"),
        ("studies", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Pair",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "first_dialogue",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="dialogues.dialogue",
                    ),
                ),
                (
                    "first_response",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="responses.response",
                    ),
                ),
                (
                    "second_dialogue",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="dialogues.dialogue",
                    ),
                ),
                (
                    "second_response",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="responses.response",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("first_dialogue", None),
                                ("first_response__lt", models.F("second_response")),
                                ("second_dialogue", None),
                            ),
                            models.Q(
                                ("first_dialogue__lt", models.F("second_dialogue")),
                                ("first_response", None),
                                ("second_response", None),
                            ),
                            _connector="OR",
                        ),
                        name="pair_is_of_two_alike",
                    ),
                    models.UniqueConstraint(
                        fields=("first_response", "second_response"), name="pair_of_responses_once"
                    ),
                    models.UniqueConstraint(
                        fields=("first_dialogue", "second_dialogue"), name="pair_of_dialogues_once"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Label",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "party",
                    models.CharField(
                        choices=[
                            (
                                "chatter",
                                "Talked with a bot, or judges their own words or the whole of their conversation",
                            ),
                            ("partner", "Talked with the person whose words they judge"),
                            ("reader", "Reads what others said"),
                            ("outside", "Judged it elsewhere; came with a file"),
                            ("themselves", "Says something of themselves"),
                        ],
                        help_text="Who the rater is to what is judged.",
                        max_length=10,
                    ),
                ),
                (
                    "occasion",
                    models.SmallIntegerField(
                        default=1,
                        help_text="2 if the same rater judges the same thing a second time, and so on.",
                    ),
                ),
                ("question_set", models.CharField(max_length=60)),
                (
                    "answers",
                    models.JSONField(
                        help_text="By question key, as evaluation.questions.QuestionSet.check returns them; of a pair, first and second as the rater saw them."
                    ),
                ),
                (
                    "shown_ms",
                    models.IntegerField(
                        blank=True,
                        help_text="How long the question was on screen before it was answered.",
                        null=True,
                    ),
                ),
                (
                    "answer_ms",
                    models.IntegerField(
                        blank=True, help_text="From what is judged being shown to the answer.", null=True
                    ),
                ),
                ("created_at", models.DateTimeField()),
                ("changed_at", models.DateTimeField()),
                (
                    "changes",
                    models.SmallIntegerField(default=0, help_text="How often the rater changed their mind."),
                ),
                (
                    "ask",
                    models.ForeignKey(
                        blank=True,
                        db_constraint=False,
                        db_index=False,
                        help_text="What it answers; nothing if it came with a file.",
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="labels",
                        to="studies.ask",
                    ),
                ),
                (
                    "dialogue",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="labels",
                        to="dialogues.dialogue",
                    ),
                ),
                (
                    "participation",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="labels",
                        to="crowd.participation",
                    ),
                ),
                (
                    "rater",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="labels", to="crowd.worker"
                    ),
                ),
                (
                    "response",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="labels",
                        to="responses.response",
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        help_text="In which it was given.",
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="labels",
                        to="studies.study",
                    ),
                ),
                (
                    "turn",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="labels",
                        to="dialogues.turn",
                    ),
                ),
                (
                    "context",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="labels",
                        to="contexts.context",
                    ),
                ),
                (
                    "pair",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="labels",
                        to="labels.pair",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(turn__isnull=False),
                        fields=("turn", "rater", "ask", "question_set", "occasion"),
                        nulls_distinct=False,
                        name="label_of_turn_once_per_rater",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(response__isnull=False),
                        fields=("response", "rater", "ask", "question_set", "occasion"),
                        nulls_distinct=False,
                        name="label_of_response_once_per_rater",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(dialogue__isnull=False),
                        fields=("dialogue", "rater", "ask", "question_set", "occasion"),
                        nulls_distinct=False,
                        name="label_of_dialogue_once_per_rater",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(pair__isnull=False),
                        fields=("pair", "rater", "ask", "question_set", "occasion"),
                        nulls_distinct=False,
                        name="label_of_pair_once_per_rater",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(context__isnull=False),
                        fields=("context", "rater", "ask", "question_set", "occasion"),
                        nulls_distinct=False,
                        name="label_of_context_once_per_rater",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(participation__isnull=False),
                        fields=("participation", "rater", "ask", "question_set", "occasion"),
                        nulls_distinct=False,
                        name="label_of_participation_once_per_rater",
                    ),
                    models.CheckConstraint(
                        condition=django.db.models.lookups.Exact(
                            models.Func(
                                models.F("turn"),
                                models.F("response"),
                                models.F("dialogue"),
                                models.F("pair"),
                                models.F("context"),
                                models.F("participation"),
                                function="num_nonnulls",
                                output_field=models.IntegerField(),
                            ),
                            1,
                        ),
                        name="label_has_one_subject",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("occasion__gte", 1)), name="label_occasions_count_from_1"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("party__in", ["chatter", "partner", "reader", "outside", "themselves"])
                        ),
                        name="label_is_of_a_known_party",
                    ),
                    models.CheckConstraint(
                        condition=django.db.models.lookups.Exact(
                            models.Q(("party", "outside")), models.Q(("ask", None))
                        ),
                        name="label_answers_an_ask_or_came_from_outside",
                    ),
                    models.CheckConstraint(
                        condition=django.db.models.lookups.Exact(
                            models.Q(("party", "themselves")), models.Q(("participation__isnull", False))
                        ),
                        name="label_of_a_person_is_their_own",
                    ),
                ],
                "indexes": [
                    models.Index(
                        condition=models.Q(("party", "reader"), ("turn__isnull", False)),
                        fields=["turn"],
                        name="label_of_turn_by_readers",
                    )
                ],
            },
        ),
        migrations.RunSQL(
            "ALTER TABLE labels_label ADD CONSTRAINT label_answers_an_ask_of_its_study "
            "FOREIGN KEY (ask_id, study_id, question_set) REFERENCES studies_ask (id, study_id, question_set) "
            "DEFERRABLE INITIALLY DEFERRED",
            migrations.RunSQL.noop,
        ),
        LoadSQL("labels", "record_label"),
    ]
