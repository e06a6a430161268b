from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("judging", "0002_judgments_see_withdrawals"),
    ]

    operations = [
        migrations.AlterField(
            model_name="slot",
            name="is_swapped",
            field=models.BooleanField(
                default=False, help_text="Of a pair: whether the rater sees its second side first here."
            ),
        ),
        migrations.AlterField(
            model_name="slot",
            name="occasion",
            field=models.PositiveSmallIntegerField(
                default=1, help_text="2 if the rater of this slot judges the item for the second time."
            ),
        ),
    ]
