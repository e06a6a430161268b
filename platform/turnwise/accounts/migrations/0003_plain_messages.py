"""Loads the trigger with its new message."""

from django.db import migrations

from turnwise.live.sql import LoadSQL


class Migration(migrations.Migration):
    dependencies = [("accounts", "0002_refuse_truncate")]

    operations = [LoadSQL("accounts", "event_never_changes")]
