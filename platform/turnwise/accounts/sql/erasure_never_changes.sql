-- The log of erasures: rows are written by the functions accounts_begin_erasure and accounts_count_erased alone, which run as
-- the table's owner, within the transaction of the erasure; afterwards they stay as they are.
CREATE OR REPLACE FUNCTION accounts_erasure_never_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP IN ('INSERT', 'UPDATE') AND NEW.at = transaction_timestamp()
       AND NEW.xact = pg_current_xact_id()::text::bigint
       AND current_user = (SELECT pg_get_userbyid(relowner) FROM pg_catalog.pg_class WHERE oid = TG_RELID)
       AND (TG_OP = 'INSERT' OR OLD.xact = NEW.xact AND OLD.at = NEW.at AND OLD.reason = NEW.reason) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'erasure_never_changes: the log of erasures is written by erasures alone, and stays as it is'
          USING ERRCODE = 'check_violation';
END $$;
CREATE OR REPLACE TRIGGER erasure_never_changes BEFORE INSERT OR UPDATE OR DELETE ON accounts_erasure
   FOR EACH ROW EXECUTE FUNCTION accounts_erasure_never_changes();
CREATE OR REPLACE TRIGGER erasures_are_never_emptied BEFORE TRUNCATE ON accounts_erasure
   FOR EACH STATEMENT EXECUTE FUNCTION accounts_erasure_never_changes();
