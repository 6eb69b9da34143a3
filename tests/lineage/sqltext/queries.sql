-- What is run on PostgreSQL over t(k, a, b, s) and u(k, c, d), one column changed at a time.
SELECT k, a + b AS x, s FROM t

SELECT t.k, u.c, t.a * u.d AS x FROM t JOIN u ON t.k = u.k

SELECT t.a, u.c FROM t LEFT JOIN u USING (k)

SELECT s, sum(a) AS x, count(b) AS n FROM t GROUP BY s

SELECT s, max(a) AS x FROM t GROUP BY s HAVING min(b) > 1

SELECT CASE WHEN a > 2 THEN b ELSE k END AS x FROM t

SELECT coalesce(a, b) AS x, nullif(b, k) AS y FROM t

SELECT k, row_number() OVER (PARTITION BY s ORDER BY a, k) AS r, sum(b) OVER (PARTITION BY s) AS w FROM t

SELECT k, a FROM t WHERE k IN (SELECT k FROM u WHERE c > 1)

SELECT k, (SELECT max(c) FROM u WHERE u.k = t.k) AS m FROM t

SELECT k FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.d > t.b)

WITH q AS (SELECT s, avg(a) AS m FROM t GROUP BY s) SELECT t.k, q.m FROM t JOIN q ON q.s = t.s

SELECT a FROM t UNION SELECT c FROM u

SELECT a FROM t INTERSECT SELECT c FROM u

SELECT DISTINCT ON (s) s, a FROM t ORDER BY s, b % 2, k

SELECT q.k, q.x FROM (SELECT k, a % 3 AS x, b FROM t) q WHERE q.b > 1

SELECT t.k, v.c FROM t CROSS JOIN LATERAL (SELECT c FROM u WHERE u.k = t.k ORDER BY d, c LIMIT 1) v

SELECT sum(a) FILTER (WHERE b > 2) AS x, string_agg(s, ',' ORDER BY k) AS l FROM t

WITH RECURSIVE r(k, a) AS (SELECT k, a FROM t WHERE b = 1 UNION SELECT t.k, r.a FROM t JOIN r ON t.a = r.k) SELECT k, a FROM r
