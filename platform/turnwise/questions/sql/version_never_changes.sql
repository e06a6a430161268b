CREATE OR REPLACE FUNCTION questions_version_never_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'question_version_never_changes: save a new version instead of changing %', OLD.key
          USING ERRCODE = 'check_violation';
END $$;
CREATE OR REPLACE TRIGGER question_version_never_changes
BEFORE UPDATE OR DELETE ON questions_setversion
   FOR EACH ROW EXECUTE FUNCTION questions_version_never_changes();
