from django.db import migrations

from turnwise.live.sql import LoadSQL


class Migration(migrations.Migration):
    dependencies = [("quality", "0001_initial")]

    operations = [LoadSQL("quality", "decisions_never_change")]
