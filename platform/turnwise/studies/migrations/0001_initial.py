from decimal import Decimal

import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import django.db.models.expressions
from django.conf import settings
from django.db import migrations, models

import turnwise.knowledge.reading_sets
import turnwise.questions.question_sets
import turnwise.studies.models
import turnwise.studies.models.choices
import turnwise.studies.task_keys


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("knowledge", "0001_initial"),
        ("bots", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Study",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "code",
                    models.CharField(
                        default=turnwise.studies.models.entry_code, editable=False, max_length=20, unique=True
                    ),
                ),
                ("title", models.CharField(max_length=120, verbose_name="title")),
                (
                    "task",
                    models.CharField(
                        default=turnwise.studies.task_keys.first_key,
                        help_text="Key of a task: studies/tasks.py.",
                        max_length=20,
                        validators=[turnwise.studies.task_keys.refuse_unknown],
                    ),
                ),
                (
                    "protocol",
                    models.CharField(
                        blank=True,
                        default="",
                        help_text="The report names each departure from it, and shows its published scores beside those of the study.",
                        max_length=60,
                        validators=[turnwise.studies.models.choices.refuse_unknown_protocol],
                        verbose_name="published protocol",
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("draft", "Draft"),
                            ("open", "Open"),
                            ("paused", "Paused"),
                            ("closed", "Closed"),
                        ],
                        default="draft",
                        max_length=10,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "opening_speaker",
                    models.CharField(
                        choices=[("bot", "The chatbot"), ("human", "The worker")],
                        default="bot",
                        max_length=10,
                        verbose_name="who opens the conversation",
                    ),
                ),
                (
                    "opening_text",
                    models.CharField(
                        blank=True,
                        default="Hi!",
                        help_text="Said by the opening speaker before the conversation; neither counted nor labelled. Empty with the worker opening: the worker's first message is an ordinary turn.",
                        max_length=500,
                        verbose_name="opening text",
                    ),
                ),
                (
                    "min_turns",
                    models.PositiveSmallIntegerField(
                        default=14,
                        help_text="The opening is not counted.",
                        validators=[
                            django.core.validators.MinValueValidator(2),
                            django.core.validators.MaxValueValidator(500),
                        ],
                        verbose_name="fewest turns",
                    ),
                ),
                (
                    "max_turns",
                    models.PositiveSmallIntegerField(
                        default=28,
                        help_text="The opening is not counted.",
                        validators=[
                            django.core.validators.MinValueValidator(2),
                            django.core.validators.MaxValueValidator(500),
                        ],
                        verbose_name="most turns",
                    ),
                ),
                (
                    "blind",
                    models.BooleanField(
                        default=True,
                        help_text="Workers do not learn which bot they talk to.",
                        verbose_name="hide the names of the bots",
                    ),
                ),
                (
                    "markdown",
                    models.BooleanField(
                        default=False,
                        help_text="Lists, code and emphasis in replies are shown formatted, not as the Markdown of the bot. Images are never loaded.",
                        verbose_name="show Markdown in replies",
                    ),
                ),
                (
                    "practice",
                    models.BooleanField(
                        default=True,
                        help_text="Workers try the questions on their worked examples before they begin, and learn what the author would have answered. None of it is stored as a label.",
                        verbose_name="practice before the work",
                    ),
                ),
                (
                    "primary_analysis",
                    models.CharField(
                        choices=[
                            ("all", "All workers"),
                            ("without_excluded", "Without the workers excluded by the rules below"),
                        ],
                        default="all",
                        help_text="The report's numbers follow it; the other analysis is shown beside them. It is declared before the study opens and is then fixed.",
                        max_length=20,
                        verbose_name="primary analysis",
                    ),
                ),
                (
                    "exclusion_rules",
                    models.TextField(
                        blank=True,
                        help_text="By which rules workers are excluded, such as: all answers alike, or a median of less than 2 seconds per answer. Each exclusion names its reason, and excluded workers are still paid.",
                        max_length=2000,
                        verbose_name="rules of exclusion",
                    ),
                ),
                (
                    "margin",
                    models.FloatField(
                        blank=True,
                        help_text="The largest difference that does not matter to you, in points of the score with which the report begins, such as 5. The report then also tests whether systems are equivalent within it. It is declared before the study opens and is then fixed. Empty: none.",
                        null=True,
                        validators=[
                            django.core.validators.MinValueValidator(0.001),
                            django.core.validators.MaxValueValidator(100),
                        ],
                        verbose_name="margin of equivalence",
                    ),
                ),
                (
                    "pilot_size",
                    models.PositiveSmallIntegerField(
                        default=0,
                        help_text="After this many people nobody new is admitted until you have looked and go on. They are then excluded from the primary analysis. 0: no pilot.",
                        validators=[django.core.validators.MaxValueValidator(1000)],
                        verbose_name="people of the pilot",
                    ),
                ),
                (
                    "pilot_over_at",
                    models.DateTimeField(
                        blank=True,
                        editable=False,
                        help_text="When it went on from its pilot.",
                        null=True,
                    ),
                ),
                (
                    "languages",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=10),
                        default=list,
                        help_text="For example: en, zh",
                        size=None,
                    ),
                ),
                ("instructions", models.TextField(blank=True, max_length=8000, verbose_name="instructions")),
                (
                    "debriefing",
                    models.TextField(
                        blank=True,
                        help_text="Workers read it on their last page, however they ended. It is the place for what they could not be told before, such as that a person answered as the chatbot.",
                        max_length=8000,
                        verbose_name="debriefing",
                    ),
                ),
                (
                    "pay_amount",
                    models.DecimalField(
                        decimal_places=2,
                        default=Decimal("0"),
                        max_digits=8,
                        validators=[django.core.validators.MinValueValidator(Decimal("0"))],
                        verbose_name="pay",
                    ),
                ),
                ("pay_currency", models.CharField(default="USD", max_length=3, verbose_name="currency")),
                (
                    "hourly_target",
                    models.DecimalField(
                        blank=True,
                        decimal_places=2,
                        help_text="What an hour of this work should pay at least. Payments warns when it pays less.",
                        max_digits=8,
                        null=True,
                        validators=[django.core.validators.MinValueValidator(Decimal("0.01"))],
                        verbose_name="pay for an hour, at least",
                    ),
                ),
                (
                    "expected_minutes",
                    models.PositiveSmallIntegerField(
                        default=15,
                        validators=[django.core.validators.MinValueValidator(1)],
                        verbose_name="expected time in minutes",
                    ),
                ),
                (
                    "withdrawal_days",
                    models.PositiveSmallIntegerField(
                        default=30,
                        help_text="How long after the end of their part people can have their texts and answers removed. They are told before they agree; later it can be made longer, not shorter.",
                        validators=[django.core.validators.MaxValueValidator(3650)],
                        verbose_name="days to withdraw",
                    ),
                ),
                (
                    "retention_days",
                    models.PositiveSmallIntegerField(
                        default=180,
                        help_text="How long after the end of somebody's part their panel id, and everything else by which they could be found again, are erased, once they are paid. Later it can be made shorter, not longer.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(3650),
                        ],
                        verbose_name="days until ids are erased",
                    ),
                ),
                (
                    "contact",
                    models.EmailField(
                        blank=True,
                        help_text="Workers see it on the consent page, at the end, and wherever somebody is turned away.",
                        max_length=254,
                        verbose_name="address for questions",
                    ),
                ),
                (
                    "archived_at",
                    models.DateTimeField(
                        blank=True,
                        editable=False,
                        help_text="Since when it is left out of lists.",
                        null=True,
                    ),
                ),
                (
                    "previewed_at",
                    models.DateTimeField(
                        blank=True,
                        editable=False,
                        help_text="When somebody first looked at the pages of its workers.",
                        null=True,
                    ),
                ),
                (
                    "results_version",
                    models.PositiveBigIntegerField(
                        default=0,
                        editable=False,
                        help_text="Grows with every commit that changes the report.",
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="studies",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "rehearsal_of",
                    models.OneToOneField(
                        blank=True,
                        editable=False,
                        help_text="The study that simulated workers try out here. Never counted with studies of people.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="rehearsal",
                        to="studies.study",
                    ),
                ),
                (
                    "closed_to_workers_of",
                    models.ManyToManyField(
                        blank=True,
                        help_text="People who took part in one of these studies cannot take part in this one.",
                        related_name="closes",
                        to="studies.study",
                    ),
                ),
                (
                    "extensions",
                    models.PositiveSmallIntegerField(
                        default=10,
                        help_text="How often a worker can ask for the same time again. Fewer than ten shut out people who need longer (WCAG 2.2.1).",
                        validators=[django.core.validators.MaxValueValidator(100)],
                        verbose_name="extensions",
                    ),
                ),
                (
                    "message_minutes",
                    models.PositiveSmallIntegerField(
                        default=0,
                        help_text="For each message, judgment or text, from the moment it is the worker's turn. 0: no limit.",
                        validators=[django.core.validators.MaxValueValidator(240)],
                        verbose_name="minutes for each message",
                    ),
                ),
                (
                    "session_minutes",
                    models.PositiveSmallIntegerField(
                        default=0,
                        help_text="From the beginning of the work to its end; waiting for a partner does not count. 0: no limit.",
                        validators=[django.core.validators.MaxValueValidator(1440)],
                        verbose_name="minutes for the whole",
                    ),
                ),
                (
                    "notes_typing",
                    models.BooleanField(
                        default=False,
                        help_text="Of each message in a chat: how many characters were pasted, and how long it was typed; never which keys. Workers read this before they agree.",
                        verbose_name="note pasting and time of typing",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "studies",
                "ordering": ("-created_at",),
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("primary_analysis", "all"),
                            models.Q(("exclusion_rules", ""), _negated=True),
                            ("pilot_size__gt", 0),
                            _connector="OR",
                        ),
                        name="study_exclusions_need_rules",
                        violation_error_message="Say by which rules workers are excluded, or use all workers as the primary analysis.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("pilot_size", 0),
                            models.Q(("primary_analysis", "all"), _negated=True),
                            _connector="OR",
                        ),
                        name="study_pilot_is_left_out",
                        violation_error_message="A pilot is left out of the primary analysis. Choose the one without the excluded workers, or set the people of the pilot to 0.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "max_turns__gte",
                                django.db.models.expressions.CombinedExpression(
                                    django.db.models.expressions.CombinedExpression(
                                        django.db.models.expressions.CombinedExpression(
                                            models.F("min_turns"), "+", models.Value(1)
                                        ),
                                        "/",
                                        models.Value(2),
                                    ),
                                    "*",
                                    models.Value(2),
                                ),
                            ),
                            ("min_turns__gte", 2),
                        ),
                        name="study_turn_limits",
                        violation_error_message="The maximum of turns must leave room for the minimum, which is at least 2; turns come in pairs of a message and its reply.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("opening_speaker", "human"),
                            models.Q(("opening_text", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="study_bot_opening_needs_text",
                        violation_error_message="A conversation that the chatbot opens needs an opening text, such as “Hi!”.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("archived_at", None),
                            models.Q(("state__in", ("open", "paused")), _negated=True),
                            _connector="OR",
                        ),
                        name="study_archived_is_not_open",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ConsentVersion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("text", models.TextField(max_length=20000)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="consent_versions",
                        to="studies.study",
                    ),
                ),
            ],
            options={
                "ordering": ("study", "number"),
                "constraints": [
                    models.UniqueConstraint(fields=("study", "number"), name="consent_version_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="StudyBot",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "target",
                    models.PositiveIntegerField(default=100, help_text="0: no further workers for this bot."),
                ),
                (
                    "facets",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        help_text="What the bot is, for the report: by facet, such as architecture, its level.",
                    ),
                ),
                (
                    "bot",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="study_bots", to="bots.bot"
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="study_bots",
                        to="studies.study",
                    ),
                ),
            ],
            options={
                "ordering": ("study", "bot__name"),
                "constraints": [models.UniqueConstraint(fields=("study", "bot"), name="bot_once_per_study")],
            },
        ),
        migrations.CreateModel(
            name="Ask",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "number",
                    models.PositiveSmallIntegerField(help_text="From 0; the report begins with the first."),
                ),
                (
                    "question_set",
                    models.CharField(
                        max_length=60, validators=[turnwise.questions.question_sets.refuse_unknown_set]
                    ),
                ),
                (
                    "about",
                    models.CharField(
                        choices=[
                            ("own_turn", "Each of their own turns"),
                            ("partner_turn", "Each of the partner's turns"),
                            ("dialogue", "The whole conversation"),
                            ("response", "A response to a context"),
                            ("pair", "Two responses, or two conversations"),
                            ("context", "A context"),
                            ("person", "The person themselves"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "by",
                    models.CharField(
                        choices=[
                            ("talkers", "The people who talk"),
                            ("readers", "Others, who read"),
                            ("everybody", "Everybody who takes part"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "moment",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("each_turn", "Before the next message can be sent"),
                            ("waiting", "While the partner writes"),
                            ("before_finish", "At any time before the conversation ends"),
                            ("at_end", "At the end of the conversation"),
                            ("before_work", "Before they begin"),
                            ("after_work", "When their work is done"),
                        ],
                        help_text="Empty: of readers.",
                        max_length=20,
                    ),
                ),
                (
                    "required",
                    models.BooleanField(
                        default=True,
                        help_text="Without the answers a conversation cannot be finished, or a person cannot go on.",
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="asks",
                        to="studies.study",
                    ),
                ),
            ],
            options={
                "ordering": ("study", "number"),
                "constraints": [
                    models.UniqueConstraint(
                        deferrable=models.Deferrable["IMMEDIATE"],
                        fields=("study", "number"),
                        name="ask_once_per_number",
                    ),
                    models.UniqueConstraint(
                        deferrable=models.Deferrable["IMMEDIATE"],
                        fields=("study", "question_set", "about"),
                        name="ask_once_about_the_same",
                    ),
                    models.UniqueConstraint(fields=("id", "study"), name="ask_of_its_study"),
                    models.UniqueConstraint(
                        fields=("id", "study", "question_set"), name="ask_with_its_questions"
                    ),
                    models.CheckConstraint(condition=models.Q(("number__lt", 32)), name="ask_has_a_number"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("by", "talkers"),
                                models.Q(("moment", ""), _negated=True),
                                models.Q(("moment__in", ("before_work", "after_work")), _negated=True),
                            ),
                            models.Q(("by", "readers"), ("moment", "")),
                            models.Q(("by", "everybody"), ("moment__in", ("before_work", "after_work"))),
                            _connector="OR",
                        ),
                        name="ask_of_talkers_has_a_moment",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("about", "person"), ("by", "everybody")),
                            models.Q(
                                ("by", "everybody"), ("about", "person"), _connector="OR", _negated=True
                            ),
                            _connector="OR",
                        ),
                        name="ask_of_everybody_is_about_the_person",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("about", "dialogue"), ("by", "talkers"), _negated=True),
                            ("moment", "at_end"),
                            _connector="OR",
                        ),
                        name="ask_about_the_whole_is_asked_at_its_end",
                    ),
                ],
            },
        ),
        migrations.AddField(
            model_name="study",
            name="re_entry",
            field=models.CharField(
                choices=[
                    ("once", "Once"),
                    ("per_bot", "Once with each chatbot"),
                    ("up_to", "Up to a number of times"),
                ],
                default="once",
                help_text="People who have finished may take part again and are paid each time. In the results they count as one worker. Prolific and Mechanical Turk admit a person to each of their own studies only once, whatever is chosen here.",
                max_length=10,
                verbose_name="how often a person takes part",
            ),
        ),
        migrations.AddField(
            model_name="study",
            name="re_entry_most",
            field=models.PositiveSmallIntegerField(
                default=2,
                help_text="Times per person. Applies only with “Up to a number of times”.",
                validators=[
                    django.core.validators.MinValueValidator(2),
                    django.core.validators.MaxValueValidator(100),
                ],
                verbose_name="at most",
            ),
        ),
        migrations.AddField(
            model_name="study",
            name="material",
            field=models.TextField(
                blank=True,
                help_text="Texts that workers see beside their task. A line that begins with # names one; what follows is its text.",
                max_length=100000,
                validators=[turnwise.knowledge.reading_sets.refuse_unreadable],
                verbose_name="texts",
            ),
        ),
        migrations.AddField(
            model_name="study",
            name="bots_read",
            field=models.BooleanField(
                default=False,
                help_text="Bots that can use knowledge get the same texts, for instance in their prompt; others ignore them.",
                verbose_name="let the bots read them, too",
            ),
        ),
        migrations.AddField(
            model_name="study",
            name="knowledge",
            field=models.ForeignKey(
                blank=True,
                help_text="Each conversation is about one of its articles: those who talk get reading sets from it.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="studies",
                to="knowledge.baseversion",
                verbose_name="reading sets from a knowledge base",
            ),
        ),
        migrations.AddField(
            model_name="study",
            name="tags",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=30),
                blank=True,
                default=list,
                help_text="Words to filter lists by, such as: pilot, 2026.",
                size=10,
            ),
        ),
        migrations.CreateModel(
            name="Share",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "may_change",
                    models.BooleanField(
                        default=False, help_text="Else they read its results and conversations."
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="shared_studies",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="shares",
                        to="studies.study",
                    ),
                ),
            ],
            options={
                "ordering": ("person__username",),
                "constraints": [
                    models.UniqueConstraint(fields=("study", "person"), name="study_shared_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Bundle",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("asked_at", models.DateTimeField()),
                ("begun_at", models.DateTimeField(blank=True, null=True)),
                ("made_at", models.DateTimeField(blank=True, null=True)),
                ("reason", models.TextField(blank=True, help_text="Why it could not be made.")),
                ("size", models.PositiveBigIntegerField(default=0, help_text="In bytes, once it is made.")),
                (
                    "results_version",
                    models.PositiveBigIntegerField(
                        default=0, help_text="The study's results_version that it covers, once it is made."
                    ),
                ),
                (
                    "judgments",
                    models.PositiveIntegerField(
                        default=0, help_text="Items judged, of a judging study, when its labels were read."
                    ),
                ),
                (
                    "quotes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(),
                        blank=True,
                        default=list,
                        help_text="Keys of the studies of which it has texts or answers, its own among them.",
                        size=None,
                    ),
                ),
                (
                    "by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="bundles",
                        to="studies.study",
                    ),
                ),
            ],
            options={
                "ordering": ("-pk",),
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("made_at", None), ("reason", "")),
                        fields=("study",),
                        name="one_bundle_at_work_per_study",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("made_at", None), ("reason", ""), _connector="OR"),
                        name="bundle_made_or_failed",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="LastExport",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField()),
                (
                    "results_version",
                    models.PositiveBigIntegerField(help_text="The study's, when they were read."),
                ),
                (
                    "judgments",
                    models.PositiveIntegerField(help_text="Items judged until then, of a judging study."),
                ),
                (
                    "study",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="last_export",
                        to="studies.study",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="BundlePart",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("content", models.BinaryField()),
                (
                    "bundle",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="parts",
                        to="studies.bundle",
                    ),
                ),
            ],
            options={
                "ordering": ("number",),
                "constraints": [
                    models.UniqueConstraint(fields=("bundle", "number"), name="bundle_part_once")
                ],
            },
        ),
    ]
