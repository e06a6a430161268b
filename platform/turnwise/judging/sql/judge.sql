-- Save a worker's answers about an item and lease the next items; returns JSON. A repeated call changes nothing and returns
-- all items that the batch holds, since the reply to the first call may never have reached the page.
CREATE OR REPLACE FUNCTION judging_judge(
    the_batch bigint, the_key uuid, the_ask bigint, the_set text, the_answers jsonb,
    the_shown_ms integer, the_answer_ms integer, the_ahead integer, the_compared text[]
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    outcome text;
    leased jsonb;
BEGIN
    outcome := judging_save(the_batch, the_key, the_ask, the_set, the_answers, the_shown_ms, the_answer_ms, the_compared);
    IF outcome = 'finished' THEN
        RETURN jsonb_build_object('outcome', outcome);
    END IF;
    SELECT coalesce(jsonb_agg(judging_shown_in(slot)), '[]') INTO leased
      FROM judging_lease(the_batch, the_ahead, (outcome = 'judged')::integer) AS slot;
    IF outcome = 'said before' THEN
        SELECT coalesce(jsonb_agg(judging_shown_in(s.id) ORDER BY s.position, s.key), '[]') INTO leased
          FROM judging_slot AS s WHERE s.batch_id = the_batch AND s.label_id IS NULL;
    END IF;
    RETURN (SELECT jsonb_build_object(
                'outcome', CASE WHEN outcome IN ('judged', 'said before') THEN 'saved' ELSE outcome END,
                'leased', leased, 'done', b.done, 'size', b.size,
                'held', (SELECT count(*) FROM judging_slot WHERE batch_id = b.id AND label_id IS NULL))
              FROM judging_batch AS b WHERE b.id = the_batch);
END $$;
