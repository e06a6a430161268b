from django.contrib import admin

from turnwise.accounts.admin import ViewOnly
from turnwise.questions.models import OwnSet, SetVersion


@admin.register(OwnSet)
class QuestionSetAdmin(ViewOnly, admin.ModelAdmin[OwnSet]):
    list_display = ("name", "owner", "shared", "created_at")


@admin.register(SetVersion)
class SetVersionAdmin(ViewOnly, admin.ModelAdmin[SetVersion]):
    list_display = ("key", "own_set", "made_by", "created_at")
