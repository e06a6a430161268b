from django.db import migrations

from turnwise.live.sql import LoadSQL


class Migration(migrations.Migration):
    dependencies = [("crowd", "0001_initial"), ("labels", "0001_initial")]

    operations = [LoadSQL("labels", "record_label")]
