-- An item as it is shown in a slot, one that this very statement has made included. In a battery it has a name of that
-- slot alone, for the same item may come twice.
CREATE OR REPLACE FUNCTION judging_shown_in(the_slot bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    s judging_slot%ROWTYPE;
BEGIN
    SELECT * INTO s FROM judging_slot WHERE id = the_slot;
    IF s.deck IS NULL THEN
        RETURN judging_shown(s.item_id, s.is_swapped);
    END IF;
    RETURN judging_shown(s.item_id, s.is_swapped) || jsonb_build_object('key', s.key, 'asks_reason', s.asks_reason);
END $$;
