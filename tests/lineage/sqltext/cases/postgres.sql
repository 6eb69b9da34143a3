-- case: join
-- names: k pq
-- k: IDENTITY jd_a.k
-- pq: TRANSFORMATION jd_a.p, TRANSFORMATION jd_b.q
-- rows: JOIN jd_a.k, JOIN jd_b.k
SELECT a.k, CONCAT(a.p, b.q) AS pq FROM jd_a a JOIN jd_b b ON a.k = b.k

-- case: star over one table
-- names: k p z
-- k: IDENTITY jd_a.k
-- p: IDENTITY jd_a.p
-- z: IDENTITY jd_a.z
-- rows: FILTER jd_a.z
SELECT * FROM jd_a WHERE z = 9

-- case: folding
-- names: id Name
-- id: IDENTITY public.orders.id
-- Name: IDENTITY public.orders.Name
-- rows: FILTER public.orders.total
SELECT ID, "Name" FROM PUBLIC.Orders WHERE Total > 0

-- case: quoted table
-- names: id
-- id: IDENTITY S.Order Lines.id
SELECT id FROM "S"."Order Lines"

-- case: alias is no column
-- names: order_key label
-- order_key: IDENTITY public.orders.id
-- label: TRANSFORMATION public.orders.nm
select id as order_key, upper(nm) as label from public.orders

-- case: cast
-- names: a b
-- a: TRANSFORMATION t.x
-- b: TRANSFORMATION t.y
SELECT x::int AS a, CAST(y AS date) AS b FROM t

-- case: literal and clock
-- names: one today
-- origin: one CONSTANT, today SYSTEM
-- tables: t
SELECT 1 AS one, current_date AS today FROM t

-- case: case
-- names: x
-- x: TRANSFORMATION t.b, TRANSFORMATION t.c, CONDITIONAL t.a
SELECT CASE WHEN a > 1 THEN b ELSE c END AS x FROM t

-- case: case with operand
-- names: x
-- x: CONDITIONAL t.a, CONDITIONAL t.d, TRANSFORMATION t.b
SELECT CASE a WHEN d THEN b ELSE 0 END AS x FROM t

-- case: coalesce and nullif
-- names: x y
-- x: TRANSFORMATION t.a, TRANSFORMATION t.b, CONDITIONAL t.a, CONDITIONAL t.b
-- y: TRANSFORMATION t.c, CONDITIONAL t.c, CONDITIONAL t.d
SELECT COALESCE(a, b) AS x, NULLIF(c, d) AS y FROM t

-- case: aggregates
-- names: g s n m c
-- g: IDENTITY t.g
-- s: AGGREGATION t.a
-- n: AGGREGATION! t.b
-- m: AGGREGATION! t.d
-- origin: c SYSTEM
-- type: g IDENTITY, s AGGREGATION, c AGGREGATION
-- rows: GROUP_BY t.g, FILTER t.e
SELECT g, sum(a) AS s, count(b) AS n, count(DISTINCT d) AS m, count(*) AS c
FROM t GROUP BY g HAVING max(e) > 1

-- case: aggregate with filter
-- names: s
-- s: AGGREGATION t.a, CONDITIONAL t.b
SELECT sum(a) FILTER (WHERE b > 1) AS s FROM t

-- case: string_agg with order
-- names: s
-- s: AGGREGATION t.a, CONDITIONAL t.b
SELECT string_agg(a, ',' ORDER BY b) AS s FROM t

-- case: percentile within group
-- names: p
-- p: AGGREGATION t.a
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY a) AS p FROM t

-- case: window
-- names: r s l
-- r: WINDOW t.a, WINDOW t.b
-- s: AGGREGATION t.c, WINDOW t.a
-- l: TRANSFORMATION t.d, WINDOW t.b
-- type: r TRANSFORMATION, s AGGREGATION, l TRANSFORMATION
-- origin: r SYSTEM
SELECT row_number() OVER (PARTITION BY a ORDER BY b DESC) AS r,
       sum(c) OVER (PARTITION BY a) AS s, lag(d) OVER (ORDER BY b) AS l FROM t

-- case: named window
-- names: s
-- s: AGGREGATION t.a, WINDOW t.b, WINDOW t.c
SELECT sum(a) OVER w AS s FROM t WINDOW w AS (PARTITION BY b ORDER BY c)

