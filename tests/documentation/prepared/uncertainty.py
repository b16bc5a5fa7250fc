"""A view of readings for the functions in Spark SQL."""

rows = [
    ("s1", "N(0, 0.0001)", 0.17, 0.0),
    ("s2", "N(0, 0.0001)", 0.20, -1.0),
    ("s3", "N(0, 1)", 0.2, 3.0),
]
columns = "sensor STRING, error STRING, level DOUBLE, drift DOUBLE"
spark.createDataFrame(rows, columns).createOrReplaceTempView("readings")
