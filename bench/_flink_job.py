"""Flink SQL as a peer: one process with a mini-cluster, told by lines of JSON.

Runs in Flink's own environment, so it imports nothing of Tidemill. All queries of a run are one
statement set, which reads the files once. The seconds are the job's net runtime, from its
start on the cluster to its end: neither the start of the JVM nor the planning of the SQL.

Flink gives the files to its readers in no order, so with an exact watermark it would drop
most rows as late. The watermark therefore waits for the length of the whole stream; slices
are still aggregated as rows come, and all windows are answered.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from _orphan import end_with_parent
from pyflink.common import Configuration
from pyflink.table import EnvironmentSettings, TableEnvironment


def main() -> None:
    end_with_parent()
    settings = json.loads(sys.argv[1])
    for line in sys.stdin:
        print(json.dumps(run(settings, json.loads(line))), flush=True)


def run(settings: dict[str, Any], job: dict[str, Any]) -> dict[str, Any]:
    tables = environment(settings)
    tables.execute_sql(source(settings))
    statements = tables.create_statement_set()
    for number, query in enumerate(job["queries"]):
        tables.execute_sql(sink(number, query["columns"], settings.get("answers")))
        statements.add_insert_sql(f"INSERT INTO sink{number} {query['sql']}")
    started = time.perf_counter()
    result = statements.execute()
    result.wait()
    client = result.get_job_client()
    net_ms = client.get_job_execution_result().result().get_net_runtime()
    return {"seconds": net_ms / 1000, "wall_seconds": time.perf_counter() - started}


def environment(settings: dict[str, Any]) -> TableEnvironment:
    configuration = Configuration()
    for key, value in {
        "parallelism.default": str(settings["cores"]),
        "taskmanager.numberOfTaskSlots": str(settings["cores"]),
        "taskmanager.memory.managed.size": settings["managed_memory"],
        "taskmanager.memory.network.min": "512m",
        "taskmanager.memory.network.max": "512m",
        "pipeline.object-reuse": "true",
        "table.local-time-zone": "UTC",
    }.items():
        configuration.set_string(key, value)
    chosen = EnvironmentSettings.new_instance().in_streaming_mode()
    return TableEnvironment.create(chosen.with_configuration(configuration).build())


def source(settings: dict[str, Any]) -> str:
    delay = f"INTERVAL '{settings['watermark_delay_min']}' MINUTE(3)"
    return (
        f"CREATE TABLE packets ({settings['columns']}, WATERMARK FOR ts AS ts - {delay}) "
        "WITH ('connector' = 'filesystem', "
        f"'path' = 'file://{settings['data']}', 'format' = 'csv', 'csv.null-literal' = '')"
    )


def sink(number: int, columns: str, folder: str | None) -> str:
    options = "'connector' = 'blackhole'"
    if folder:  # kept, where the answers are to be counted
        options = f"'connector' = 'filesystem', 'path' = 'file://{folder}', 'format' = 'csv'"
    return f"CREATE TABLE sink{number} ({columns}) WITH ({options})"


if __name__ == "__main__":
    main()
