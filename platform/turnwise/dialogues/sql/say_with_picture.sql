-- Save a person's turn together with a picture that was uploaded in their seat: both or neither.
CREATE OR REPLACE FUNCTION dialogues_say_with_picture(
    the_dialogue bigint, the_seat integer, the_room integer, the_text text, the_key uuid,
    the_due_0 integer[], the_due_1 integer[], the_picture text,
    OUT at timestamptz, OUT turns integer, OUT due_0 integer[], OUT due_1 integer[],
    OUT earlier text[]
) LANGUAGE plpgsql AS $$
DECLARE
    uploaded bigint;
BEGIN
    -- First, as a withdrawal locks it before it removes the pictures.
    PERFORM FROM dialogues_dialogue WHERE id = the_dialogue FOR NO KEY UPDATE;
    SELECT p.id INTO uploaded
      FROM dialogues_picture AS p JOIN dialogues_seat AS s ON s.id = p.seat_id
     WHERE s.dialogue_id = the_dialogue AND s.number = the_seat AND p.sha256 = the_picture
       FOR KEY SHARE OF p;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    SELECT said.* INTO at, turns, due_0, due_1, earlier
      FROM dialogues_say(the_dialogue, the_seat, the_room, the_text, the_key, the_due_0, the_due_1) AS said;
    IF at IS NULL THEN
        RETURN;
    END IF;
    INSERT INTO dialogues_messagepicture (turn_id, picture_id)
    SELECT t.id, uploaded FROM dialogues_turn AS t WHERE t.dialogue_id = the_dialogue AND t.key = the_key;
END $$;
