from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("labels", "0002_answers_see_withdrawals"),
    ]

    operations = [
        migrations.AlterField(
            model_name="label",
            name="party",
            field=models.CharField(
                choices=[
                    (
                        "chatter",
                        "Talked with a bot, or judges their own words or the whole of their conversation",
                    ),
                    ("partner", "Talked with the person whose words they judge"),
                    ("reader", "Reads what others said"),
                    ("outside", "Judged it elsewhere; came with a file"),
                    ("themselves", "Says something of themselves"),
                ],
                help_text="Position from which the rater labels.",
                max_length=10,
            ),
        ),
    ]
