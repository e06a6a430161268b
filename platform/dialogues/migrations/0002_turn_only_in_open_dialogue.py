from django.db import migrations

CREATE = """
CREATE FUNCTION dialogues_turn_only_in_open_dialogue() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM dialogues_dialogue WHERE id = NEW.dialogue_id AND ended_at IS NOT NULL) THEN
        RAISE EXCEPTION 'turn_only_in_open_dialogue: dialogue % has ended', NEW.dialogue_id
              USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER turn_only_in_open_dialogue BEFORE INSERT ON dialogues_turn
   FOR EACH ROW EXECUTE FUNCTION dialogues_turn_only_in_open_dialogue();
"""

DROP = """
DROP TRIGGER turn_only_in_open_dialogue ON dialogues_turn;
DROP FUNCTION dialogues_turn_only_in_open_dialogue();
"""


class Migration(migrations.Migration):
    """A check constraint cannot look at another table: a finished dialogue cannot grow."""

    dependencies = [("dialogues", "0001_initial")]

    operations = [migrations.RunSQL(CREATE, DROP)]
