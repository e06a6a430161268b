-- Give a batch a whole deck, and return its number of slots; 0 if none is free for its worker. A deck that a worker left
-- is given as a whole, too: their judgments stay theirs, and the new deck has those items again.
CREATE OR REPLACE FUNCTION judging_deal(the_batch bigint) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    b judging_batch%ROWTYPE;
    lease interval;
    candidate integer;
    dealt integer;
    cards integer;
    at timestamptz;
    over_limit bigint[];
BEGIN
    SELECT * INTO b FROM judging_batch WHERE id = the_batch FOR NO KEY UPDATE;
    -- Workers who begin at the same moment wait here, and so does a change of the battery.
    SELECT make_interval(secs => lease_seconds) INTO lease
      FROM judging_judgingplan WHERE study_id = b.study_id FOR NO KEY UPDATE;
    at := clock_timestamp();
    -- Checks batches, of which few are new, instead of slots, of which many thousands may be leased.
    over_limit := ARRAY(SELECT o.id FROM judging_batch AS o
                       WHERE o.study_id = b.study_id AND o.done = 0 AND judging_exceeds_address_limit(o.id, at));
    FOR candidate IN
        SELECT s.deck FROM judging_slot AS s
         WHERE s.study_id = b.study_id AND s.language = b.language AND s.deck IS NOT NULL
         GROUP BY s.deck
        HAVING bool_or(s.label_id IS NULL)
           AND bool_and(s.label_id IS NOT NULL OR s.leased_until IS NULL OR s.leased_until < at
                        OR s.batch_id = ANY (over_limit))
         ORDER BY bool_or(s.batch_id IS NOT NULL), s.deck
    LOOP
        CONTINUE WHEN EXISTS (SELECT FROM judging_slot AS s
                               WHERE s.study_id = b.study_id AND s.deck = candidate
                                 AND NOT judging_may_judge(b.id, b.worker_id, s.item_id));
        -- A late judgment of the worker who left it locks their batch first, in the same order.
        PERFORM FROM judging_batch AS o
          WHERE o.id IN (SELECT s.batch_id FROM judging_slot AS s
                          WHERE s.study_id = b.study_id AND s.deck = candidate)
            FOR NO KEY UPDATE;
        CONTINUE WHEN NOT EXISTS (SELECT FROM judging_slot AS s
                                   WHERE s.study_id = b.study_id AND s.deck = candidate AND s.label_id IS NULL)
                   OR EXISTS (SELECT FROM judging_slot AS s
                               WHERE s.study_id = b.study_id AND s.deck = candidate AND s.label_id IS NULL
                                 AND s.leased_until >= at AND NOT judging_exceeds_address_limit(s.batch_id, at));
        dealt := candidate;
        EXIT;
    END LOOP;
    IF dealt IS NULL THEN
        RETURN 0;
    END IF;
    IF EXISTS (SELECT FROM judging_slot AS s
                WHERE s.study_id = b.study_id AND s.deck = dealt AND s.label_id IS NOT NULL) THEN
        dealt := judging_requeue_deck(b.study_id, dealt);
    END IF;
    UPDATE judging_slot SET batch_id = b.id, leased_until = at + lease
     WHERE study_id = b.study_id AND deck = dealt;
    GET DIAGNOSTICS cards = ROW_COUNT;
    UPDATE judging_batch SET size = cards WHERE id = b.id;
    RETURN cards;
END $$;
