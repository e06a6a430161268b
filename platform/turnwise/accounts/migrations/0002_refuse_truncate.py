from django.db import migrations

from turnwise.live.sql import LoadSQL


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_initial")]

    operations = [LoadSQL("accounts", "event_never_changes")]
