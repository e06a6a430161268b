-- The audit log is append-only, also for the owner of the table: no row is changed or deleted, and the table is never emptied.
CREATE OR REPLACE FUNCTION accounts_event_never_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'The audit log is append-only.' USING ERRCODE = 'restrict_violation';
END;
$$;

CREATE OR REPLACE TRIGGER event_never_changes BEFORE UPDATE OR DELETE ON accounts_event
    FOR EACH ROW EXECUTE FUNCTION accounts_event_never_changes();
CREATE OR REPLACE TRIGGER events_are_never_emptied BEFORE TRUNCATE ON accounts_event
    FOR EACH STATEMENT EXECUTE FUNCTION accounts_event_never_changes();
