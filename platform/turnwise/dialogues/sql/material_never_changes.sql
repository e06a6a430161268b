CREATE OR REPLACE FUNCTION dialogues_material_never_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'material_never_changes: what was read stays as it was, here in row %', OLD.id
          USING ERRCODE = 'check_violation';
END $$;
CREATE OR REPLACE TRIGGER material_never_changes BEFORE UPDATE ON dialogues_material
   FOR EACH ROW EXECUTE FUNCTION dialogues_material_never_changes();
