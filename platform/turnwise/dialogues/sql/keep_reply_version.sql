-- Continue with an earlier or later reply to the same message; no row if it is judged, answered, or there is none.
CREATE OR REPLACE FUNCTION dialogues_keep_reply_version(
    the_dialogue bigint, the_position integer, the_chosen integer, OUT kept integer
) LANGUAGE plpgsql AS $$
DECLARE
    the_turn bigint;
BEGIN
    PERFORM FROM dialogues_dialogue AS d WHERE d.id = the_dialogue FOR NO KEY UPDATE;
    SELECT t.id INTO the_turn
      FROM dialogues_turn AS t JOIN dialogues_replyversion AS v ON v.turn_id = t.id AND v.number = the_chosen
     WHERE t.dialogue_id = the_dialogue AND t.position = the_position;
    IF FOUND AND dialogues_may_choose_reply(the_turn) THEN
        kept := the_chosen;
        PERFORM dialogues_put_reply_version(the_turn, the_chosen);
    END IF;
END $$;
