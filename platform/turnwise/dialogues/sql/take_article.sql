-- Take an article for a conversation, drawn by the seed from those that fewer than `the_most` conversations of the
-- study use. Return what the two people are given of it, and the configurations of the version. There is no row if all are
-- used up, or if another conversation took the last use at the same moment.
CREATE OR REPLACE FUNCTION dialogues_take_article(
    the_study bigint, the_version bigint, the_seed bigint, the_most integer
) RETURNS TABLE (article bigint, headline text, sections text[], entities jsonb, configurations text)
LANGUAGE sql AS $$
    WITH drawn AS (
        INSERT INTO dialogues_articleuse AS taken (study_id, article_id, uses)
        SELECT the_study, a.id, 1
          FROM knowledge_article AS a
          LEFT JOIN dialogues_articleuse AS u ON u.article_id = a.id AND u.study_id = the_study
         WHERE a.version_id = the_version AND coalesce(u.uses, 0) < the_most
         ORDER BY hashint4extended(a.number, the_seed), a.number
         LIMIT 1
            ON CONFLICT (study_id, article_id) DO UPDATE SET uses = taken.uses + 1 WHERE taken.uses < the_most
        RETURNING taken.article_id
    )
    SELECT a.id, a.headline, a.sections,
           (SELECT jsonb_agg(jsonb_build_array(e.name, e.shortened, e.summarized, e.facts)
                             ORDER BY array_position(a.named, e.number))
              FROM knowledge_entity AS e WHERE e.version_id = a.version_id AND e.number = ANY(a.named)),
           v.configurations
      FROM drawn JOIN knowledge_article AS a ON a.id = drawn.article_id
      JOIN knowledge_baseversion AS v ON v.id = a.version_id
$$;
