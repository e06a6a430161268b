-- True if the worker of an assignment has sent something, was seen since the given time, and has not ended. The only
-- definition: queries of the ORM use it, too (crowd/places/reservation.py). The planner inlines it, so it costs no call.
CREATE OR REPLACE FUNCTION crowd_is_at_work(outcome text, assigned_at timestamptz, active_at timestamptz, the_since timestamptz)
RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT outcome = '' AND active_at > the_since AND active_at > assigned_at
$$;
