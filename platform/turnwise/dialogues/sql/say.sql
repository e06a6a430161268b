-- Save a person's turn if it is their turn, there are turns left, and no annotation is due before it.
CREATE OR REPLACE FUNCTION dialogues_say(
    the_dialogue bigint, the_seat integer, the_room integer, the_text text, the_key uuid,
    the_due_0 integer[], the_due_1 integer[],
    OUT at timestamptz, OUT turns integer, OUT due_0 integer[], OUT due_1 integer[],
    OUT earlier text[]
) LANGUAGE plpgsql AS $$
BEGIN
    IF the_room = 1 THEN  -- to a person: the conversation stays when one of the two withdraws, which locks its row, too
        PERFORM FROM dialogues_dialogue WHERE id = the_dialogue FOR NO KEY UPDATE;
        IF EXISTS (SELECT FROM dialogues_seat AS s
                     JOIN crowd_assignment AS a ON a.id = s.assignment_id
                     JOIN crowd_withdrawal AS w ON w.participation_id = a.participation_id
                    WHERE s.dialogue_id = the_dialogue AND s.number = the_seat) THEN
            RETURN;
        END IF;
    END IF;
    UPDATE dialogues_dialogue AS d
       SET turns = d.turns + 1,
           due_0 = CASE the_due_0 WHEN '{}' THEN d.due_0 ELSE d.due_0 || dialogues_codes(d.turns, the_due_0) END,
           due_1 = CASE the_due_1 WHEN '{}' THEN d.due_1 ELSE d.due_1 || dialogues_codes(d.turns, the_due_1) END
     WHERE d.id = the_dialogue
       AND d.ended_at IS NULL
       AND NOT d.closing
       AND d.turns % 2 = the_seat
       AND d.turns - d.opening_turns + the_room <= d.max_turns
       AND NOT 0 <= ANY (CASE the_seat WHEN 0 THEN d.due_0 ELSE d.due_1 END)
       AND NOT EXISTS (SELECT FROM dialogues_turn AS t WHERE t.dialogue_id = the_dialogue AND t.key = the_key)
 RETURNING d.turns, d.due_0, d.due_1 INTO turns, due_0, due_1;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    at := clock_timestamp();
    earlier := ARRAY(SELECT t.text FROM dialogues_turn AS t WHERE t.dialogue_id = the_dialogue ORDER BY t.position);
    INSERT INTO dialogues_turn (dialogue_id, position, text, key, created_at)
    VALUES (the_dialogue, turns - 1, the_text, the_key, at);
END $$;
