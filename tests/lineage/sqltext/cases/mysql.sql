-- case: backticks, double quotes are text
-- names: Id s
-- Id: IDENTITY shop.Orders.Id
-- origin: s CONSTANT
SELECT `Id`, "text" AS s FROM `shop`.`Orders`

-- case: if and ifnull
-- names: x y
-- x: CONDITIONAL t.a, TRANSFORMATION t.b, TRANSFORMATION t.c
-- y: TRANSFORMATION t.d, CONDITIONAL t.d, TRANSFORMATION t.e, CONDITIONAL t.e
SELECT IF(a > 1, b, c) AS x, IFNULL(d, e) AS y FROM t

-- case: group_concat
-- names: x
-- x: AGGREGATION t.a, CONDITIONAL t.b
-- rows: GROUP_BY t.g
SELECT GROUP_CONCAT(a ORDER BY b SEPARATOR ';') AS x FROM t GROUP BY g

-- case: sha2
-- names: x
-- x: TRANSFORMATION! t.mail
SELECT SHA2(mail, 256) AS x FROM t

-- case: straight join and limit
-- names: a
-- a: IDENTITY t.a
-- rows: JOIN t.k, JOIN u.k, SORT t.a
SELECT t.a FROM t STRAIGHT_JOIN u ON t.k = u.k ORDER BY t.a LIMIT 5, 10
