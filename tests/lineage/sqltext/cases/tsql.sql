-- case: brackets and top
-- names: Id
-- Id: IDENTITY dbo.Order Lines.Id
-- rows: SORT dbo.Order Lines.Id
SELECT TOP 10 [Id] FROM [dbo].[Order Lines] WITH (NOLOCK) ORDER BY [Id]

-- case: alias before the equals sign
-- names: x
-- x: TRANSFORMATION t.a
SELECT x = a + 1 FROM t

-- case: cross apply
-- names: a y
-- a: IDENTITY t.a
-- y: IDENTITY u.y
-- rows: FILTER u.k, FILTER t.k
SELECT t.a, q.y FROM t CROSS APPLY (SELECT TOP 1 y FROM u WHERE u.k = t.k) q

-- case: isnull and iif
-- names: x y
-- x: TRANSFORMATION t.a, CONDITIONAL t.a, TRANSFORMATION t.b, CONDITIONAL t.b
-- y: CONDITIONAL t.c, TRANSFORMATION t.d, TRANSFORMATION t.e
SELECT ISNULL(a, b) AS x, IIF(c > 0, d, e) AS y FROM t

-- case: hashbytes
-- names: x
-- x: TRANSFORMATION! t.a
SELECT HASHBYTES('SHA2_256', a) AS x FROM t

-- case: a prepared temporary table
-- names: x
-- x: IDENTITY t.a
-- rows: FILTER t.b
SELECT a AS x INTO #tmp FROM t WHERE b = 1; SELECT * FROM (SELECT x FROM #tmp) q

-- case: recursion without the word
-- names: id
-- id: IDENTITY n.id
-- rows: JOIN n.parent, JOIN n.id
WITH r AS (SELECT id FROM n UNION ALL SELECT n.id FROM n JOIN r ON n.parent = r.id) SELECT id FROM r

-- case: pivot
-- names: x y
-- tables: t
-- issue: PIVOT
SELECT * FROM t PIVOT (SUM(a) FOR b IN ([x], [y])) p
