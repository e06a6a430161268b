from django.db import migrations

from turnwise.live.sql import LoadSQL


class Migration(migrations.Migration):
    dependencies = [("dialogues", "0011_turns_stay")]

    operations = [LoadSQL("dialogues", "turn_only_by_choice")]
