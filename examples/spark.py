"""Link two tables of a Spark job: they leave Spark as Parquet, and the links come back as a data frame.

    spark-submit examples/spark.py                       # on made-up tables, in a temporary folder
    from spark import linked                             # in a job of your own

The folder has to be one that the driver and Spark both see; with `--engine ray://HOST:10001` in `settings`, the work
leaves the driver, too.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

import emea

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def linked(spark: SparkSession, source: DataFrame, target: DataFrame, folder: Path, settings: Any = None) -> DataFrame:
    """The links between two data frames whose rows are entities: source, target and confidence."""
    for name, frame in (("source", source), ("target", target)):
        frame.write.mode("overwrite").parquet(str(folder / f"{name}.parquet"))
    task = emea.read(folder / "source.parquet", folder / "target.parquet")
    links = emea.align(task, settings).links()
    pq.write_table(links.select(["source", "target", "confidence"]), folder / "links.parquet")
    return spark.read.parquet(str(folder / "links.parquet"))


def main() -> None:
    """Two made-up registers of the same people."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.appName("emea").getOrCreate()
    people = [(number, f"person number {number * number + 7}", 1950 + number % 40) for number in range(200)]
    source = spark.createDataFrame(
        [(f"a{number}", name, born) for number, name, born in people], ["id", "name", "born"]
    )
    target = spark.createDataFrame(
        [(f"b{number}", name, born) for number, name, born in people], ["id", "label", "year"]
    )
    with tempfile.TemporaryDirectory() as folder:
        linked(spark, source, target, Path(folder)).show(5)
    spark.stop()


if __name__ == "__main__":
    main()