-- case: masking
-- names: a b c
-- a: TRANSFORMATION! t.x
-- b: TRANSFORMATION! t.y
-- c: TRANSFORMATION! t.z
SELECT md5(x) AS a, encode(digest(y, 'sha256'), 'hex') AS b, upper(md5(z)) AS c FROM t

-- case: masked, then counted
-- names: n
-- n: AGGREGATION! t.x
SELECT count(h) AS n FROM (SELECT md5(x) AS h FROM t) q

-- case: cte
-- names: u w
-- u: IDENTITY inv.u
-- w: IDENTITY inv.w
WITH q AS (SELECT u, v, w FROM inv) SELECT u, w FROM q

-- case: cte with column names, in another cte
-- names: a
-- a: AGGREGATION t.x
-- rows: GROUP_BY t.y, FILTER t.z
WITH p(a, b) AS (SELECT x, y FROM t WHERE z = 1), q AS (SELECT b, sum(a) AS s FROM p GROUP BY b)
SELECT s AS a FROM q

-- case: a cte hides a table
-- names: a
-- a: IDENTITY s.orders.x
WITH orders AS (SELECT x AS a FROM s.orders) SELECT a FROM orders

-- case: an unused cte reads nothing
-- names: a
-- a: IDENTITY t.a
WITH unused AS (SELECT x FROM u) SELECT a FROM t

-- case: recursive
-- names: id root
-- id: IDENTITY nodes.id
-- root: IDENTITY nodes.id
-- rows: FILTER nodes.parent, JOIN nodes.parent, JOIN nodes.id
WITH RECURSIVE tree(id, root) AS (
  SELECT id, id FROM nodes WHERE parent IS NULL
  UNION ALL
  SELECT n.id, t.root FROM nodes n JOIN tree t ON n.parent = t.id)
SELECT id, root FROM tree

-- case: a column that changes in the recursion
-- names: id path
-- id: IDENTITY nodes.id
-- path: IDENTITY nodes.name, TRANSFORMATION nodes.name
-- rows: JOIN nodes.parent, JOIN nodes.id
-- type: path TRANSFORMATION
WITH RECURSIVE tree AS (
  SELECT id, name AS path FROM nodes
  UNION ALL
  SELECT n.id, t.path || '/' || n.name FROM nodes n JOIN tree t ON n.parent = t.id)
SELECT * FROM tree

-- case: nested selects
-- names: u
-- u: IDENTITY inv.u
SELECT u FROM (SELECT u FROM (SELECT u FROM (SELECT u FROM inv) a) b) c

-- case: renamed in a derived table
-- names: u z
-- u: IDENTITY inv.u
-- z: IDENTITY ord.w
-- rows: JOIN inv.u, JOIN ord.u
SELECT i.u, d.ww AS z FROM inv i INNER JOIN (SELECT o.u, o.w AS ww FROM ord o) d ON i.u = d.u

-- case: derived table with column names
-- names: b
-- b: IDENTITY t.y
SELECT b FROM (SELECT x, y FROM t) AS q(a, b)

-- case: star over a derived table and a table
-- names: a b c d
-- a: IDENTITY t.x
-- b: IDENTITY u.b
-- c: IDENTITY u.c
-- d: IDENTITY u.d
SELECT * FROM (SELECT x AS a FROM t) q, u

-- case: star in a derived table
-- names: b a
-- b: TRANSFORMATION t.y
-- a: IDENTITY t.x
-- rows: FILTER t.z
SELECT y + 1 AS b, x AS a FROM (SELECT * FROM t WHERE z > 0) q

-- case: star over two unknown tables
-- names: a b
-- tables: t, u
-- rows: JOIN t.k, JOIN u.k
-- issue: a star over t and u
SELECT * FROM t JOIN u ON t.k = u.k

-- case: known columns beside a star over two
-- names: one a b
-- one: IDENTITY t.k
-- tables: t, u
-- issue: a star over t and u
SELECT t.k AS one, t.*, u.* FROM t CROSS JOIN u

-- case: unqualified column of a join
-- names: a
-- tables: t, u
-- rows: JOIN t.k, JOIN u.k
-- issue: of which table is not known
SELECT a FROM t JOIN u ON t.k = u.k

-- case: unqualified column of a join with a known side
-- names: a b
-- a: IDENTITY u.x
-- b: IDENTITY t.b
SELECT a, b FROM t CROSS JOIN (SELECT x AS a FROM u) q

-- case: using
-- names: k a b
-- k: IDENTITY t.k
-- a: IDENTITY t.a
-- b: IDENTITY u.b
-- rows: JOIN t.k, JOIN u.k
SELECT k, t.a, u.b FROM t LEFT JOIN u USING (k)

