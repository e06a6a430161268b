from django.db import migrations

from turnwise.live.sql import LoadSQL


class Migration(migrations.Migration):
    dependencies = [("questions", "0001_initial")]

    operations = [LoadSQL("questions", "version_never_changes")]
