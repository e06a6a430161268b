from django.contrib import admin

from acceptance.models import Decision, Limits

admin.site.register(Decision)
admin.site.register(Limits)
