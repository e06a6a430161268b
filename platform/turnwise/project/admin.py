"""Django admin of what pages and jobs store: every row can be viewed, almost none changed.

Apps whose rows need more than a list have an `admin` module of their own.
"""

from typing import Any

from django.contrib import admin
from django.contrib.admin import site

from turnwise.acceptance.models import Decision, Limits
from turnwise.accounts.admin import NeverDeleted, ViewOnly
from turnwise.audits.models import Audit, AuditedReply
from turnwise.bots.models import BotBudget, BotPrice, BotUsage
from turnwise.contexts.models import Context, ContextSet, ContextSetVersion
from turnwise.experts.models import Adjudication
from turnwise.judges.models import DriftCheck, Judge, JudgeRun, MachineLabel, RepeatedAnswer
from turnwise.knowledge.models import Article, BaseVersion, Entity, KnowledgeBase
from turnwise.labels.models import Label, Pair
from turnwise.languages.models import Language, Revision, Translation
from turnwise.questions.models import OwnSet, SetVersion
from turnwise.rehearsals.models import Attempt, Rehearsal
from turnwise.reports.models import Chart, MeasuredTalk, Report
from turnwise.trash.models import Deletion
from turnwise.webhooks.models import Delivery, Sighting, Webhook


class ViewOnlyAdmin(ViewOnly, admin.ModelAdmin[Any]):
    """Rows that only services write."""


class NeverDeletedAdmin(NeverDeleted, admin.ModelAdmin[Any]):
    """Rows that studies may refer to: an administrator may change, but not delete them."""


site.register(
    BotPrice,
    ViewOnlyAdmin,
    list_display=("bot", "valid_from", "currency", "prompt", "cached", "completion"),
)
site.register(BotBudget, ViewOnlyAdmin, list_display=("bot", "amount", "currency", "reached_in"))
site.register(
    BotUsage,
    ViewOnlyAdmin,
    list_display=("bot", "day", "replies", "unknown", "prompt", "cached", "completion"),
)

site.register(Adjudication, ViewOnlyAdmin, list_display=("item", "number", "by", "invitation", "at"))

# Versioned sets
site.register(ContextSet, NeverDeletedAdmin, list_display=("title", "name", "owner", "licence"))
site.register(ContextSetVersion, ViewOnlyAdmin, list_display=("context_set", "number", "size", "created_at"))
site.register(
    Context, ViewOnlyAdmin, list_display=("key", "version", "category", "language"), search_fields=("key",)
)
site.register(
    KnowledgeBase,
    NeverDeletedAdmin,
    list_display=("title", "name", "owner", "open_to_all", "licence"),
    filter_horizontal=("shared_with",),
)
site.register(
    BaseVersion,
    ViewOnlyAdmin,
    list_display=("base", "number", "entity_count", "article_count", "created_at"),
)
site.register(Entity, ViewOnlyAdmin, list_display=("name", "topic", "version"), search_fields=("name",))
site.register(Article, ViewOnlyAdmin, list_display=("headline", "version"), search_fields=("headline",))
site.register(OwnSet, ViewOnlyAdmin, list_display=("name", "owner", "shared", "created_at"))
site.register(SetVersion, ViewOnlyAdmin, list_display=("key", "own_set", "made_by", "created_at"))

# Labels, and decisions about conversations
site.register(
    Label,
    ViewOnlyAdmin,
    list_display=("__str__", "rater", "question_set", "answers", "changed_at"),
    list_filter=("question_set",),
)
site.register(Pair, ViewOnlyAdmin, list_display=("__str__",))
site.register(Decision, ViewOnlyAdmin, list_display=("dialogue", "state", "by", "at"), list_filter=("state",))
site.register(Limits, ViewOnlyAdmin, list_display=("study",))

# Results of jobs
site.register(
    Audit,
    ViewOnlyAdmin,
    list_display=("bot", "version", "state", "started_by", "created_at"),
    list_filter=("state",),
    list_select_related=("bot", "version", "started_by"),
)
site.register(
    AuditedReply,
    ViewOnlyAdmin,
    list_display=("audit", "question", "turn", "category", "text"),
    list_filter=("category",),
    list_select_related=("audit__bot",),
)
site.register(
    Judge,
    ViewOnlyAdmin,
    list_display=("shown_title", "source", "question_set", "draws", "owner", "created_at"),
    list_select_related=("bot", "owner"),
)
site.register(
    JudgeRun,
    ViewOnlyAdmin,
    list_display=("judge", "study", "state", "started_by", "created_at"),
    list_filter=("state",),
    list_select_related=("judge__bot", "study", "started_by"),
)
site.register(
    DriftCheck,
    ViewOnlyAdmin,
    list_display=("run", "at", "verdict", "agreement"),
    list_filter=("verdict",),
    list_select_related=("run",),
)
site.register(
    RepeatedAnswer,
    ViewOnlyAdmin,
    list_display=("drift_check", "item", "outcome", "answers"),
    list_filter=("outcome",),
    list_select_related=("drift_check", "item"),
)
site.register(
    MachineLabel,
    ViewOnlyAdmin,
    list_display=("run", "item", "draw", "outcome", "answers", "at"),
    list_filter=("outcome",),
    list_select_related=("run__judge__bot", "item"),
)
site.register(
    Report,
    ViewOnlyAdmin,
    list_display=("study", "state", "requested_at", "finished_at"),
    list_filter=("state", "study"),
)
site.register(Chart, ViewOnlyAdmin, list_display=("name", "report"))
site.register(MeasuredTalk, ViewOnlyAdmin, list_display=("dialogue", "by"))
site.register(Rehearsal, ViewOnlyAdmin, list_display=("study", "verdict", "finished_at"))
site.register(Attempt, ViewOnlyAdmin, list_display=("study", "state", "said", "started_at"))

# Deletions are undone on the page *Deleted*.
site.register(Deletion, ViewOnlyAdmin, list_display=("what", "study", "by", "at"), exclude=("content",))

# Languages are translated on the page *Languages*.
site.register(
    Language,
    ViewOnlyAdmin,
    list_display=("code", "name", "active", "created_by"),
    list_select_related=("created_by",),
)
site.register(
    Revision,
    ViewOnlyAdmin,
    list_display=("pk", "language", "origin", "changed", "author", "saved_at"),
    list_filter=("origin",),
    list_select_related=("language", "author"),
)
site.register(
    Translation, ViewOnlyAdmin, list_display=("english", "revision"), list_select_related=("revision",)
)

# Webhooks; their secrets are shown to the owner only
site.register(
    Webhook,
    ViewOnlyAdmin,
    list_display=("address", "owner", "study", "events", "active", "created_at"),
    list_select_related=("owner", "study"),
)
site.register(
    Delivery,
    ViewOnlyAdmin,
    list_display=("event", "webhook", "state", "attempts", "status", "created_at"),
    list_filter=("state", "event"),
    list_select_related=("webhook",),
)
site.register(Sighting, ViewOnlyAdmin, list_display=("kind", "subject", "seen_at"))
