-- Save or change a worker's answers to an ask about an item of their batch, and return the outcome as a word.
-- 'judged' means a new judgment, which counts in the batch once the next items are leased. The answers were checked
-- against the questions of `the_ask`; an item of another ask is not found.
CREATE OR REPLACE FUNCTION judging_save(the_batch bigint, the_key uuid, the_ask bigint, the_set text, the_answers jsonb,
                                        the_shown_ms integer, the_answer_ms integer, the_compared text[]) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    b record;
    s record;
    new_label bigint;
    is_over boolean := false;
    is_new boolean;
BEGIN
    PERFORM FROM judging_batch WHERE id = the_batch FOR NO KEY UPDATE;
    -- In a statement after the lock, so that it reads what was committed meanwhile: a withdrawal locks the batch, too.
    SELECT batch.id, batch.worker_id, batch.study_id, a.outcome, p.pilot, plan.third_rater INTO b
      FROM judging_batch AS batch
      JOIN crowd_assignment AS a ON a.id = batch.assignment_id
      JOIN crowd_participation AS p ON p.id = a.participation_id
      JOIN judging_judgingplan AS plan ON plan.study_id = batch.study_id
     WHERE batch.id = the_batch;
    IF b.outcome <> '' THEN
        RETURN 'finished';
    END IF;
    IF b.pilot THEN  -- ending the pilot either sees this judgment, or is seen here
        SELECT pilot_over_at IS NOT NULL INTO is_over FROM studies_study WHERE id = b.study_id FOR NO KEY UPDATE;
    END IF;
    SELECT slot.id, slot.item_id, slot.label_id, slot.occasion, slot.is_gold,
           i.turn_id, i.response_id, i.dialogue_id, i.pair_id, i.context_id INTO s
      FROM judging_slot AS slot
      JOIN judging_item AS i ON i.id = slot.item_id
     WHERE slot.batch_id = the_batch AND slot.key = the_key AND i.ask_id = the_ask
       FOR NO KEY UPDATE OF slot;
    IF NOT FOUND THEN
        RETURN 'given_away';
    END IF;
    IF s.label_id IS NOT NULL THEN
        UPDATE labels_label
           SET answers = the_answers, changed_at = clock_timestamp(), changes = changes + 1,
               shown_ms = the_shown_ms, answer_ms = the_answer_ms
         WHERE id = s.label_id AND answers <> the_answers;
        is_new := FOUND;
        IF is_new THEN
            UPDATE studies_study SET results_version = results_version + 1 WHERE id = b.study_id;
        END IF;
        IF b.third_rater AND NOT s.is_gold THEN
            PERFORM judging_third(s.item_id, the_compared);
        END IF;
        RETURN CASE WHEN is_new THEN 'saved' ELSE 'said before' END;
    END IF;
    INSERT INTO labels_label (study_id, turn_id, response_id, dialogue_id, pair_id, context_id, rater_id, party, occasion,
                              ask_id, question_set, answers, shown_ms, answer_ms, created_at, changed_at, changes)
    VALUES (b.study_id, s.turn_id, s.response_id, s.dialogue_id, s.pair_id, s.context_id, b.worker_id, 'reader', s.occasion,
            the_ask, the_set, the_answers, the_shown_ms, the_answer_ms, clock_timestamp(), clock_timestamp(), 0)
        ON CONFLICT DO NOTHING
 RETURNING id INTO new_label;
    IF new_label IS NULL THEN
        DELETE FROM judging_slot WHERE id = s.id AND s.is_gold;
        UPDATE judging_slot SET batch_id = NULL, leased_until = NULL WHERE id = s.id;
        RETURN 'judged_elsewhere';
    END IF;
    UPDATE judging_slot SET label_id = new_label, leased_until = NULL WHERE id = s.id;
    IF is_over THEN
        PERFORM judging_requeue_slot(s.id);
    END IF;
    IF b.third_rater AND NOT s.is_gold THEN
        PERFORM judging_third(s.item_id, the_compared);
    END IF;
    RETURN 'judged';
END $$;
