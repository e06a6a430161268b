-- The item of a slot in the format of the judging page; also for a slot that the same statement has created. In a battery
-- the key is the slot's, since the same item may come twice.
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
