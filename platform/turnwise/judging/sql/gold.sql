-- Give a batch a gold item of the ask with this number at this position, if one is due there. Returns its slot or NULL.
-- Items that another batch is being given are skipped, since two batches could wait for each other for ever; the gold item
-- then comes later.
CREATE OR REPLACE FUNCTION judging_gold(the_batch bigint, the_position integer, the_number integer, the_end timestamptz)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    b judging_batch%ROWTYPE;
    i record;
    slot bigint;
BEGIN
    SELECT * INTO b FROM judging_batch WHERE id = the_batch;
    IF (SELECT count(*) FROM unnest(b.gold_at) AS position WHERE position <= the_position)
       <= (SELECT count(*) FROM judging_slot WHERE batch_id = b.id AND is_gold) THEN
        RETURN NULL;
    END IF;
    SELECT item.id, item.key INTO i FROM judging_item AS item
      JOIN studies_ask AS ask ON ask.id = item.ask_id AND ask.number = the_number
     WHERE item.study_id = b.study_id AND item.language = b.language AND item.right_answers IS NOT NULL
       AND judging_may_judge(b.id, b.worker_id, item.id)
     ORDER BY random()
     LIMIT 1
       FOR NO KEY UPDATE OF item SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    INSERT INTO judging_slot (item_id, number, study_id, key, language, is_swapped, occasion, asks_reason, is_gold,
                              batch_id, leased_until)
    SELECT i.id, coalesce(max(s.number), 0) + 1, b.study_id, i.key, b.language, false, 1, false, true, b.id, the_end
      FROM judging_slot AS s WHERE s.item_id = i.id
 RETURNING id INTO slot;
    RETURN slot;
END $$;
