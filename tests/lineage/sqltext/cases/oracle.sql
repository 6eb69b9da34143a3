-- case: folding
-- names: ID Nm
-- ID: IDENTITY HR.EMP.ID
-- Nm: IDENTITY HR.EMP.Nm
select id, "Nm" from hr.emp

-- case: decode, nvl, nvl2
-- names: X Y Z
-- X: CONDITIONAL T.A, TRANSFORMATION T.B, TRANSFORMATION T.C
-- Y: TRANSFORMATION T.D, CONDITIONAL T.D, TRANSFORMATION T.E, CONDITIONAL T.E
-- Z: CONDITIONAL T.F, TRANSFORMATION T.G, TRANSFORMATION T.H
select decode(a, 1, b, c) x, nvl(d, e) y, nvl2(f, g, h) z from t

-- case: listagg
-- names: X
-- X: AGGREGATION T.N, CONDITIONAL T.O
select listagg(n, ',') within group (order by o) x from t

-- case: keep
-- names: X
-- X: AGGREGATION T.A, CONDITIONAL T.B
select max(a) keep (dense_rank first order by b) x from t

-- case: connect by
-- names: ID LVL
-- ID: IDENTITY T.ID
-- origin: LVL SYSTEM
-- rows: FILTER T.PARENT, FILTER T.ID
select id, level lvl from t start with parent is null connect by prior id = parent

-- case: rownum and dual
-- names: A R
-- A: IDENTITY T.A
-- origin: R SYSTEM
select a, rownum r from t where rownum < 10

-- case: outer join with plus
-- names: A B
-- A: IDENTITY T.A
-- B: IDENTITY U.B
-- rows: FILTER T.K, FILTER U.K
select t.a, u.b from t, u where t.k = u.k(+)

-- case: standard_hash
-- names: X
-- X: TRANSFORMATION! T.A
select standard_hash(a, 'SHA256') x from t

-- case: minus
-- names: A
-- A: IDENTITY T.A
-- rows: FILTER T.A, FILTER U.A
select a from t minus select a from u
