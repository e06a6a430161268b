-- Encode the annotations that fall due with a turn, each as one number. See dialogues/progress.py.
CREATE OR REPLACE FUNCTION dialogues_codes(the_position integer, the_asks integer[]) RETURNS integer[]
LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(array_agg(CASE WHEN ask >= 0 THEN the_position * 32 + ask
                                   ELSE ask - the_position * 32 END), '{}')
      FROM unnest(the_asks) AS ask
$$;
