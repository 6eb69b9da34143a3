-- case: sel and qualify
-- names: a
-- a: IDENTITY db.t.a
-- rows: FILTER db.t.b
SELECT a FROM db.t QUALIFY ROW_NUMBER() OVER (ORDER BY b) = 1
