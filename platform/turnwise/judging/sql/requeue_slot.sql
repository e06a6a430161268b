-- Requeue a slot that a worker of the pilot judged, for another worker: the judged slot moves behind the number of a third
-- rater, and a free slot takes its number. The need for a third rater is decided by the new judgments. A deck is requeued as
-- a whole, once its last card is judged. Items that were taken out of the queue meanwhile are not requeued.
CREATE OR REPLACE FUNCTION judging_requeue_slot(the_slot bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    s judging_slot%ROWTYPE;
    plan judging_judgingplan%ROWTYPE;
    is_removed boolean;
BEGIN
    SELECT * INTO s FROM judging_slot WHERE id = the_slot;
    IF s.is_gold THEN
        RETURN;
    END IF;
    IF s.deck IS NOT NULL THEN
        IF NOT EXISTS (SELECT FROM judging_slot
                        WHERE study_id = s.study_id AND deck = s.deck AND label_id IS NULL) THEN
            PERFORM judging_requeue_deck(s.study_id, s.deck);
        END IF;
        RETURN;
    END IF;
    SELECT * INTO plan FROM judging_judgingplan WHERE study_id = s.study_id;
    SELECT removed_at IS NOT NULL INTO is_removed FROM judging_item WHERE id = s.item_id FOR NO KEY UPDATE;
    UPDATE judging_slot
       SET number = 1 + greatest(
               (SELECT max(o.number) FROM judging_slot AS o WHERE o.item_id = s.item_id),
               plan.raters_per_item + 1)
     WHERE id = s.id;
    IF is_removed THEN
        RETURN;
    END IF;
    IF plan.third_rater THEN
        DELETE FROM judging_slot WHERE item_id = s.item_id AND number > plan.raters_per_item AND batch_id IS NULL;
        IF s.number > plan.raters_per_item THEN
            RETURN;
        END IF;
    END IF;
    INSERT INTO judging_slot (item_id, number, study_id, key, language, is_swapped, occasion, asks_reason)
    VALUES (s.item_id, s.number, s.study_id, s.key, s.language, s.is_swapped, s.occasion, s.asks_reason);
END $$;
