from django.db import migrations

TAKE = """
CREATE FUNCTION dialogues_take_exchange(
    the_dialogue bigint, place integer, said text, said_key uuid,
    reply text, version bigint, latency integer, the_seed bigint, others jsonb,
    the_remarks jsonb,
    OUT at timestamptz, OUT turns integer, OUT bot_turns integer, OUT unlabelled integer[]
) LANGUAGE plpgsql AS $$
BEGIN
    UPDATE dialogues_dialogue AS d
       SET turns = d.turns + 2,
           bot_turns = d.bot_turns + 1,
           unlabelled = d.unlabelled || (place + 1)::smallint
     WHERE d.id = the_dialogue
       AND d.ended_at IS NULL
       AND d.turns = place
       AND d.turns - d.opening_turns + 2 <= d.max_turns
       AND (d.unlabelled = '{}' OR NOT d.label_each_turn)
 RETURNING d.turns, d.bot_turns, d.unlabelled INTO turns, bot_turns, unlabelled;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    at := clock_timestamp();
    INSERT INTO dialogues_turn
           (dialogue_id, position, text, created_at, key, bot_version_id, latency_ms, seed, candidates, remarks)
    VALUES (the_dialogue, place, said, at, said_key, NULL, NULL, NULL, NULL, NULL),
           (the_dialogue, place + 1, reply, at, NULL, version, latency, the_seed, others, the_remarks);
END $$;
"""


class Migration(migrations.Migration):
    """Both steps of an exchange as one, for a reply that is there before the message is saved."""

    dependencies = [("dialogues", "0005_remarks")]

    operations = [migrations.RunSQL(TAKE, "DROP FUNCTION dialogues_take_exchange")]
