-- The texts of a conversation, oldest first.
CREATE OR REPLACE FUNCTION judging_said_in(the_dialogue bigint) RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT coalesce(jsonb_agg(t.text ORDER BY t.position), '[]')
      FROM dialogues_turn AS t WHERE t.dialogue_id = the_dialogue;
$$;
