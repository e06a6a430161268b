from django.db import migrations

from turnwise.live.sql import LoadSQL


class Migration(migrations.Migration):
    dependencies = [("labels", "0007_labels_stay")]

    operations = [LoadSQL("labels", "label_only_revised")]
