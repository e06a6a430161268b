from django.contrib import admin

from turnwise.accounts.admin import ViewOnly
from turnwise.rehearsals.models import Attempt, Rehearsal


@admin.register(Rehearsal)
class RehearsalAdmin(ViewOnly, admin.ModelAdmin[Rehearsal]):
    list_display = ("study", "verdict", "finished_at")
    raw_id_fields = ("study",)


@admin.register(Attempt)
class AttemptAdmin(ViewOnly, admin.ModelAdmin[Attempt]):
    list_display = ("study", "state", "said", "started_at")
    raw_id_fields = ("study",)
