-- Save a bot's turn at this position. If there is a turn already, it stays.
CREATE OR REPLACE FUNCTION dialogues_reply(
    the_dialogue bigint, the_position integer, the_text text,
    the_due_0 integer[], the_due_1 integer[],
    the_version bigint, the_latency integer, the_seed bigint, the_candidates jsonb, the_generation jsonb,
    OUT at timestamptz, OUT turns integer, OUT due_0 integer[], OUT due_1 integer[]
) LANGUAGE plpgsql AS $$
BEGIN
    UPDATE dialogues_dialogue AS d
       SET turns = d.turns + 1,
           bot_turns = d.bot_turns + 1,
           due_0 = d.due_0 || the_due_0,
           due_1 = d.due_1 || the_due_1
     WHERE d.id = the_dialogue AND d.ended_at IS NULL AND d.turns = the_position
 RETURNING d.turns, d.due_0, d.due_1 INTO turns, due_0, due_1;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    at := clock_timestamp();
    INSERT INTO dialogues_turn
           (dialogue_id, position, text, created_at, bot_version_id, latency_ms, seed, candidates, generation)
    VALUES (the_dialogue, the_position, the_text, at,
            the_version, the_latency, the_seed, the_candidates, the_generation);
END $$;
