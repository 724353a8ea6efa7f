"""A small Spark session for the tests, and why there may be none."""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from pathlib import Path

import pytest

import incrowd
import incrowd_gate
import incrowd_verify

__all__ = ["PLAIN", "SHORT_LIVED", "SOURCES", "local_session", "require_spark", "settings"]

SHORT_LIVED = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
    "-XX:+IgnoreUnrecognizedVMOptions -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)
"""Java options of a process that ends before the best machine code would pay, and that runs released archives."""

PLAIN = {
    "spark_sql_adaptive_enabled": "false",
    "spark_sql_codegen_wholeStage": "false",
    "spark_sql_codegen_factoryMode": "NO_CODEGEN",
}
"""Settings with which Spark plans once and interprets: for some rows it takes a third less time. The cluster
of `test_spark_cluster` runs as Spark does by itself."""

SOURCES = os.pathsep.join(
    str(Path(each.__file__).parents[1]) for each in (incrowd, incrowd_gate, incrowd_verify)
)
"""Where the packages are that the tests import, as PYTHONPATH has it."""


def require_spark() -> None:
    """Skip without Spark or Java, or fail if the run requires both."""
    missing = None
    try:
        import pyspark  # noqa: F401
    except ImportError:
        missing = "PySpark is not installed"
    if missing is None and shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        missing = "Spark needs Java, and there is none on the PATH"
    if missing is not None:
        (pytest.fail if os.environ.get("INCROWD_REQUIRE_SERVICES") == "1" else pytest.skip)(missing)


def settings(**others: str) -> dict[str, str]:
    """Settings of a small session on loopback, with executors that import as this process does."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    return {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.memory": "2g",
        "spark.driver.extraJavaOptions": SHORT_LIVED,
        "spark.executor.extraJavaOptions": SHORT_LIVED,
        # What Spark waits for by default: seconds for a cancelled task's Python process to end by itself, for a
        # lost executor's rows before they are made again, and for a core where the rows already are.
        "spark.python.task.killTimeout": "100ms",
        "spark.shuffle.io.retryWait": "100ms",
        "spark.locality.wait": "0",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executorEnv.PYTHONPATH": SOURCES,
        # A time zone with gaps and repeated hours, which no result may depend on.
        "spark.sql.session.timeZone": "America/New_York",
    } | {name.replace("_", "."): value for name, value in others.items()}


def local_session(master: str = "local[2]", **others: str):
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName("incrowd tests")
    for name, value in settings(**others).items():
        builder = builder.config(name, value)
    with warnings.catch_warnings():
        # PySpark itself looks at pandas, and has an opinion on its version.
        warnings.simplefilter("ignore")
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        session.range(1).toArrow()
    return session
