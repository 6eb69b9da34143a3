-- case: isolation and fetch
-- names: A
-- A: IDENTITY S.T.A
-- rows: FILTER S.T.B
SELECT a FROM s.t WHERE b = 1 FETCH FIRST 10 ROWS ONLY WITH UR

-- case: isolation in a subquery
-- names: A
-- A: IDENTITY S.T.A
SELECT * FROM (SELECT a FROM s.t WITH UR) q

-- case: values and dummy
-- names: A
-- tables: SYSIBM.SYSDUMMY1
-- origin: A SYSTEM
SELECT CURRENT_TIMESTAMP AS a FROM sysibm.sysdummy1
