from django.contrib import admin

from studies.models import ConsentVersion, Study, StudyBot


class StudyBotInline(admin.TabularInline[StudyBot, Study]):
    model = StudyBot
    extra = 0


@admin.register(Study)
class StudyAdmin(admin.ModelAdmin[Study]):
    list_display = ("title", "owner", "state", "created_at")
    list_filter = ("state",)
    inlines = (StudyBotInline,)


admin.site.register(StudyBot)


@admin.register(ConsentVersion)
class ConsentVersionAdmin(admin.ModelAdmin[ConsentVersion]):
    list_display = ("study", "number", "created_at")
