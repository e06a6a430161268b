-- An item as it is shown in a slot, one that this very statement has made included. In a battery it has a name of that
-- slot alone, for the same item may come twice.
CREATE OR REPLACE FUNCTION judging_shown_in(the_slot bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    s record;
BEGIN
    SELECT slot.deck, slot.key, slot.asks_reason, judging_shown(item, slot.is_swapped) AS item INTO s
      FROM judging_slot AS slot JOIN judging_item AS item ON item.id = slot.item_id
     WHERE slot.id = the_slot;
    IF s.deck IS NULL THEN
        RETURN s.item;
    END IF;
    RETURN s.item || jsonb_build_object('key', s.key, 'asks_reason', s.asks_reason);
END $$;
