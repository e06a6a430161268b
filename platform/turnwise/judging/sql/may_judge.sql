-- True if this worker can be given this item now. Nobody judges the same thing twice, except by another ask of the same
-- study, which has other questions. A judgment in another study counts, even with other questions.
-- The high cost makes the planner call it last, for free slots only.
CREATE OR REPLACE FUNCTION judging_may_judge(the_batch bigint, the_worker bigint, the_item bigint) RETURNS boolean
LANGUAGE plpgsql STABLE COST 1000 AS $$
DECLARE
    i judging_item%ROWTYPE;
BEGIN
    SELECT * INTO i FROM judging_item WHERE id = the_item;
    IF EXISTS (SELECT FROM judging_slot WHERE batch_id = the_batch AND key = i.key) THEN
        RETURN false;
    ELSIF i.removed_at IS NOT NULL  -- except in a battery in progress, which stays as it was dealt
          AND NOT EXISTS (SELECT FROM judging_slot WHERE item_id = i.id AND deck IS NOT NULL) THEN
        RETURN false;
    ELSIF i.response_id IS NOT NULL THEN
        RETURN NOT EXISTS (SELECT FROM labels_label WHERE response_id = i.response_id AND rater_id = the_worker
                            AND (study_id <> i.study_id OR ask_id = i.ask_id OR ask_id IS NULL))
           AND NOT EXISTS (SELECT FROM responses_response AS r
                             JOIN crowd_participation AS p ON p.id = r.author_id
                            WHERE r.id = i.response_id AND p.worker_id = the_worker);
    ELSIF i.turn_id IS NOT NULL THEN
        RETURN NOT EXISTS (SELECT FROM labels_label WHERE turn_id = i.turn_id AND rater_id = the_worker
                            AND (study_id <> i.study_id OR ask_id = i.ask_id OR ask_id IS NULL))
           AND NOT EXISTS (SELECT FROM dialogues_turn AS t
                             JOIN dialogues_seat AS p ON p.dialogue_id = t.dialogue_id
                            WHERE t.id = i.turn_id AND p.worker_id = the_worker);
    ELSIF i.pair_id IS NOT NULL THEN
        RETURN NOT EXISTS (SELECT FROM labels_label WHERE pair_id = i.pair_id AND rater_id = the_worker
                            AND (study_id <> i.study_id OR ask_id = i.ask_id OR ask_id IS NULL))
           AND NOT EXISTS (SELECT FROM labels_pair AS two
                             JOIN responses_response AS r ON r.id IN (two.first_response_id, two.second_response_id)
                             JOIN crowd_participation AS p ON p.id = r.author_id
                            WHERE two.id = i.pair_id AND p.worker_id = the_worker)
           AND NOT EXISTS (SELECT FROM labels_pair AS two
                             JOIN dialogues_seat AS p
                               ON p.dialogue_id IN (two.first_dialogue_id, two.second_dialogue_id)
                            WHERE two.id = i.pair_id AND p.worker_id = the_worker);
    ELSIF i.context_id IS NOT NULL THEN
        RETURN NOT EXISTS (SELECT FROM labels_label WHERE context_id = i.context_id AND rater_id = the_worker
                            AND (study_id <> i.study_id OR ask_id = i.ask_id OR ask_id IS NULL));
    END IF;
    RETURN NOT EXISTS (SELECT FROM labels_label WHERE dialogue_id = i.dialogue_id AND rater_id = the_worker
                        AND (study_id <> i.study_id OR ask_id = i.ask_id OR ask_id IS NULL))
       AND NOT EXISTS (SELECT FROM dialogues_seat
                        WHERE dialogue_id = i.dialogue_id AND worker_id = the_worker);
END $$;
