CREATE OR REPLACE FUNCTION judging_judge(
    the_batch bigint, the_key uuid, the_ask bigint, the_set text, the_answers jsonb,
    the_shown_ms integer, the_answer_ms integer, the_ahead integer, the_compared text[]
) RETURNS jsonb LANGUAGE plpgsql AS $$
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
    RETURN (SELECT jsonb_build_object(
                'outcome', CASE outcome WHEN 'judged' THEN 'saved' ELSE outcome END,
                'leased', leased, 'done', b.done, 'size', b.size,
                'held', (SELECT count(*) FROM judging_slot WHERE batch_id = b.id AND label_id IS NULL))
              FROM judging_batch AS b WHERE b.id = the_batch);
END $$;
