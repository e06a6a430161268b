-- Store another reply to the same message. It becomes the turn's text, unless the worker has judged the reply or written
-- on in the meantime. Idempotent for the same key. No row if there are `the_most` versions, or no such turn of a bot.
CREATE OR REPLACE FUNCTION dialogues_add_reply_version(
    the_dialogue bigint, the_position integer, the_most integer, the_key uuid, the_text text,
    the_version bigint, the_latency integer, the_seed bigint, the_candidates jsonb, the_generation jsonb,
    OUT stored integer, OUT kept boolean
) LANGUAGE plpgsql AS $$
DECLARE
    the_turn bigint;
BEGIN
    PERFORM FROM dialogues_dialogue AS d WHERE d.id = the_dialogue FOR NO KEY UPDATE;
    SELECT t.id INTO the_turn FROM dialogues_turn AS t
     WHERE t.dialogue_id = the_dialogue AND t.position = the_position AND t.bot_version_id IS NOT NULL;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    SELECT v.number, v.is_kept INTO stored, kept
      FROM dialogues_replyversion AS v WHERE v.turn_id = the_turn AND v.key = the_key;
    IF FOUND THEN
        RETURN;
    END IF;
    INSERT INTO dialogues_replyversion
           (turn_id, number, is_kept, key, text, created_at, bot_version_id, latency_ms, seed, candidates, generation)
    SELECT t.id, 1, true, NULL, t.text, t.created_at, t.bot_version_id, t.latency_ms, t.seed, t.candidates, t.generation
      FROM dialogues_turn AS t WHERE t.id = the_turn
        ON CONFLICT ON CONSTRAINT reply_version_once_per_number DO NOTHING;
    SELECT max(v.number) + 1 INTO stored FROM dialogues_replyversion AS v WHERE v.turn_id = the_turn;
    IF stored > the_most THEN
        stored := NULL;
        RETURN;
    END IF;
    INSERT INTO dialogues_replyversion
           (turn_id, number, is_kept, key, text, created_at, bot_version_id, latency_ms, seed, candidates, generation)
    VALUES (the_turn, stored, false, the_key, the_text, clock_timestamp(),
            the_version, the_latency, the_seed, the_candidates, the_generation);
    kept := dialogues_may_choose_reply(the_turn);
    IF kept THEN
        PERFORM dialogues_put_reply_version(the_turn, stored);
    END IF;
END $$;
