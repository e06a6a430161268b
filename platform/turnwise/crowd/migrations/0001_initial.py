import datetime

import django.contrib.postgres.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import turnwise.crowd.models
from turnwise.live.sql import LoadSQL


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("studies", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="StudyPanel",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("panel", models.CharField(help_text="Key of a panel: crowd/panels.", max_length=20)),
                (
                    "parameter",
                    models.CharField(
                        blank=True,
                        help_text="Of the link, with the worker's id. Letters, digits, _ and -.",
                        max_length=30,
                    ),
                ),
                (
                    "secret",
                    models.CharField(
                        blank=True,
                        help_text="Shared with the panel, which signs its links with it. Empty: links are not signed.",
                        max_length=100,
                    ),
                ),
                (
                    "return_url",
                    models.CharField(
                        blank=True,
                        help_text="Where people go at the end. {id}, {session}, {outcome} and {code} are filled in. Empty: they are shown a code to copy.",
                        max_length=500,
                    ),
                ),
                (
                    "codes",
                    models.JSONField(
                        blank=True, default=dict, help_text="By outcome: the code that the panel expects."
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="panels", to="studies.study"
                    ),
                ),
                (
                    "their_study",
                    models.CharField(
                        blank=True, help_text="The panel's own id of the study.", max_length=120
                    ),
                ),
                (
                    "token",
                    models.CharField(
                        blank=True,
                        help_text="Name of the environment variable that holds the token for the panel's API: never the token itself. Empty: the API is not used.",
                        max_length=60,
                    ),
                ),
            ],
            options={
                "ordering": ("study", "pk"),
                "constraints": [
                    models.UniqueConstraint(fields=("study", "panel"), name="panel_once_per_study")
                ],
            },
        ),
        migrations.CreateModel(
            name="Worker",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "pseudonym",
                    models.CharField(
                        default=turnwise.crowd.models.pseudonym, editable=False, max_length=20, unique=True
                    ),
                ),
                (
                    "panel",
                    models.CharField(
                        blank=True,
                        help_text="By which panel the worker is known; empty without one.",
                        max_length=40,
                    ),
                ),
                ("panel_id", models.CharField(blank=True, max_length=120)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("panel_id", ""), _negated=True),
                        fields=("panel_id", "panel"),
                        name="worker_once_per_panel_id",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Practice",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("question_set", models.CharField(max_length=60)),
                ("passed_at", models.DateTimeField()),
                (
                    "worker",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="practices",
                        to="crowd.worker",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("worker", "question_set"), name="practice_once_per_question_set"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Participation",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("consented_at", models.DateTimeField(auto_now_add=True)),
                (
                    "number",
                    models.PositiveSmallIntegerField(
                        default=1,
                        editable=False,
                        help_text="Which time it is that they take part in this study, from 1.",
                    ),
                ),
                (
                    "pseudonym",
                    models.CharField(
                        default=turnwise.crowd.models.pseudonym,
                        editable=False,
                        help_text="What they are called outside the platform, in this study alone, however often they take part.",
                        max_length=20,
                    ),
                ),
                (
                    "resume_code",
                    models.CharField(
                        default=turnwise.crowd.models.resume_code, editable=False, max_length=20, unique=True
                    ),
                ),
                (
                    "completion_code",
                    models.CharField(
                        default=turnwise.crowd.models.completion_code,
                        editable=False,
                        max_length=20,
                        unique=True,
                    ),
                ),
                (
                    "submission",
                    models.CharField(
                        blank=True,
                        editable=False,
                        help_text="What the panel pays: Prolific's SESSION_ID, MTurk's assignmentId.",
                        max_length=120,
                    ),
                ),
                (
                    "way_back",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        editable=False,
                        help_text="What else the panel said that it is to hear again.",
                    ),
                ),
                (
                    "address",
                    models.CharField(
                        blank=True,
                        editable=False,
                        help_text="Keyed hash of the network address from which they agreed, another in every study: it tells who came from the same one. Whoever holds the key can test an address. Empty: not known.",
                        max_length=32,
                    ),
                ),
                (
                    "signs",
                    models.TextField(
                        blank=True,
                        editable=False,
                        help_text="Of carelessness or fraud, as the newest report found them; for people to judge.",
                    ),
                ),
                (
                    "proposed_reason",
                    models.TextField(
                        blank=True,
                        editable=False,
                        help_text="Why the study's declared rules propose to exclude them, as the newest report found; a person decides.",
                    ),
                ),
                (
                    "pilot",
                    models.BooleanField(
                        default=False,
                        editable=False,
                        help_text="They are one of the first people, who try the study out.",
                    ),
                ),
                (
                    "known_by",
                    models.CharField(
                        blank=True,
                        editable=False,
                        help_text="Once their panel id is erased: a keyed hash of it, so that nobody takes part twice.",
                        max_length=32,
                    ),
                ),
                (
                    "erased_at",
                    models.DateTimeField(
                        blank=True,
                        editable=False,
                        help_text="When panel id, submission and address were erased.",
                        null=True,
                    ),
                ),
                (
                    "excluded_reason",
                    models.CharField(
                        blank=True,
                        help_text="Why the worker is excluded from one of the report's two analyses. Empty: they are not.",
                        max_length=500,
                    ),
                ),
                ("excluded_at", models.DateTimeField(blank=True, null=True)),
                (
                    "consent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, to="studies.consentversion"
                    ),
                ),
                (
                    "excluded_by",
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
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="participations",
                        to="studies.study",
                    ),
                ),
                (
                    "entered_by",
                    models.ForeignKey(
                        blank=True,
                        editable=False,
                        help_text="Panel from which they came; empty: by the plain link.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="participations",
                        to="crowd.studypanel",
                    ),
                ),
                (
                    "worker",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="participations",
                        to="crowd.worker",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["study", "consented_at", "id"], name="participation_of_study"),
                    models.Index(
                        condition=models.Q(("pilot", True)),
                        fields=["study"],
                        name="participation_in_pilot",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("worker", "study", "number"), name="worker_once_per_number"
                    ),
                    models.UniqueConstraint(fields=("id", "study"), name="participation_of_its_study"),
                    models.UniqueConstraint(fields=("pseudonym", "number"), name="pseudonym_once_per_number"),
                    models.UniqueConstraint(
                        condition=models.Q(("submission", ""), _negated=True),
                        fields=("entered_by", "submission"),
                        name="submission_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("excluded_at", None), ("excluded_reason", "")),
                            models.Q(
                                ("excluded_at__isnull", False),
                                models.Q(("excluded_reason", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="excluded_for_a_reason",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Invitation",
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
                        help_text="Whom the researcher invited: an e-mail address, a name.", max_length=254
                    ),
                ),
                (
                    "token",
                    models.CharField(
                        default=turnwise.crowd.models.invitation_token,
                        editable=False,
                        max_length=30,
                        unique=True,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="invitations",
                        to="studies.study",
                    ),
                ),
            ],
            options={
                "ordering": ("study", "pk"),
                "constraints": [models.UniqueConstraint(fields=("study", "name"), name="invited_once")],
            },
        ),
        migrations.CreateModel(
            name="Assignment",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("assigned_at", models.DateTimeField()),
                (
                    "active_at",
                    models.DateTimeField(help_text="When the worker was last seen at work, to the minute."),
                ),
                (
                    "held_until",
                    models.DateTimeField(
                        blank=True,
                        help_text="Until when the place is held though nothing was sent yet, since the page is open.",
                        null=True,
                    ),
                ),
                (
                    "outcome",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("complete", "Complete"),
                            ("screened_out", "Screened out"),
                            ("study_full", "No places left"),
                            ("bot_failed", "Ended because the bot could not answer"),
                            ("timed_out", "Ran out of time"),
                            ("withdrawn", "Left the study"),
                            ("partner_left", "Partner left"),
                            ("no_partner", "No partner came"),
                        ],
                        max_length=20,
                    ),
                ),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                (
                    "study_bot",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="assignments",
                        to="studies.studybot",
                    ),
                ),
                (
                    "number",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="The bot's places are counted as they are given, so that the last one says how many.",
                        null=True,
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        db_index=False,
                        help_text="That of the participation, so that a large study is counted by an index.",
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="assignments",
                        to="studies.study",
                    ),
                ),
                (
                    "participation",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="assignment",
                        to="crowd.participation",
                    ),
                ),
                (
                    "due_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="When the time for the whole is over. Empty: there is no limit.",
                        null=True,
                    ),
                ),
                (
                    "extensions",
                    models.PositiveSmallIntegerField(
                        default=0, help_text="How often the worker asked for more time."
                    ),
                ),
                (
                    "step_due_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="When the time for the present message is over. Empty: nobody waits for one.",
                        null=True,
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        fields=["study", "outcome", "study_bot"],
                        include=("participation",),
                        name="assignment_pool",
                    ),
                    models.Index(
                        condition=models.Q(
                            ("outcome", ""),
                            models.Q(
                                ("due_at__isnull", False), ("step_due_at__isnull", False), _connector="OR"
                            ),
                        ),
                        fields=["due_at", "step_due_at"],
                        name="assignment_limited",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("study_bot", "number"), name="assignment_numbered_once"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("ended_at", None), ("outcome", "")),
                            models.Q(models.Q(("outcome", ""), _negated=True), ("ended_at__isnull", False)),
                            _connector="OR",
                        ),
                        name="assignment_ended_with_outcome",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Waiting",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "tab",
                    models.UUIDField(
                        blank=True,
                        help_text="The browser tab in which they wait: the newest one. Empty: none.",
                        null=True,
                    ),
                ),
                (
                    "seen_at",
                    models.DateTimeField(help_text="When that tab last said that somebody is there."),
                ),
                (
                    "waited",
                    models.DurationField(default=datetime.timedelta, help_text="While somebody was there."),
                ),
                ("meeting", models.UUIDField(blank=True, null=True)),
                (
                    "asked_at",
                    models.DateTimeField(blank=True, help_text="Since when the meeting is tried.", null=True),
                ),
                (
                    "answered",
                    models.BooleanField(
                        default=False, help_text="Whether this side has said that it is there."
                    ),
                ),
                ("over_at", models.DateTimeField(blank=True, null=True)),
                (
                    "assignment",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="waiting",
                        to="crowd.assignment",
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="waiting",
                        to="studies.study",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "waiting",
                "indexes": [
                    models.Index(
                        condition=models.Q(("over_at", None)), fields=["study", "id"], name="waiting_in_study"
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("answered", False), ("asked_at", None), ("meeting", None)),
                            models.Q(
                                ("asked_at__isnull", False),
                                ("meeting__isnull", False),
                                ("over_at", None),
                                ("tab__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="waiting_meets_while_asked",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="PayEntry",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("participation", models.BigIntegerField(help_text="Its key.")),
                ("worker", models.CharField(help_text="Pseudonym.", max_length=20)),
                (
                    "reason",
                    models.CharField(
                        choices=[
                            ("promised", "Promised"),
                            ("earned", "Earned"),
                            ("partly", "Partly earned"),
                            ("bonus", "Bonus"),
                            ("paid", "Paid"),
                            ("reversed", "Reversed"),
                        ],
                        max_length=10,
                    ),
                ),
                ("amount", models.DecimalField(decimal_places=2, max_digits=10)),
                ("currency", models.CharField(max_length=3)),
                ("note", models.CharField(blank=True, max_length=200)),
                (
                    "by",
                    models.CharField(
                        blank=True, help_text="Who entered it; empty: the platform.", max_length=150
                    ),
                ),
                ("at", models.DateTimeField(auto_now_add=True)),
                (
                    "study",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="pay_entries",
                        to="studies.study",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "pay entries",
                "ordering": ("study", "pk"),
                "constraints": [
                    models.UniqueConstraint(fields=("participation", "reason"), name="pay_once_per_reason"),
                    models.CheckConstraint(condition=models.Q(("amount__gt", 0)), name="pay_above_zero"),
                ],
                "indexes": [
                    models.Index(
                        fields=["study", "participation"], include=("reason", "amount"), name="pay_of_study"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Withdrawal",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField()),
                (
                    "conversations",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(),
                        blank=True,
                        default=list,
                        help_text="Those that went with them.",
                        size=None,
                    ),
                ),
                (
                    "texts",
                    models.PositiveIntegerField(default=0, help_text="Messages and responses removed."),
                ),
                ("labels", models.PositiveIntegerField(default=0, help_text="Of theirs, removed.")),
                (
                    "by",
                    models.ForeignKey(
                        blank=True,
                        help_text="Who of the team did it at their request; empty: they themselves.",
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "participation",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="withdrawal",
                        to="crowd.participation",
                    ),
                ),
            ],
            options={"ordering": ("-at",)},
        ),
        migrations.CreateModel(
            name="TextReview",
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
                    models.PositiveBigIntegerField(help_text="Of the study, of which it saw all results."),
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
                        related_name="text_reviews",
                        to="studies.study",
                    ),
                ),
            ],
            options={"ordering": ("study", "-pk")},
        ),
        migrations.CreateModel(
            name="Redaction",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("text", models.CharField(max_length=300)),
                (
                    "kind",
                    models.CharField(help_text="Name of an evaluation.personal_data.Kind.", max_length=10),
                ),
                ("at", models.DateTimeField()),
                ("undone_at", models.DateTimeField(blank=True, null=True)),
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
                        related_name="redactions",
                        to="studies.study",
                    ),
                ),
                (
                    "undone_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ("study", "pk"),
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("undone_at", None)),
                        fields=("study", "text"),
                        name="redacted_once_per_study",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("text", ""), _negated=True), name="redaction_is_of_something"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Notice",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("text", models.CharField(max_length=300)),
                ("at", models.DateTimeField()),
                ("by", models.CharField(blank=True, max_length=150)),
                (
                    "ended_at",
                    models.DateTimeField(
                        blank=True, help_text="When another replaced it, or none.", null=True
                    ),
                ),
            ],
            options={
                "ordering": ("study", "-pk"),
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("text", ""), _negated=True), name="notice_says_something"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Pause",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("began_at", models.DateTimeField()),
                ("began_by", models.CharField(blank=True, max_length=150)),
                (
                    "holds",
                    models.BooleanField(
                        default=False, help_text="Whether those who had begun were held, too."
                    ),
                ),
                (
                    "turned_away",
                    models.PositiveIntegerField(default=0, help_text="Visits of people who had not begun."),
                ),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                ("ended_by", models.CharField(blank=True, max_length=150)),
            ],
            options={
                "ordering": ("study", "-pk"),
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("ended_at", None), ("ended_at__gte", models.F("began_at")), _connector="OR"
                        ),
                        name="pause_ends_after_it_began",
                    )
                ],
            },
        ),
        migrations.AddField(
            model_name="notice",
            name="study",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="notices",
                to="studies.study",
            ),
        ),
        migrations.AddField(
            model_name="pause",
            name="study",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="pauses",
                to="studies.study",
            ),
        ),
        migrations.AddIndex(
            model_name="notice",
            index=models.Index(fields=["study", "-id"], name="notices_of_study"),
        ),
        migrations.AddConstraint(
            model_name="notice",
            constraint=models.UniqueConstraint(
                condition=models.Q(("ended_at", None)), fields=("study",), name="one_notice_at_a_time"
            ),
        ),
        migrations.AddIndex(
            model_name="pause",
            index=models.Index(fields=["study", "-id"], name="pauses_of_study"),
        ),
        migrations.AddConstraint(
            model_name="pause",
            constraint=models.UniqueConstraint(
                condition=models.Q(("ended_at", None)), fields=("study",), name="paused_once_at_a_time"
            ),
        ),
        migrations.CreateModel(
            name="PanelAct",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("approve", "Approve"),
                            ("reject", "Reject"),
                            ("bonus", "Bonus"),
                            ("message", "Message"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "text",
                    models.CharField(blank=True, help_text="The reason, or the message.", max_length=2000),
                ),
                (
                    "category",
                    models.CharField(
                        blank=True, help_text="Of a rejection, as the panel has it.", max_length=30
                    ),
                ),
                ("amount", models.DecimalField(blank=True, decimal_places=2, max_digits=10, null=True)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting to be sent"),
                            ("sending", "Being sent"),
                            ("done", "Done at the panel"),
                            ("failed", "Refused by the panel"),
                            ("unsure", "Not known whether it was carried out"),
                        ],
                        default="waiting",
                        max_length=10,
                    ),
                ),
                (
                    "their_key",
                    models.CharField(
                        blank=True, help_text="Of a bonus: what the panel calls it.", max_length=100
                    ),
                ),
                ("tries", models.PositiveSmallIntegerField(default=0)),
                ("next_at", models.DateTimeField(help_text="Not tried before.")),
                ("problem", models.CharField(blank=True, max_length=1000)),
                ("by", models.CharField(blank=True, max_length=150)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("done_at", models.DateTimeField(blank=True, null=True)),
                (
                    "participation",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="panel_acts",
                        to="crowd.participation",
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="panel_acts",
                        to="studies.study",
                    ),
                ),
            ],
            options={
                "ordering": ("study", "-pk"),
                "indexes": [
                    models.Index(fields=["study", "-id"], name="panel_acts_of_study"),
                    models.Index(
                        condition=models.Q(("state__in", ("waiting", "sending"))),
                        fields=["next_at"],
                        name="panel_acts_to_do",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("kind", "message"), _negated=True),
                        fields=("participation", "kind"),
                        name="panel_act_once_per_kind",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("kind", "bonus"), _negated=True), ("amount__gt", 0), _connector="OR"
                        ),
                        name="panel_bonus_above_zero",
                    ),
                ],
            },
        ),
        LoadSQL(
            "crowd",
            "ledger_never_changes",
            "pseudonym",
            "is_at_work",
            "begun",
            "has_begun",
            "begin",
            "begin_with_room",
        ),
        migrations.CreateModel(
            name="VisitCount",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "saw",
                    models.CharField(help_text="“admitted”, or why they could not take part.", max_length=40),
                ),
                ("visits", models.PositiveIntegerField(default=0)),
                (
                    "study",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="visit_counts",
                        to="studies.study",
                    ),
                ),
            ],
            options={
                "ordering": ("study", "saw"),
                "constraints": [models.UniqueConstraint(fields=("study", "saw"), name="visits_counted_once")],
            },
        ),
        migrations.RunSQL(
            "ALTER TABLE crowd_assignment ADD CONSTRAINT assignment_of_its_study"
            " FOREIGN KEY (participation_id, study_id) REFERENCES crowd_participation (id, study_id)"
            " DEFERRABLE INITIALLY DEFERRED",
            "ALTER TABLE crowd_assignment DROP CONSTRAINT assignment_of_its_study",
        ),
    ]
