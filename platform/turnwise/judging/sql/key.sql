-- A key for an item of the ask with this number: random behind its first byte, so that a batch, which takes items in the
-- order of their keys, is asked one thing after the other.
CREATE OR REPLACE FUNCTION judging_key(the_number integer) RETURNS uuid LANGUAGE sql VOLATILE AS $$
    SELECT encode(set_byte(uuid_send(gen_random_uuid()), 0, the_number), 'hex')::uuid;
$$;