-- case: using of a full join
-- names: k
-- k: TRANSFORMATION t.k, TRANSFORMATION u.k
-- rows: JOIN t.k, JOIN u.k
SELECT k FROM t FULL JOIN u USING (k)

-- case: using of a right join
-- names: k
-- k: IDENTITY u.k
-- rows: JOIN t.k, JOIN u.k
SELECT k FROM t RIGHT JOIN u USING (k)

-- case: natural join of unknown tables
-- names: a
-- tables: t, u
-- issue: NATURAL JOIN
SELECT t.a FROM t NATURAL JOIN u
-- a: IDENTITY t.a

-- case: natural join of known ones
-- names: k b
-- k: IDENTITY t.k
-- b: IDENTITY u.b
-- rows: JOIN t.k, JOIN u.k
SELECT * FROM (SELECT k FROM t) x NATURAL JOIN (SELECT k, b FROM u) y

-- case: join in parentheses
-- names: a c
-- a: IDENTITY t.a
-- c: IDENTITY v.c
-- rows: JOIN t.i, JOIN u.i, JOIN v.k, JOIN u.k
SELECT t.a, v.c FROM (t JOIN u ON t.i = u.i) JOIN v ON v.k = u.k

-- case: union all
-- names: a
-- a: IDENTITY t.a, TRANSFORMATION u.b
-- type: a TRANSFORMATION
SELECT a FROM t UNION ALL SELECT b + 1 FROM u

-- case: union
-- names: a
-- a: IDENTITY t.a, IDENTITY u.b
-- rows: GROUP_BY t.a, GROUP_BY u.b, SORT t.a, SORT u.b
SELECT a FROM t UNION SELECT b FROM u ORDER BY a

-- case: union all of stars
-- names: a b
-- a: IDENTITY t.a
-- b: IDENTITY t.b
-- tables: t, u
-- issue: not known by position
SELECT * FROM t UNION ALL SELECT * FROM u

-- case: intersect and except
-- names: a
-- a: IDENTITY t.a
-- rows: FILTER t.a, FILTER u.b, FILTER v.c
SELECT a FROM t INTERSECT SELECT b FROM u EXCEPT SELECT c FROM v

-- case: distinct
-- names: a b
-- a: IDENTITY t.a
-- b: TRANSFORMATION t.b
-- rows: GROUP_BY t.a, GROUP_BY t.b
SELECT DISTINCT a, lower(b) AS b FROM t

-- case: distinct star
-- names: a b
-- a: IDENTITY t.a
-- b: IDENTITY t.b
-- rows: GROUP_BY t.a, GROUP_BY t.b
SELECT DISTINCT * FROM t

-- case: distinct star whose columns are not all known
-- names: a
-- a: IDENTITY t.a
-- issue: all columns of t count
SELECT a FROM (SELECT DISTINCT * FROM t) q

-- case: distinct on
-- names: a b
-- a: IDENTITY t.a
-- b: IDENTITY t.b
-- rows: GROUP_BY t.a, SORT t.a, SORT t.c
SELECT DISTINCT ON (a) a, b FROM t ORDER BY a, c

-- case: order by position and alias
-- names: a b
-- a: IDENTITY t.a
-- b: TRANSFORMATION t.x
-- rows: SORT t.x, SORT t.a
SELECT a, x + 1 AS b FROM t ORDER BY 2, a LIMIT 10

-- case: group by position
-- names: m n
-- m: TRANSFORMATION t.d
-- n: AGGREGATION! t.x
-- rows: GROUP_BY t.d
SELECT date_trunc('month', d) AS m, count(x) AS n FROM t GROUP BY 1

-- case: grouping sets
-- names: a s
-- a: IDENTITY t.a
-- s: AGGREGATION t.x
-- rows: GROUP_BY t.a, GROUP_BY t.b
SELECT a, sum(x) AS s FROM t GROUP BY GROUPING SETS ((a), (a, b), ())

-- case: rollup
-- names: s
-- s: AGGREGATION t.x
-- rows: GROUP_BY t.a, GROUP_BY t.b
SELECT sum(x) AS s FROM t GROUP BY ROLLUP (a, b)

-- case: in
-- names: a
-- a: IDENTITY t.a
-- rows: FILTER t.k, FILTER u.k, FILTER u.x
SELECT a FROM t WHERE k IN (SELECT k FROM u WHERE x = 1)

