-- A draw and its probabilities stay as they were made, since reports weigh labels by them. The account that made a draw may
-- be deleted.
CREATE OR REPLACE FUNCTION judging_draw_never_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'item_draw_never_changes: make another draw instead of changing row %', OLD.id
          USING ERRCODE = 'check_violation';
END $$;
CREATE OR REPLACE TRIGGER item_draw_never_changes
BEFORE UPDATE OF study_id, ask_id, number, judge, judge_fingerprint, judge_run, source, strata, items, floor, seed, made_at
    ON judging_itemdraw
   FOR EACH ROW EXECUTE FUNCTION judging_draw_never_changes();
CREATE OR REPLACE TRIGGER drawn_item_never_changes BEFORE UPDATE ON judging_drawnitem
   FOR EACH ROW EXECUTE FUNCTION judging_draw_never_changes();
