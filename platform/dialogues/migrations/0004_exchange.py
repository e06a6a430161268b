from django.db import migrations

OPEN = """
CREATE FUNCTION dialogues_open_exchange(
    the_dialogue bigint, seat integer, said text, said_key uuid,
    OUT at timestamptz, OUT turns integer, OUT bot_turns integer, OUT unlabelled integer[], OUT earlier text[]
) LANGUAGE plpgsql AS $$
BEGIN
    UPDATE dialogues_dialogue AS d
       SET turns = d.turns + 1
     WHERE d.id = the_dialogue
       AND d.ended_at IS NULL
       AND d.turns % 2 = seat
       AND d.turns - d.opening_turns + 2 <= d.max_turns
       AND (d.unlabelled = '{}' OR NOT d.label_each_turn)
       AND NOT EXISTS (SELECT FROM dialogues_turn AS t WHERE t.dialogue_id = the_dialogue AND t.key = said_key)
 RETURNING d.turns, d.bot_turns, d.unlabelled INTO turns, bot_turns, unlabelled;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    at := clock_timestamp();
    earlier := ARRAY(SELECT t.text FROM dialogues_turn AS t WHERE t.dialogue_id = the_dialogue ORDER BY t.position);
    INSERT INTO dialogues_turn (dialogue_id, position, text, key, created_at)
    VALUES (the_dialogue, turns - 1, said, said_key, at);
END $$;
"""

CLOSE = """
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
    """The two steps of an exchange (see dialogues/services.py), as functions that a batch can call."""

    dependencies = [("dialogues", "0003_imported_and_relayed")]

    operations = [
        migrations.RunSQL(OPEN, "DROP FUNCTION dialogues_open_exchange"),
        migrations.RunSQL(CLOSE, "DROP FUNCTION dialogues_close_exchange"),
    ]
