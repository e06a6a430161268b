CREATE OR REPLACE FUNCTION dialogues_turn_only_in_open_dialogue() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM dialogues_dialogue WHERE id = NEW.dialogue_id AND ended_at IS NOT NULL) THEN
        RAISE EXCEPTION 'turn_only_in_open_dialogue: dialogue % has ended', NEW.dialogue_id
              USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER turn_only_in_open_dialogue BEFORE INSERT ON dialogues_turn
   FOR EACH ROW EXECUTE FUNCTION dialogues_turn_only_in_open_dialogue();
