"""The example that calls the package from a Spark job, where Spark is installed."""

import importlib.util
import shutil
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("pyspark") is None or shutil.which("java") is None,
        reason="pyspark is not installed; it is no dependency of ours",
    ),
    pytest.mark.filterwarnings("ignore"),
]


def test_tables_of_a_spark_job_are_linked(tmp_path: Path) -> None:
    from pyspark.sql import SparkSession

    found = importlib.util.spec_from_file_location("spark_example", Path(__file__).parents[1] / "examples" / "spark.py")
    assert found is not None and found.loader is not None  # noqa: PT018
    example = importlib.util.module_from_spec(found)
    found.loader.exec_module(example)
    spark = SparkSession.builder.master("local[2]").getOrCreate()
    try:
        names = [
            f"{first} {last}" for first in ("Ann", "Bob", "Cem", "Dora") for last in ("Abel", "Bach", "Chan", "Dahl")
        ]
        source = spark.createDataFrame([(f"a{number}", name) for number, name in enumerate(names)], ["id", "name"])
        target = spark.createDataFrame([(f"b{number}", name) for number, name in enumerate(names)], ["id", "label"])
        links = example.linked(spark, source, target, tmp_path).collect()
    finally:
        spark.stop()
    assert {(row["source"], row["target"]) for row in links} == {(f"a{number}", f"b{number}") for number in range(16)}
