-- case: top and nvl
-- names: a
-- a: TRANSFORMATION t.b, CONDITIONAL t.b
-- rows: SORT t.c
SELECT TOP 5 NVL(b, 0) AS a FROM t ORDER BY c
