WITH RECURSIVE up(id) AS (SELECT 20 UNION ALL SELECT parent FROM slice JOIN up USING (id)) SELECT *, name FROM up, counter, thread, file
