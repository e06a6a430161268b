CREATE OR REPLACE FUNCTION contexts_version_never_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'context_version_never_changes: import a new version instead of changing row %', OLD.id
          USING ERRCODE = 'check_violation';
END $$;
CREATE OR REPLACE TRIGGER context_version_never_changes BEFORE UPDATE ON contexts_contextsetversion
   FOR EACH ROW EXECUTE FUNCTION contexts_version_never_changes();
CREATE OR REPLACE TRIGGER context_never_changes BEFORE UPDATE ON contexts_context
   FOR EACH ROW EXECUTE FUNCTION contexts_version_never_changes();
