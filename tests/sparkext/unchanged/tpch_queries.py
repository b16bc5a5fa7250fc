"""The 22 queries of TPC-H, as its specification describes them, and how each may run over a stream.

In a text `{stream}` is the occurrence of a table that a streaming run reads as a stream; all else is static then.
Where an aggregate follows, the answers are those of output mode complete; without one, rows are appended, and nothing
sorts them.
Values of parameters are such that answers at scale 0.01 are not empty.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TpchQuery:
    """A query; `stream` is the table that may be a stream, None where Spark refuses that.

    `order` sorts the answers.
    """

    text: str
    stream: str | None
    order: str = ""
    mode: str = "complete"

    def over_tables(self) -> str:
        """As a query over tables."""
        return self.text.replace("{stream}", self.stream or "") + self.order

    def over_stream(self, name: str) -> str:
        """As a query over the streaming view `name` of that table."""
        text = self.text.replace("{stream}", name)
        return text + (self.order if self.mode == "complete" else "")


QUERIES: dict[int, TpchQuery] = {
    1: TpchQuery(
        """
        SELECT l_returnflag, l_linestatus, sum(l_quantity) sum_qty, sum(l_extendedprice) sum_base_price,
          sum(l_extendedprice * (1 - l_discount)) sum_disc_price,
          sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) sum_charge,
          avg(l_quantity) avg_qty, avg(l_extendedprice) avg_price, avg(l_discount) avg_disc, count(*) count_order
        FROM {stream} WHERE l_shipdate <= date '1998-12-01' - interval '90' day
        GROUP BY l_returnflag, l_linestatus""",
        "lineitem",
        " ORDER BY l_returnflag, l_linestatus",
    ),
    2: TpchQuery(
        """
        SELECT s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone, s_comment
        FROM {stream}, supplier, partsupp, nation, region
        WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey AND p_size < 15 AND p_type LIKE '%BRASS'
          AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'EUROPE'
          AND ps_supplycost = (
            SELECT min(ps_supplycost) FROM partsupp, supplier, nation, region
            WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey AND s_nationkey = n_nationkey
              AND n_regionkey = r_regionkey AND r_name = 'EUROPE')""",
        "part",
        " ORDER BY s_acctbal DESC, n_name, s_name, p_partkey",
        "append",
    ),
    3: TpchQuery(
        """
        SELECT l_orderkey, sum(l_extendedprice * (1 - l_discount)) revenue, o_orderdate, o_shippriority
        FROM customer, orders, {stream}
        WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey
          AND o_orderdate < date '1995-03-15' AND l_shipdate > date '1995-03-15'
        GROUP BY l_orderkey, o_orderdate, o_shippriority""",
        "lineitem",
        " ORDER BY revenue DESC, o_orderdate LIMIT 10",
    ),
    4: TpchQuery(
        """
        SELECT o_orderpriority, count(*) order_count FROM {stream}
        WHERE o_orderdate >= date '1993-07-01' AND o_orderdate < date '1993-07-01' + interval '3' month
          AND EXISTS (SELECT * FROM lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate)
        GROUP BY o_orderpriority""",
        "orders",
        " ORDER BY o_orderpriority",
    ),
    5: TpchQuery(
        """
        SELECT n_name, sum(l_extendedprice * (1 - l_discount)) revenue
        FROM customer, orders, {stream}, supplier, nation, region
        WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey
          AND c_nationkey = s_nationkey AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey
          AND r_name = 'ASIA' AND o_orderdate >= date '1994-01-01'
          AND o_orderdate < date '1994-01-01' + interval '1' year
        GROUP BY n_name""",
        "lineitem",
        " ORDER BY revenue DESC",
    ),
    6: TpchQuery(
        """
        SELECT sum(l_extendedprice * l_discount) revenue FROM {stream}
        WHERE l_shipdate >= date '1994-01-01' AND l_shipdate < date '1994-01-01' + interval '1' year
          AND l_discount BETWEEN 0.06 - 0.01 AND 0.06 + 0.01 AND l_quantity < 24""",
        "lineitem",
    ),
    7: TpchQuery(
        """
        SELECT supp_nation, cust_nation, l_year, sum(volume) revenue FROM (
          SELECT n1.n_name supp_nation, n2.n_name cust_nation, year(l_shipdate) l_year,
            l_extendedprice * (1 - l_discount) volume
          FROM supplier, {stream}, orders, customer, nation n1, nation n2
          WHERE s_suppkey = l_suppkey AND o_orderkey = l_orderkey AND c_custkey = o_custkey
            AND s_nationkey = n1.n_nationkey AND c_nationkey = n2.n_nationkey
            AND (n1.n_name = 'FRANCE' AND n2.n_name = 'GERMANY' OR n1.n_name = 'GERMANY' AND n2.n_name = 'FRANCE')
            AND l_shipdate BETWEEN date '1995-01-01' AND date '1996-12-31') shipping
        GROUP BY supp_nation, cust_nation, l_year""",
        "lineitem",
        " ORDER BY supp_nation, cust_nation, l_year",
    ),
    8: TpchQuery(
        """
        SELECT o_year, sum(CASE WHEN nation = 'BRAZIL' THEN volume ELSE 0 END) / sum(volume) mkt_share FROM (
          SELECT year(o_orderdate) o_year, l_extendedprice * (1 - l_discount) volume, n2.n_name nation
          FROM part, supplier, {stream}, orders, customer, nation n1, nation n2, region
          WHERE p_partkey = l_partkey AND s_suppkey = l_suppkey AND l_orderkey = o_orderkey
            AND o_custkey = c_custkey AND c_nationkey = n1.n_nationkey AND n1.n_regionkey = r_regionkey
            AND r_name = 'AMERICA' AND s_nationkey = n2.n_nationkey AND p_type LIKE 'ECONOMY %'
            AND o_orderdate BETWEEN date '1995-01-01' AND date '1996-12-31') all_nations
        GROUP BY o_year""",
        "lineitem",
        " ORDER BY o_year",
    ),
    9: TpchQuery(
        """
        SELECT nation, o_year, sum(amount) sum_profit FROM (
          SELECT n_name nation, year(o_orderdate) o_year,
            l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity amount
          FROM part, supplier, {stream}, partsupp, orders, nation
          WHERE s_suppkey = l_suppkey AND ps_suppkey = l_suppkey AND ps_partkey = l_partkey
            AND p_partkey = l_partkey AND o_orderkey = l_orderkey AND s_nationkey = n_nationkey
            AND p_name LIKE '%green%') profit
        GROUP BY nation, o_year""",
        "lineitem",
        " ORDER BY nation, o_year DESC",
    ),
    10: TpchQuery(
        """
        SELECT c_custkey, c_name, sum(l_extendedprice * (1 - l_discount)) revenue, c_acctbal, n_name, c_address,
          c_phone, c_comment
        FROM customer, orders, {stream}, nation
        WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND o_orderdate >= date '1993-10-01'
          AND o_orderdate < date '1993-10-01' + interval '3' month AND l_returnflag = 'R'
          AND c_nationkey = n_nationkey
        GROUP BY c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment""",
        "lineitem",
        " ORDER BY revenue DESC LIMIT 20",
    ),
    11: TpchQuery(
        """
        SELECT ps_partkey, sum(ps_supplycost * ps_availqty) value FROM {stream}, supplier, nation
        WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey AND n_name = 'GERMANY'
        GROUP BY ps_partkey
        HAVING sum(ps_supplycost * ps_availqty) > (
          SELECT sum(ps_supplycost * ps_availqty) * 0.0001 / 0.01 FROM partsupp, supplier, nation
          WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey AND n_name = 'GERMANY')""",
        "partsupp",
        " ORDER BY value DESC, ps_partkey",
    ),
    12: TpchQuery(
        """
        SELECT l_shipmode,
          sum(CASE WHEN o_orderpriority IN ('1-URGENT', '2-HIGH') THEN 1 ELSE 0 END) high_line_count,
          sum(CASE WHEN o_orderpriority NOT IN ('1-URGENT', '2-HIGH') THEN 1 ELSE 0 END) low_line_count
        FROM orders, {stream}
        WHERE o_orderkey = l_orderkey AND l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate
          AND l_shipdate < l_commitdate AND l_receiptdate >= date '1994-01-01'
          AND l_receiptdate < date '1994-01-01' + interval '1' year
        GROUP BY l_shipmode""",
        "lineitem",
        " ORDER BY l_shipmode",
    ),
    13: TpchQuery(
        """
        SELECT c_count, count(*) custdist FROM (
          SELECT c_custkey, count(o_orderkey) c_count
          FROM customer LEFT OUTER JOIN orders ON c_custkey = o_custkey AND o_comment NOT LIKE '%special%requests%'
          GROUP BY c_custkey) c_orders
        GROUP BY c_count""",
        None,
        " ORDER BY custdist DESC, c_count DESC",
    ),
    14: TpchQuery(
        """
        SELECT 100.00 * sum(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (1 - l_discount) ELSE 0 END)
          / sum(l_extendedprice * (1 - l_discount)) promo_revenue
        FROM {stream}, part
        WHERE l_partkey = p_partkey AND l_shipdate >= date '1995-09-01'
          AND l_shipdate < date '1995-09-01' + interval '1' month""",
        "lineitem",
    ),
    15: TpchQuery(
        """
        WITH revenue (supplier_no, total_revenue) AS (
          SELECT l_suppkey, sum(l_extendedprice * (1 - l_discount)) FROM lineitem
          WHERE l_shipdate >= date '1996-01-01' AND l_shipdate < date '1996-01-01' + interval '3' month
          GROUP BY l_suppkey)
        SELECT s_suppkey, s_name, s_address, s_phone, total_revenue FROM {stream}, revenue
        WHERE s_suppkey = supplier_no AND total_revenue = (SELECT max(total_revenue) FROM revenue)""",
        "supplier",
        " ORDER BY s_suppkey",
        "append",
    ),
    16: TpchQuery(
        """
        SELECT p_brand, p_type, p_size, count(DISTINCT ps_suppkey) supplier_cnt FROM partsupp, part
        WHERE p_partkey = ps_partkey AND p_brand <> 'Brand#45' AND p_type NOT LIKE 'MEDIUM POLISHED%'
          AND p_size IN (49, 14, 23, 45, 19, 3, 36, 9)
          AND ps_suppkey NOT IN (SELECT s_suppkey FROM supplier WHERE s_comment LIKE '%Customer%Complaints%')
        GROUP BY p_brand, p_type, p_size""",
        None,
        " ORDER BY supplier_cnt DESC, p_brand, p_type, p_size",
    ),
    17: TpchQuery(
        """
        SELECT sum(l_extendedprice) / 7.0 avg_yearly FROM {stream} l, part
        WHERE p_partkey = l.l_partkey AND p_brand = 'Brand#23' AND p_container LIKE 'MED %'
          AND l_quantity < (SELECT 0.4 * avg(l_quantity) FROM lineitem WHERE l_partkey = p_partkey)""",
        "lineitem",
    ),
    18: TpchQuery(
        """
        SELECT c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity) quantity
        FROM customer, orders, {stream}
        WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING sum(l_quantity) > 250)
          AND c_custkey = o_custkey AND o_orderkey = l_orderkey
        GROUP BY c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice""",
        "lineitem",
        " ORDER BY o_totalprice DESC, o_orderdate LIMIT 100",
    ),
    19: TpchQuery(
        """
        SELECT sum(l_extendedprice * (1 - l_discount)) revenue FROM {stream}, part
        WHERE p_partkey = l_partkey AND l_shipmode IN ('AIR', 'REG AIR') AND l_shipinstruct = 'DELIVER IN PERSON'
          AND (p_brand = 'Brand#12' AND p_container IN ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG')
              AND l_quantity BETWEEN 1 AND 11 AND p_size BETWEEN 1 AND 5
            OR p_brand = 'Brand#23' AND p_container IN ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK')
              AND l_quantity BETWEEN 10 AND 20 AND p_size BETWEEN 1 AND 10
            OR p_brand = 'Brand#34' AND p_container IN ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG')
              AND l_quantity BETWEEN 20 AND 30 AND p_size BETWEEN 1 AND 15)""",
        "lineitem",
    ),
    20: TpchQuery(
        """
        SELECT s_name, s_address FROM {stream}, nation
        WHERE s_suppkey IN (
            SELECT ps_suppkey FROM partsupp
            WHERE ps_partkey IN (SELECT p_partkey FROM part WHERE p_name LIKE 'f%')
              AND ps_availqty > (
                SELECT 0.5 * sum(l_quantity) FROM lineitem
                WHERE l_partkey = ps_partkey AND l_suppkey = ps_suppkey AND l_shipdate >= date '1994-01-01'
                  AND l_shipdate < date '1994-01-01' + interval '1' year))
          AND s_nationkey = n_nationkey AND n_name IN ('CANADA', 'BRAZIL', 'EGYPT')""",
        "supplier",
        " ORDER BY s_name",
        "append",
    ),
    21: TpchQuery(
        """
        SELECT s_name, count(*) numwait FROM supplier, {stream} l1, orders, nation
        WHERE s_suppkey = l1.l_suppkey AND o_orderkey = l1.l_orderkey AND o_orderstatus = 'F'
          AND l1.l_receiptdate > l1.l_commitdate
          AND EXISTS (SELECT * FROM lineitem l2 WHERE l2.l_orderkey = l1.l_orderkey AND l2.l_suppkey <> l1.l_suppkey)
          AND NOT EXISTS (
            SELECT * FROM lineitem l3 WHERE l3.l_orderkey = l1.l_orderkey AND l3.l_suppkey <> l1.l_suppkey
              AND l3.l_receiptdate > l3.l_commitdate)
          AND s_nationkey = n_nationkey AND n_name = 'SAUDI ARABIA'
        GROUP BY s_name""",
        "lineitem",
        " ORDER BY numwait DESC, s_name LIMIT 100",
    ),
    22: TpchQuery(
        """
        SELECT cntrycode, count(*) numcust, sum(c_acctbal) totacctbal FROM (
          SELECT substring(c_phone, 1, 2) cntrycode, c_acctbal FROM {stream} c
          WHERE substring(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17')
            AND c_acctbal > (
              SELECT avg(c_acctbal) FROM customer
              WHERE c_acctbal > 0.00 AND substring(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17'))
            AND NOT EXISTS (SELECT * FROM orders WHERE o_custkey = c_custkey)) custsale
        GROUP BY cntrycode""",
        "customer",
        " ORDER BY cntrycode",
    ),
}

WITHOUT_JOIN = (1, 6)
STREAMING = [number for number, query in QUERIES.items() if query.stream is not None]
