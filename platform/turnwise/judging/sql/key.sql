-- A key for an item of the ask with this number, which is the first byte; the rest is random. A batch takes items in the
-- order of their keys, so it finishes one ask before the next.
CREATE OR REPLACE FUNCTION judging_key(the_number integer) RETURNS uuid LANGUAGE sql VOLATILE AS $$
    SELECT encode(set_byte(uuid_send(gen_random_uuid()), 0, the_number), 'hex')::uuid;
$$;
