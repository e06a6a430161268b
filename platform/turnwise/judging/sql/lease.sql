-- Lease items for a batch until it holds `the_ahead`, and return the new slots; `newly_judged` items were just judged. Keys
-- begin with the number of their item's ask, so a batch gets everything of one ask before the next. Gold belongs to the
-- current ask.
CREATE OR REPLACE FUNCTION judging_lease(the_batch bigint, the_ahead integer, newly_judged integer) RETURNS SETOF bigint
LANGUAGE plpgsql AS $$
DECLARE
    b record;
    found_slot record;
    held integer;
    is_half_over boolean;
    wrapped boolean := false;
    over_limit bigint[] := '{}';
    gold bigint;
    behind uuid;
    of_ask integer;
    at timestamptz;
    lease interval;
BEGIN
    SELECT batch.id, batch.study_id, batch.worker_id, batch.language, batch.size, batch.gold_at, batch.cursor,
           batch.done + newly_judged AS done, plan.lease_seconds INTO b
      FROM judging_batch AS batch JOIN judging_judgingplan AS plan ON plan.study_id = batch.study_id
     WHERE batch.id = the_batch
       FOR NO KEY UPDATE OF batch;
    lease := make_interval(secs => b.lease_seconds);
    at := clock_timestamp();
    of_ask := get_byte(uuid_send(b.cursor), 0);
    behind := b.cursor;
    SELECT count(*), coalesce(bool_or(leased_until < at + lease / 2), false) INTO held, is_half_over
      FROM judging_slot WHERE batch_id = b.id AND label_id IS NULL;
    IF is_half_over THEN
        UPDATE judging_slot SET leased_until = at + lease
         WHERE batch_id = b.id AND label_id IS NULL AND leased_until < at + lease / 2;
    END IF;
    WHILE held < least(the_ahead, b.size - b.done) LOOP
        IF b.gold_at <> '{}' THEN
            gold := judging_gold(b.id, b.done + held + 1, of_ask, at + lease);
            IF gold IS NOT NULL THEN
                held := held + 1;
                RETURN NEXT gold;
                CONTINUE;
            END IF;
        END IF;
        SELECT s.id, s.key INTO found_slot FROM judging_slot AS s
         WHERE s.study_id = b.study_id AND s.language = b.language AND s.label_id IS NULL AND s.key > behind
           AND s.deck IS NULL AND NOT s.is_gold
           AND (s.leased_until IS NULL OR s.leased_until < at
                OR (s.batch_id = ANY (over_limit) AND judging_exceeds_address_limit(s.batch_id, at)))
           AND judging_may_judge(b.id, b.worker_id, s.item_id)
         ORDER BY s.key
         LIMIT 1
           FOR NO KEY UPDATE SKIP LOCKED;
        IF FOUND THEN
            UPDATE judging_slot SET batch_id = b.id, leased_until = at + lease WHERE id = found_slot.id;
            b.cursor := found_slot.key;
            behind := b.cursor;
            of_ask := get_byte(uuid_send(b.cursor), 0);
            held := held + 1;
            RETURN NEXT found_slot.id;
        ELSE
            -- Items before the cursor were leased to others when it passed, or were added later. The cursor stays where it
            -- is, so that a worker at the last ask gets no gold of an earlier one.
            EXIT WHEN over_limit <> '{}';
            IF wrapped THEN
                -- Checks batches, of which few are new, instead of slots, of which many thousands may be leased.
                over_limit := ARRAY(SELECT o.id FROM judging_batch AS o
                                   WHERE o.study_id = b.study_id AND o.done = 0 AND judging_exceeds_address_limit(o.id, at));
                EXIT WHEN over_limit = '{}';
            END IF;
            wrapped := true;
            behind := '00000000-0000-0000-0000-000000000000';
        END IF;
    END LOOP;
    UPDATE judging_batch SET cursor = b.cursor, done = b.done
     WHERE id = b.id AND (cursor <> b.cursor OR done <> b.done);
END $$;
