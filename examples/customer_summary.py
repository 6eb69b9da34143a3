"""A small job: one INSERT that sums up the paid orders of VIP customers.

Nothing here knows of lineage; run it with

    spark-submit $(spark-lineage submit-args) examples/customer_summary.py

and ask the collector afterwards:

    spark-lineage explain customer_summary.total_amount
"""

from pyspark.sql import SparkSession

ORDERS = """
    SELECT * FROM VALUES
        (1, 10, 'north', 40.00, 'paid'),
        (2, 10, 'north', 25.50, 'paid'),
        (3, 11, 'south', 80.00, 'paid'),
        (4, 11, 'south', 12.00, 'open'),
        (5, 12, 'east',  30.00, 'paid'),
        (6, 13, 'north', 99.00, 'paid')
    AS orders(order_id, customer_id, region, amount, status)
"""

CUSTOMERS = """
    SELECT * FROM VALUES
        (10, 'Ada',    'VIP'),
        (11, 'Grace',  'VIP'),
        (12, 'Edsger', 'VIP'),
        (13, 'Barbara','basic')
    AS customers(customer_id, customer_name, customer_level)
"""

SUMMARY = """
    INSERT INTO customer_summary
    WITH paid AS (
        SELECT customer_id, upper(region) AS region_label, amount
        FROM orders
        WHERE status = 'paid'
    )
    SELECT
        customer_id,
        region_label,
        total_amount,
        row_number() OVER (ORDER BY customer_id) AS customer_seq,
        CASE WHEN region_label = 'NORTH' THEN 'core' ELSE 'growth' END AS region_group
    FROM (
        SELECT p.customer_id, p.region_label, sum(p.amount) AS total_amount
        FROM paid p
        JOIN customers c ON p.customer_id = c.customer_id
        WHERE c.customer_level = 'VIP'
        GROUP BY p.customer_id, p.region_label
        HAVING sum(p.amount) >= 50
    )
    ORDER BY total_amount DESC
"""


def main() -> None:
    spark = SparkSession.builder.appName("customer_summary").getOrCreate()
    for table in ("orders", "customers", "customer_summary"):
        spark.sql(f"DROP TABLE IF EXISTS {table}")
    spark.sql(f"CREATE TABLE orders USING parquet AS {ORDERS}")
    spark.sql(f"CREATE TABLE customers USING parquet AS {CUSTOMERS}")
    spark.sql(
        "CREATE TABLE customer_summary (customer_id INT, region_label STRING,"
        " total_amount DECIMAL(14, 2), customer_seq INT, region_group STRING) USING parquet"
    )
    spark.sql(SUMMARY)
    spark.table("customer_summary").show()
    spark.stop()


if __name__ == "__main__":
    main()
