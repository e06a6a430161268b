from django.db import migrations

RECORD = """
CREATE FUNCTION labels_record_label(
    the_dialogue bigint, seat integer, place integer, the_rater bigint, the_set text, given jsonb,
    OUT turns integer, OUT bot_turns integer, OUT unlabelled integer[]
) LANGUAGE plpgsql AS $$
DECLARE
    labelled bigint;
BEGIN
    UPDATE dialogues_dialogue AS d
       SET unlabelled = array_remove(d.unlabelled, place::smallint)
      FROM dialogues_turn AS t
     WHERE d.id = the_dialogue
       AND d.ended_at IS NULL
       AND t.dialogue_id = d.id
       AND t.position = place
       AND t.position >= d.opening_turns
       AND t.position % 2 <> seat
 RETURNING d.turns, d.bot_turns, d.unlabelled, t.id INTO turns, bot_turns, unlabelled, labelled;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    INSERT INTO labels_label AS l (turn_id, rater_id, question_set, answers, created_at, changed_at, changes)
    VALUES (labelled, the_rater, the_set, given, clock_timestamp(), clock_timestamp(), 0)
    ON CONFLICT ON CONSTRAINT label_once_per_rater DO UPDATE
       SET answers = EXCLUDED.answers, changed_at = EXCLUDED.changed_at, changes = l.changes + 1
     WHERE l.answers <> EXCLUDED.answers;
END $$;
"""


class Migration(migrations.Migration):
    """The step that saves a label (see labels/services.py), as a function that a batch can call."""

    dependencies = [("labels", "0001_initial"), ("dialogues", "0004_exchange")]

    operations = [migrations.RunSQL(RECORD, "DROP FUNCTION labels_record_label")]
