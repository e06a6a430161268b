-- An item as it is shown in a slot. In a battery it has a name of that slot alone, for the same item may come twice.
CREATE OR REPLACE FUNCTION judging_shown_in(the_slot bigint) RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN s.deck IS NULL THEN judging_shown(i.key, s.is_swapped)
                ELSE judging_shown(i.key, s.is_swapped)
                     || jsonb_build_object('key', s.key, 'asks_reason', s.asks_reason) END
      FROM judging_slot AS s JOIN judging_item AS i ON i.id = s.item_id
     WHERE s.id = the_slot;
$$;
