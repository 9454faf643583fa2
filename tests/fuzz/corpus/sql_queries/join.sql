SELECT k.name, l.ts, k.dur FROM slice k JOIN slice l ON l.correlation = k.correlation AND l.rank = k.rank WHERE k.stream IS NOT NULL AND k.ts BETWEEN 5 AND 50.5 ORDER BY k.id
