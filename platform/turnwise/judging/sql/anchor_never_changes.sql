-- A version of an anchor pack stays as it was made, since reports compare judgments with its values. Its source study and
-- the account that made it may be deleted.
CREATE OR REPLACE FUNCTION judging_anchor_never_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'anchor_pack_never_changes: make another version instead of changing row %', OLD.id
          USING ERRCODE = 'check_violation';
END $$;
CREATE OR REPLACE TRIGGER anchor_pack_never_changes
BEFORE UPDATE OF number, question_set, spread_by, origin, common_variance, sha256, made_at ON judging_anchorpack
   FOR EACH ROW EXECUTE FUNCTION judging_anchor_never_changes();
CREATE OR REPLACE TRIGGER anchor_never_changes BEFORE UPDATE ON judging_anchor
   FOR EACH ROW EXECUTE FUNCTION judging_anchor_never_changes();
