from django.db import migrations, models

CLOSE = """
DROP FUNCTION dialogues_close_exchange(bigint, integer, text, bigint, integer, bigint, jsonb);
CREATE FUNCTION dialogues_close_exchange(
    the_dialogue bigint, place integer, said text, version bigint, latency integer, the_seed bigint, others jsonb,
    the_remarks jsonb DEFAULT NULL,
    OUT at timestamptz, OUT turns integer, OUT bot_turns integer, OUT unlabelled integer[]
) LANGUAGE plpgsql AS $$
BEGIN
    UPDATE dialogues_dialogue AS d
       SET turns = d.turns + 1,
           bot_turns = d.bot_turns + 1,
           unlabelled = d.unlabelled || place::smallint
     WHERE d.id = the_dialogue AND d.ended_at IS NULL AND d.turns = place
 RETURNING d.turns, d.bot_turns, d.unlabelled INTO turns, bot_turns, unlabelled;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    at := clock_timestamp();
    INSERT INTO dialogues_turn
           (dialogue_id, position, text, created_at, bot_version_id, latency_ms, seed, candidates, remarks)
    VALUES (the_dialogue, place, said, at, version, latency, the_seed, others, the_remarks);
END $$;
"""

WITHOUT = """
DROP FUNCTION dialogues_close_exchange(bigint, integer, text, bigint, integer, bigint, jsonb, jsonb);
CREATE FUNCTION dialogues_close_exchange(
    the_dialogue bigint, place integer, said text, version bigint, latency integer, the_seed bigint, others jsonb,
    OUT at timestamptz, OUT turns integer, OUT bot_turns integer, OUT unlabelled integer[]
) LANGUAGE plpgsql AS $$
BEGIN
    UPDATE dialogues_dialogue AS d
       SET turns = d.turns + 1,
           bot_turns = d.bot_turns + 1,
           unlabelled = d.unlabelled || place::smallint
     WHERE d.id = the_dialogue AND d.ended_at IS NULL AND d.turns = place
 RETURNING d.turns, d.bot_turns, d.unlabelled INTO turns, bot_turns, unlabelled;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    at := clock_timestamp();
    INSERT INTO dialogues_turn
           (dialogue_id, position, text, created_at, bot_version_id, latency_ms, seed, candidates)
    VALUES (the_dialogue, place, said, at, version, latency, the_seed, others);
END $$;
"""


class Migration(migrations.Migration):
    """What filters did to a reply is stored with it, by the step that stores the reply."""

    dependencies = [("dialogues", "0004_exchange")]

    operations = [
        migrations.AddField(
            model_name="turn",
            name="remarks",
            field=models.JSONField(
                blank=True,
                help_text="Of its filters or service: {texts: […], fallback: whether a prepared sentence was said}.",
                null=True,
            ),
        ),
        migrations.AddIndex(
            model_name="turn",
            index=models.Index(
                condition=models.Q(remarks__isnull=False), fields=["dialogue"], name="turn_with_remarks"
            ),
        ),
        migrations.RunSQL(CLOSE, WITHOUT),
    ]
