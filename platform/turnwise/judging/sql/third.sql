-- Add a third rater's slot to an item whose raters differ, if the plan wants that; delete it if they agree now and nobody
-- has begun it. Concurrent saves wait for the item's lock, so each sees what the other has saved.
CREATE OR REPLACE FUNCTION judging_third(the_item bigint, the_compared text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    i record;
    judged integer;
    kinds integer;
BEGIN
    SELECT item.id, item.study_id, item.key, item.language, p.raters_per_item AS raters INTO i
      FROM judging_item AS item JOIN judging_judgingplan AS p ON p.study_id = item.study_id
     WHERE item.id = the_item AND p.third_rater AND item.removed_at IS NULL
       FOR NO KEY UPDATE OF item;
    IF NOT FOUND OR EXISTS (SELECT FROM judging_slot WHERE item_id = i.id AND deck IS NOT NULL) THEN
        RETURN;
    END IF;
    SELECT count(*), count(DISTINCT compared.answers) INTO judged, kinds
      FROM judging_slot AS s JOIN labels_label AS l ON l.id = s.label_id
     CROSS JOIN LATERAL (SELECT coalesce(jsonb_object_agg(each.key, each.value), '{}') AS answers
                           FROM jsonb_each(l.answers) AS each WHERE each.key = ANY(the_compared)) AS compared
     WHERE s.item_id = i.id AND s.number <= i.raters;
    IF judged = i.raters AND kinds > 1 THEN
        INSERT INTO judging_slot (item_id, number, study_id, key, language, is_swapped, occasion, asks_reason)
        VALUES (i.id, i.raters + 1, i.study_id, i.key, i.language, false, 1, false)
            ON CONFLICT (item_id, number) DO NOTHING;
    ELSE
        DELETE FROM judging_slot WHERE item_id = i.id AND number > i.raters AND batch_id IS NULL;
    END IF;
END $$;
