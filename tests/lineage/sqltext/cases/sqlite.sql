-- case: plain
-- names: a n
-- a: TRANSFORMATION t.a, CONDITIONAL t.a
-- n: AGGREGATION! t.b
-- rows: GROUP_BY t.g
SELECT ifnull(a, '') AS a, count(b) AS n FROM t GROUP BY g
