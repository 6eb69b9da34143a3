-- case: combinators
-- names: s n u
-- s: AGGREGATION db.t.x, CONDITIONAL db.t.y
-- n: AGGREGATION! db.t.z
-- u: AGGREGATION! db.t.w
SELECT sumIf(x, y > 1) AS s, countIf(z = 1) AS n, uniq(w) AS u FROM db.t FINAL PREWHERE a = 1
-- rows: FILTER db.t.a

-- case: limit by
-- names: a
-- a: IDENTITY t.a
-- rows: GROUP_BY t.b
SELECT a FROM t LIMIT 1 BY b
