-- The judged seat of a conversation: that of its only bot; NULL if both seats are bots.
CREATE OR REPLACE FUNCTION judging_speaker(the_dialogue bigint) RETURNS integer LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN count(*) = 1 THEN min(number) END
      FROM dialogues_seat WHERE dialogue_id = the_dialogue AND bot_id IS NOT NULL;
$$;
