-- case: three parts
-- names: PID PNAME
-- PID: IDENTITY DB0.SC0.PAINT.PID
-- PNAME: TRANSFORMATION DB0.SC0.PAINT.PNAME, TRANSFORMATION DB9.SC9.PAINT.TINT
-- rows: JOIN DB0.SC0.PAINT.PID, JOIN DB9.SC9.PAINT.PID
SELECT x.PID AS PID, CONCAT(y.TINT, x.PNAME) AS PNAME
FROM DB0.SC0.PAINT AS x JOIN DB9.SC9.PAINT AS y ON x.PID = y.PID

-- case: qualify
-- names: A
-- A: IDENTITY T.A
-- rows: FILTER T.B, FILTER T.C
select a from t qualify row_number() over (partition by b order by c) = 1

-- case: flatten
-- names: ID V
-- ID: IDENTITY T.ID
-- V: TRANSFORMATION T.J
-- rows: FILTER T.J
select t.id, f.value:x::int as v from t, lateral flatten(input => t.j) f

-- case: exclude
-- names: B C
-- B: IDENTITY T.B
-- C: IDENTITY T.C
select * exclude (a) from t

-- case: alias in the same select
-- names: X Y
-- X: TRANSFORMATION T.A
-- Y: TRANSFORMATION T.A
-- issue: taken for the alias
select a + 1 as x, x * 2 as y from t

-- case: alias in the same select over known columns
-- names: X Y
-- X: TRANSFORMATION T.A
-- Y: TRANSFORMATION T.A
select a + 1 as x, x * 2 as y from (select a from t) q

-- case: iff, object, max_by
-- names: X M
-- X: CONDITIONAL T.A, TRANSFORMATION T.B, TRANSFORMATION T.C
-- M: AGGREGATION T.V, CONDITIONAL T.W
select iff(a > 1, b, c) x, max_by(v, w) m from t