-- case: not exists, correlated
-- names: a
-- a: IDENTITY t.a
-- rows: FILTER t.k, FILTER u.k
SELECT a FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k)

-- case: any
-- names: a
-- a: IDENTITY t.a
-- rows: FILTER t.k, FILTER u.k
SELECT a FROM t WHERE k = ANY (SELECT k FROM u)

-- case: scalar subquery
-- names: a m
-- a: IDENTITY t.a
-- m: AGGREGATION u.v, FILTER u.k, FILTER t.k
SELECT a, (SELECT max(v) FROM u WHERE u.k = t.k) AS m FROM t

-- case: subquery in a condition
-- names: a
-- a: IDENTITY t.a
-- rows: FILTER t.b, FILTER u.v
SELECT a FROM t WHERE b > (SELECT avg(v) FROM u)

-- case: lateral
-- names: a v
-- a: IDENTITY t.a
-- v: IDENTITY u.v
-- rows: FILTER u.k, FILTER t.k, SORT u.w
SELECT t.a, q.v FROM t CROSS JOIN LATERAL (
  SELECT v FROM u WHERE u.k = t.k ORDER BY w LIMIT 1) q

-- case: unnest
-- names: id v
-- id: IDENTITY t.id
-- v: TRANSFORMATION t.arr
-- rows: FILTER t.arr
SELECT t.id, x.v FROM t, unnest(t.arr) AS x(v)

-- case: unnest in select
-- names: v
-- v: TRANSFORMATION t.arr
-- rows: FILTER t.arr
SELECT unnest(arr) AS v FROM t

-- case: values
-- names: a y
-- a: IDENTITY t.a
-- origin: y CONSTANT
-- rows: JOIN t.k
SELECT t.a, v.y FROM t JOIN (VALUES (1, 'p'), (2, 'q')) AS v(x, y) ON t.k = v.x

-- case: generate_series
-- names: n
-- origin: n SYSTEM
-- tables:
SELECT n FROM generate_series(1, 10) AS g(n)

-- case: json and arrays
-- names: a b
-- a: TRANSFORMATION t.doc
-- b: TRANSFORMATION t.arr
SELECT doc ->> 'x' AS a, arr[1] AS b FROM t

-- case: field of a composite
-- names: city
-- city: IDENTITY t.addr.city
SELECT (addr).city AS city FROM t

-- case: dbtable as a subquery
-- names: id
-- id: IDENTITY public.orders.id
-- rows: FILTER public.orders.total
SELECT * FROM (select id from public.orders where total > 0) q

-- case: an unknown function
-- names: x
-- x: TRANSFORMATION t.a
-- opaque: x score
SELECT score(a) AS x FROM t

-- case: unknown alias
-- names: nope
-- tables: ds.g1, ds.g2
-- rows: JOIN ds.g1.id, JOIN ds.g2.fid
-- issue: no such table
SELECT g9.nope FROM ds.g1 g1 JOIN ds.g2 g2 ON g2.fid = g1.id

-- case: no SQL
-- names: a b
-- tables:
-- issue: not parsed
NOT SQL AT ALL

-- case: broken, tables by their words
-- names: a
-- tables: s.t, u
-- issue: not parsed
SELECT extract(year FROM d), a IS DISTINCT FROM b FROM s.t JOIN u ON ((

-- case: broken, no invented table
-- names: a
-- tables: t
-- issue: not parsed
WITH q AS (SELECT a FROM t) SELECT * FROM q, generate_series(1, (

-- case: no query
-- names: a
-- tables:
-- issue: no query
INSERT INTO t VALUES (1)

-- case: more columns than the relation
-- names: a
-- a: IDENTITY t.a
-- issue: the text has 2 columns
SELECT a, b FROM t

-- case: unterminated
-- names: a
-- tables:
-- issue: not parsed
SELECT 'a FROM t

-- case: whole row count
-- names: n
-- origin: n SYSTEM
-- tables: t
SELECT count(*) AS n FROM t

-- case: a shadowed name inside a subquery
-- names: a
-- a: IDENTITY t.a
-- rows: FILTER t.a, FILTER u.b
SELECT a FROM t WHERE a IN (SELECT b FROM u AS t)

-- case: what the record hid
-- names: a
-- a: IDENTITY t.a
-- rows: JOIN t.token
-- tables: t, u
-- issue: taken for a secret
SELECT t.a FROM t JOIN u ON t.token = ***
