-- True if the turn is the last one of an open conversation, a bot's, and has no label: its reply may be exchanged.
CREATE OR REPLACE FUNCTION dialogues_may_choose_reply(the_turn bigint) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM dialogues_turn AS t JOIN dialogues_dialogue AS d ON d.id = t.dialogue_id
         WHERE t.id = the_turn AND t.bot_version_id IS NOT NULL
           AND d.ended_at IS NULL AND NOT d.closing AND d.turns = t.position + 1
    ) AND NOT EXISTS (SELECT FROM labels_label AS l WHERE l.turn_id = the_turn);
END $$;
