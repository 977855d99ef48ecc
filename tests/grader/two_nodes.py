"""Grades a folder on two Ray nodes and kills one of them midway; `test_engine_ray` runs this in a process of its own.

Prints how many partitions were done when the node was killed, and what the engine reported at the end.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path

import ray
from ray.cluster_utils import Cluster

from grader import load_bank
from grader.engine_ray import RayEngine
from grader.partitions import Settings, grade_folder

NODE = {"num_cpus": 1, "object_store_memory": 80 * 2**20, "include_dashboard": False}


def kill_midway(cluster: Cluster, node: object, out: Path, wanted: int, found: list[int]) -> None:
    """Kills ``node`` as soon as ``wanted`` partitions are done and both nodes have a worker."""
    while True:
        done = len(list(out.glob("*.csv")))
        if done >= wanted and ray.available_resources().get("CPU", 0) == 0:
            break
        time.sleep(0.01)
    cluster.remove_node(node, allow_graceful=False)
    found.append(done)


def main(source: Path, out: Path, bank: Path, wanted: int) -> None:
    cluster = Cluster(initialize_head=True, head_node_args=NODE)
    try:
        second = cluster.add_node(**{name: NODE[name] for name in ("num_cpus", "object_store_memory")})
        ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
        killed_at: list[int] = []
        killing = threading.Thread(target=kill_midway, args=(cluster, second, out, wanted, killed_at), daemon=True)
        killing.start()
        done = list(grade_folder(source, Settings(out, load_bank(bank), encoder="hash"), RayEngine()))
        killing.join(30)
        report = {"killed_at": killed_at, "tables": len(done), "rows": sum(one.rows for one in done)}
        print(json.dumps(report | {"alive": sum(node["Alive"] for node in ray.nodes())}))
    finally:
        ray.shutdown()
        cluster.shutdown()


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]), int(sys.argv[4]))
