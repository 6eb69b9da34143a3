-- case: backticks and a project
-- names: id
-- id: IDENTITY my-project.ds.t.id
SELECT id FROM `my-project.ds.t`

-- case: struct fields and unnest
-- names: id city item
-- id: IDENTITY ds.t.id
-- city: IDENTITY ds.t.addr.city
-- item: TRANSFORMATION ds.t.items
-- rows: FILTER ds.t.items
SELECT id, t.addr.city AS city, item FROM ds.t AS t, UNNEST(t.items) AS item

-- case: except and replace
-- names: b c
-- b: IDENTITY ds.t.b
-- c: IDENTITY ds.t.c
SELECT * EXCEPT (a) FROM ds.t

-- case: countif, any_value, farm_fingerprint
-- names: n v h
-- n: AGGREGATION! ds.t.a
-- v: AGGREGATION ds.t.b
-- h: AGGREGATION! ds.t.c
SELECT COUNTIF(a > 1) AS n, ANY_VALUE(b) AS v, MAX(FARM_FINGERPRINT(c)) AS h FROM ds.t
