"""The bridge to the JVM extension: plain data and Spark's DataFrames in, the JVM's objects and DataFrames out.

It may use `static_data` only; whoever talks to the JVM is above it.
"""
