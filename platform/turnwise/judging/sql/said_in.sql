-- The texts of a conversation, oldest first; only so many turns of it, if told.
CREATE OR REPLACE FUNCTION judging_said_in(the_dialogue bigint, most_turns integer DEFAULT NULL)
RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT coalesce(jsonb_agg(t.text ORDER BY t.position), '[]')
      FROM dialogues_turn AS t
     WHERE t.dialogue_id = the_dialogue AND (most_turns IS NULL OR t.position < most_turns);
$$;
