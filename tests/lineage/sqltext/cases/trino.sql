-- case: three parts
-- names: a
-- a: IDENTITY hive.web.logs.a
SELECT a FROM hive.web.logs

-- case: cross join unnest
-- names: id v
-- id: IDENTITY t.id
-- v: TRANSFORMATION t.arr
-- rows: FILTER t.arr
SELECT t.id, x.v FROM t CROSS JOIN UNNEST(t.arr) AS x (v)

-- case: row fields, try_cast, lambda
-- names: city n b
-- city: IDENTITY t.addr.city
-- n: TRANSFORMATION t.s
-- b: TRANSFORMATION t.arr, TRANSFORMATION t.k
SELECT addr.city AS city, TRY_CAST(s AS integer) AS n, transform(arr, e -> e + k) AS b FROM t
