from django.contrib import admin

from turnwise.accounts.admin import NeverDeleted, ViewOnly
from turnwise.knowledge.models import Article, BaseVersion, Entity, KnowledgeBase


@admin.register(KnowledgeBase)
class KnowledgeBaseAdmin(NeverDeleted, admin.ModelAdmin[KnowledgeBase]):
    list_display = ("title", "name", "owner", "open_to_all", "licence")
    filter_horizontal = ("shared_with",)


@admin.register(BaseVersion)
class BaseVersionAdmin(ViewOnly, admin.ModelAdmin[BaseVersion]):
    list_display = ("base", "number", "entity_count", "article_count", "created_at")


@admin.register(Entity)
class EntityAdmin(ViewOnly, admin.ModelAdmin[Entity]):
    list_display = ("name", "topic", "version")
    search_fields = ("name",)


@admin.register(Article)
class ArticleAdmin(ViewOnly, admin.ModelAdmin[Article]):
    list_display = ("headline", "version")
    search_fields = ("headline",)
