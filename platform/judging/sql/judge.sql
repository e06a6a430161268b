CREATE OR REPLACE FUNCTION judging_judge(the_batch bigint, the_key uuid, the_answers jsonb, the_shown_ms integer,
                                         the_answer_ms integer, the_ahead integer, the_compared text[])
RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
    outcome text;
    keys uuid[];
    leased jsonb;
BEGIN
    outcome := judging_save(the_batch, the_key, the_answers, the_shown_ms, the_answer_ms);
    IF outcome = 'finished' THEN
        RETURN jsonb_build_object('outcome', outcome);
    END IF;
    IF outcome = 'saved' THEN
        PERFORM judging_third(item_id, the_compared) FROM judging_slot
          WHERE batch_id = the_batch AND key = the_key AND NOT is_gold;
    END IF;
    keys := ARRAY(SELECT judging_lease(the_batch, the_ahead));
    SELECT coalesce(jsonb_agg(judging_shown_in(s.id) ORDER BY array_position(keys, s.key)), '[]') INTO leased
      FROM judging_slot AS s WHERE s.batch_id = the_batch AND s.key = ANY(keys);
    RETURN (SELECT jsonb_build_object(
                'outcome', outcome, 'leased', leased, 'done', b.done, 'size', b.size,
                'held', (SELECT count(*) FROM judging_slot WHERE batch_id = b.id AND label_id IS NULL))
              FROM judging_batch AS b WHERE b.id = the_batch);
END $$;
