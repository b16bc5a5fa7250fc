"""Spark SQL queries of many shapes over the tables of `tables.py`."""

from __future__ import annotations

# Name -> text; those in ORDERED give their rows in an order that is fixed.
SHAPES = {
    "scan": "SELECT * FROM {now}",
    "filter": "SELECT k, upper(s) AS u FROM {now} WHERE d > 1 OR s = 's1'",
    "inner long key": "SELECT * FROM {now} o JOIN {names} n ON o.k = n.k",
    "inner written round": "SELECT * FROM {names} n JOIN {now} o ON o.k = n.k",
    "inner string key": "SELECT o.k, r.title FROM {now} o JOIN {rooms} r ON o.s = r.s WHERE r.area < 4",
    "inner double key": "SELECT o.k, r.title, o.d FROM {now} o JOIN {rooms} r ON o.d = r.area",
    "inner timestamp key": "SELECT w.k, d.b FROM {win} w JOIN {days} d ON w.ts = d.ts",
    "inner date and int key": "SELECT * FROM {tri} t JOIN {days} d ON t.day = d.day AND t.a = d.a",
    "inner decimal key": "SELECT t.a, d.day FROM {tri} t JOIN {days} d ON t.b = d.b",
    "int against long key": "SELECT * FROM {tri} t JOIN {names} n ON t.a = n.k",
    "live with live": "SELECT * FROM {now} o JOIN {win} w ON o.k = w.k",
    "live with live on two keys": "SELECT o.d FROM {now} o JOIN {win} w ON o.k = w.k AND o.s = w.s",
    "live with live filtered": """SELECT * FROM {now} o
        JOIN (SELECT k AS kk, ts FROM {win} WHERE s < 's3') w ON o.k = w.kk""",
    "chain of five": """SELECT o.k, w.ts, n.n, r.title, t.b FROM {now} o JOIN {win} w ON o.s = w.s
        JOIN {names} n ON o.k = n.k JOIN {rooms} r ON r.s = w.s JOIN {tri} t ON t.a = w.k""",
    "triangle": "SELECT o.s FROM {now} o, {win} w, {names} n WHERE o.k = w.k AND w.k = n.k AND n.k = o.k",
    "same column twice": "SELECT o.k FROM {now} o, {tri} t, {names} n WHERE o.k = n.k AND t.a = n.k",
    "self join": "SELECT a.k, b.s FROM {now} a JOIN {now} b ON a.k = b.k JOIN {names} n ON n.k = b.k",
    "condition over two": """SELECT o.k, w.k FROM {now} o JOIN {win} w ON o.s = w.s AND o.k < w.k
        JOIN {names} n ON n.k = w.k WHERE length(n.n) + o.k > 3""",
    "no equality": "SELECT o.k, w.k FROM {now} o JOIN {win} w ON o.k < w.k",
    "null-safe equality": "SELECT o.s, r.title FROM {now} o JOIN {rooms} r ON o.s <=> r.s",
    "cross": "SELECT o.k, n.n FROM {now} o CROSS JOIN {names} n",
    "key of an expression": "SELECT * FROM {now} o JOIN {rooms} r ON concat('s', o.k % 3) = r.s",
    "left outer static": "SELECT * FROM {now} o LEFT JOIN {names} n ON o.k = n.k AND n.n <> 'n2'",
    "left outer live": "SELECT * FROM {now} o LEFT JOIN {win} w ON o.k = w.k AND w.s > 's1'",
    "right outer": "SELECT * FROM {names} n RIGHT JOIN {now} o ON o.k = n.k",
    "static left outer live": "SELECT * FROM {names} n LEFT JOIN {now} o ON o.k = n.k",
    "full outer": "SELECT * FROM {now} o FULL JOIN {names} n ON o.k = n.k",
    "semi": "SELECT * FROM {now} o WHERE EXISTS (SELECT 1 FROM {names} n WHERE n.k = o.k AND n.n = 'n3')",
    "semi live": "SELECT * FROM {names} n WHERE n.k IN (SELECT k FROM {win})",
    "anti": "SELECT * FROM {now} o WHERE NOT EXISTS (SELECT 1 FROM {win} w WHERE w.k = o.k)",
    "anti static": "SELECT * FROM {now} o LEFT ANTI JOIN {names} n ON n.k = o.k",
    "not in": "SELECT * FROM {now} o WHERE o.k NOT IN (SELECT k FROM {win})",
    "not in static": "SELECT * FROM {now} o WHERE o.s NOT IN (SELECT s FROM {rooms} WHERE area < 3)",
    "not in a join": """SELECT o.k, n.n FROM {now} o JOIN {names} n ON n.k = o.k
        WHERE o.k + 1 NOT IN (SELECT w.k FROM {win} w JOIN {tri} t ON t.a = w.k)""",
    "not in of what is not null": """SELECT * FROM {now} o WHERE coalesce(o.k, 3) NOT IN
        (SELECT k FROM {win} WHERE s > 's1')""",
    "not in where nothing is null": """SELECT * FROM {now} o WHERE o.k NOT IN
        (SELECT k FROM {win} WHERE k IS NOT NULL AND s < 's2')""",
    "not in two": "SELECT * FROM {now} o WHERE (o.k, o.s) NOT IN (SELECT k, s FROM {win})",
    "existence": "SELECT k, s IN (SELECT s FROM {rooms} WHERE area > 2) AS found FROM {now}",
    "outer over inner": """SELECT o.k, n.n, r.title FROM {now} o JOIN {win} w ON o.k = w.k
        LEFT JOIN {names} n ON n.k = w.k LEFT JOIN {rooms} r ON r.s = o.s""",
    "static join as an input": """SELECT o.k, x.title FROM {now} o LEFT JOIN
        (SELECT n.k, r.title FROM {names} n JOIN {rooms} r ON r.area = n.k) x ON x.k = o.k""",
    "count": "SELECT count(*) AS n, sum(k) AS total, max(d) AS most FROM {now}",
    "count of a join": "SELECT count(*) AS n FROM {now} o JOIN {names} n ON o.k = n.k JOIN {win} w ON w.k = n.k",
    "group": "SELECT s, count(*) AS n, avg(d) AS mean FROM {now} GROUP BY s",
    "group of a join": """SELECT r.title, count(DISTINCT o.k) AS n, sum(r.area) AS area FROM {now} o
        JOIN {rooms} r ON o.s = r.s GROUP BY r.title HAVING count(*) > 1""",
    "greatest text of each": "SELECT k, max(s) AS most, count(*) AS n FROM {now} GROUP BY k",
    "greatest text": "SELECT max(n.n) AS most FROM {now} o JOIN {names} n ON o.k = n.k",
    "collect": "SELECT k, sort_array(collect_list(s)) AS all FROM {now} GROUP BY k",
    "rollup": "SELECT k, s, count(*) AS n FROM {now} GROUP BY ROLLUP (k, s)",
    "distinct": "SELECT DISTINCT s FROM {win}",
    "join of a group": """SELECT o.k, g.n FROM {now} o JOIN (SELECT s, count(*) AS n FROM {win} GROUP BY s) g
        ON g.s = o.s JOIN {names} x ON x.k = o.k""",
    "join of a static group": """SELECT o.k, g.n FROM {now} o JOIN
        (SELECT n, count(*) AS c, max(k) AS k FROM {names} GROUP BY n) g ON g.k = o.k""",
    "union": "SELECT k, s FROM {now} UNION ALL SELECT k, s FROM {win} UNION ALL SELECT k, n FROM {names}",
    "union of joins": """SELECT o.k, n.n FROM {now} o JOIN {names} n ON o.k = n.k UNION
        SELECT w.k, r.title FROM {win} w JOIN {rooms} r ON w.s = r.s""",
    "except": "SELECT k FROM {now} EXCEPT SELECT k FROM {win}",
    "intersect": "SELECT s FROM {now} INTERSECT SELECT s FROM {rooms}",
    "scalar subquery live": "SELECT k, (SELECT max(k) FROM {win}) AS m FROM {now} WHERE k < (SELECT avg(k) FROM {win})",
    "scalar subquery static": "SELECT k FROM {now} WHERE k < (SELECT avg(k) FROM {names})",
    "scalar subquery of a join": """SELECT o.k, n.n FROM {now} o JOIN {names} n ON o.k = n.k WHERE o.k >=
        (SELECT min(w.k) FROM {win} w JOIN {names} m ON m.k = w.k JOIN {rooms} r ON r.s = w.s)""",
    "scalar subquery in another": """SELECT k, (SELECT count(*) FROM {win} WHERE k > (SELECT min(k) FROM {now})) AS n,
        (SELECT max(s) FROM {now}) AS s FROM {win}""",
    "scalar subquery over a static table": "SELECT n.k, n.n FROM {names} n WHERE n.k < (SELECT max(k) FROM {now})",
    "scalar subquery beside a static group": """SELECT n, count(*) + (SELECT count(*) FROM {win}) AS c
        FROM {names} GROUP BY n""",
    "scalar subquery beside a static count": "SELECT count(*) + (SELECT count(*) FROM {win}) AS c FROM {names}",
    "cross without columns": "SELECT o.k FROM {now} o CROSS JOIN {names}",
    "scalar subquery as a key": """SELECT o.k, n.n FROM {now} o JOIN {names} n
        ON n.k + (SELECT count(*) % 3 FROM {win}) = o.k LEFT JOIN {rooms} r ON r.s = o.s""",
    "scalar subquery as a live key": """SELECT w.k, o.k AS other FROM {win} w LEFT JOIN {now} o
        ON o.k - (SELECT min(k) FROM {win}) = w.k""",
    "scalar subquery of a text": "SELECT k, concat((SELECT max(s) FROM {win}), s) AS t FROM {now} ORDER BY k, t",
    "scalar subquery of nested types": """SELECT k, (SELECT collect_set(k) FROM {now}) AS a,
        (SELECT struct(max(b), max(day)) FROM {tri}) AS b FROM {win}""",
    "scalar subquery without rows": "SELECT k, (SELECT k FROM {now} WHERE k > 1000) AS none FROM {win}",
    "scalar subquery beside an outer join": """SELECT o.k, n.n FROM {now} o LEFT JOIN {names} n
        ON o.k = n.k AND n.k > (SELECT avg(k) FROM {win})""",
    "correlated subquery": "SELECT o.k, (SELECT count(*) FROM {win} w WHERE w.k = o.k) AS n FROM {now} o",
    "window function": "SELECT k, s, rank() OVER (PARTITION BY s ORDER BY k, d) AS r FROM {now}",
    "running total": """SELECT k, sum(d) OVER (ORDER BY k, s, d ROWS UNBOUNDED PRECEDING) AS t
        FROM {now} WHERE NOT isnan(d)""",
    "first of each": """SELECT * FROM (SELECT k, s, row_number() OVER (PARTITION BY s ORDER BY k, d) AS r
        FROM {now}) WHERE r <= 2""",
    "explode": """SELECT x.a, x.tag, r.title FROM (SELECT a, explode(tags) AS tag FROM {tri}) x
        JOIN {rooms} r ON r.s = x.tag""",
    "order": "SELECT k, s, d FROM {now} ORDER BY k NULLS LAST, s DESC, d",
    "top": "SELECT o.k, o.s, n.n FROM {now} o JOIN {names} n ON o.k = n.k ORDER BY o.k DESC, o.s, n.n LIMIT 5",
    "page": "SELECT k, s, d FROM {now} ORDER BY s, k, d LIMIT 4 OFFSET 3",
    "common table": """WITH both AS (SELECT o.k, w.s FROM {now} o JOIN {win} w ON o.k = w.k)
        SELECT a.k, b.s, n.n FROM both a JOIN both b ON a.k = b.k JOIN {names} n ON n.k = a.k""",
    "constant": "SELECT k, true AS yes, 'x' AS x FROM {now} WHERE 1 = 1 AND k IS NOT NULL",
    "nothing live": "SELECT n, count(*) AS c FROM {names} GROUP BY n",
    "nested types": "SELECT a, struct(a, b) AS pair, map('k', day) AS m, tags FROM {tri}",
    "no rows": "SELECT * FROM {now} o JOIN {names} n ON o.k = n.k WHERE 1 = 0",
}
ORDERED = ("order", "top", "page")
# Shapes that must be answered without a Spark job.
ON_DRIVER = (
    "scan",
    "inner long key",
    "inner written round",
    "inner string key",
    "inner double key",
    "chain of five",
    "triangle",
    "left outer static",
    "left outer live",
    "right outer",
    "semi",
    "anti",
    "not in",
    "not in static",
    "not in a join",
    "not in of what is not null",
    "not in where nothing is null",
    "group of a join",
    "join of a group",
    "full outer",
    "scalar subquery live",
    "scalar subquery static",
    "scalar subquery of a join",
    "scalar subquery in another",
    "scalar subquery over a static table",
    "scalar subquery beside a static group",
    "scalar subquery as a key",
    "scalar subquery as a live key",
    "scalar subquery of a text",
    "scalar subquery of nested types",
    "scalar subquery beside an outer join",
    "greatest text of each",
    "greatest text",
    "window function",
    "order",
    "top",
)
