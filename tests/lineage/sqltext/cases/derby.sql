-- case: quoted lower case
-- names: id
-- id: IDENTITY Q_T.id
-- rows: FILTER Q_T.id
SELECT * FROM (SELECT "id" FROM Q_T WHERE "id" > 0) q
