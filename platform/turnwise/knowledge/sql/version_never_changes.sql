CREATE OR REPLACE FUNCTION knowledge_version_never_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'knowledge_version_never_changes: import a new version instead of changing row %', OLD.id
          USING ERRCODE = 'check_violation';
END $$;
CREATE OR REPLACE TRIGGER knowledge_version_never_changes BEFORE UPDATE ON knowledge_baseversion
   FOR EACH ROW EXECUTE FUNCTION knowledge_version_never_changes();
CREATE OR REPLACE TRIGGER entity_never_changes BEFORE UPDATE ON knowledge_entity
   FOR EACH ROW EXECUTE FUNCTION knowledge_version_never_changes();
CREATE OR REPLACE TRIGGER article_never_changes BEFORE UPDATE ON knowledge_article
   FOR EACH ROW EXECUTE FUNCTION knowledge_version_never_changes();
