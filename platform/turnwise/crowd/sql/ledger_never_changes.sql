CREATE OR REPLACE FUNCTION crowd_ledger_never_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        RAISE EXCEPTION 'ledger_never_changes: the ledger is append-only and cannot be emptied'
              USING ERRCODE = 'check_violation';
    END IF;
    RAISE EXCEPTION 'ledger_never_changes: add an entry that reverses %, instead of changing it', OLD.id
          USING ERRCODE = 'check_violation';
END $$;
CREATE OR REPLACE TRIGGER ledger_never_changes
BEFORE UPDATE OR DELETE ON crowd_payentry
   FOR EACH ROW EXECUTE FUNCTION crowd_ledger_never_changes();
CREATE OR REPLACE TRIGGER ledger_is_never_emptied
BEFORE TRUNCATE ON crowd_payentry
   FOR EACH STATEMENT EXECUTE FUNCTION crowd_ledger_never_changes();
