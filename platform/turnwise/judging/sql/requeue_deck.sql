-- Requeue a partly judged deck under a new number: with its open slots, and with copies of its judged slots, which stay
-- with their worker.
CREATE OR REPLACE FUNCTION judging_requeue_deck(the_study bigint, the_deck integer) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
    fresh integer := (SELECT max(deck) + 1 FROM judging_slot WHERE study_id = the_study);
BEGIN
    INSERT INTO judging_slot (item_id, number, study_id, key, language, is_swapped, deck, position, occasion, asks_reason)
    SELECT s.item_id,
           (SELECT max(o.number) FROM judging_slot AS o WHERE o.item_id = s.item_id)
           + row_number() OVER (PARTITION BY s.item_id ORDER BY s.position),
           s.study_id, judging_key(get_byte(uuid_send(s.key), 0)), s.language, s.is_swapped, fresh, s.position, s.occasion, s.asks_reason
      FROM judging_slot AS s
     WHERE s.study_id = the_study AND s.deck = the_deck AND s.label_id IS NOT NULL;
    UPDATE judging_slot SET deck = fresh, key = judging_key(get_byte(uuid_send(key), 0))
     WHERE study_id = the_study AND deck = the_deck AND label_id IS NULL;
    RETURN fresh;
END $$;
