-- Make a version the kept one, and write it into the turn. The caller has locked the conversation.
CREATE OR REPLACE FUNCTION dialogues_put_reply_version(the_turn bigint, the_number integer) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE dialogues_replyversion AS v SET is_kept = false WHERE v.turn_id = the_turn AND v.is_kept;
    UPDATE dialogues_replyversion AS v SET is_kept = true WHERE v.turn_id = the_turn AND v.number = the_number;
    UPDATE dialogues_turn AS t
       SET text = v.text, created_at = v.created_at, bot_version_id = v.bot_version_id, latency_ms = v.latency_ms,
           seed = v.seed, candidates = v.candidates, generation = v.generation
      FROM dialogues_replyversion AS v
     WHERE t.id = the_turn AND v.turn_id = t.id AND v.number = the_number;
END $$;
