from django.db import migrations

from turnwise.live.sql import LoadSQL


class Migration(migrations.Migration):
    dependencies = [("labels", "0004_labels_name_the_reply"), ("dialogues", "0005_reply_versions")]

    operations = [
        # Its result has changed, so it cannot be replaced.
        migrations.RunSQL("DROP FUNCTION IF EXISTS labels_record_label", migrations.RunSQL.noop),
        LoadSQL("labels", "record_label"),
    ]
