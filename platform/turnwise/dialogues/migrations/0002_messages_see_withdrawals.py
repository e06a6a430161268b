from django.db import migrations

from turnwise.live.sql import LoadSQL


class Migration(migrations.Migration):
    dependencies = [("crowd", "0001_initial"), ("dialogues", "0001_initial")]

    operations = [LoadSQL("dialogues", "say")]
