#!/usr/bin/env python3
"""Runs one `kcf-track eval` as shards on a Dask cluster and merges them.

    pip install "dask[distributed]"
    scripts/eval_dask.py --scheduler tcp://host:8786 --shards 16 --out report -- --data /data/OTB --preset paper
    scripts/eval_dask.py --workers 2 --out report -- --data OTB --preset paper      (a cluster on this machine)

What stands after `--` is handed to `kcf-track eval`. The sequences and the folder of `--out` have to be on a file
system that all workers see; the program has to be at the same path (`--binary`). The shards lie in `<out>.shards/`; a
shard whose worker died is run again and goes on where it stopped, as does the whole when this script is started again.
The report is the same, to the byte, as that of one machine.

    scripts/eval_dask.py --self-test --binary target/release/kcf-track -- --data OTB --preset paper
runs on a cluster of two local workers and on none, and compares the two reports.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from dask.distributed import Client, LocalCluster, as_completed


def run_shard(command, log):
    """One shard on a worker; gives the end of what it said where it failed."""
    with open(log, "ab") as out:
        code = subprocess.run(command, stdout=out, stderr=out, check=False).returncode
    if code != 0:
        tail = Path(log).read_text(errors="replace").splitlines()[-5:]
        raise RuntimeError(f"exit code {code}: {' | '.join(tail)}")
    return log


def evaluate(client, binary, arguments, shards, out, retries):
    """Runs all shards on the cluster, then merges them. Gives the exit code of the merge."""
    folder = Path(f"{out}.shards").absolute()
    folder.mkdir(parents=True, exist_ok=True)
    parts, futures = [], {}
    for index in range(1, shards + 1):
        part = folder / f"{index}-of-{shards}"
        parts.append(str(part))
        # A worker has the core that Dask gives it; --resume makes a second try go on.
        command = [
            binary,
            "eval",
            *arguments,
            "--shard",
            f"{index}/{shards}",
            "--out",
            str(part),
            "--resume",
            "--quiet",
            "--jobs",
            "1",
        ]
        future = client.submit(run_shard, command, str(folder / f"{index}.log"), pure=False, retries=retries)
        futures[future] = index
    failed = []
    for done in as_completed(futures):
        index = futures[done]
        error = done.exception()
        print(f"shard {index}/{shards}: {'done' if error is None else error}", file=sys.stderr)
        if error is not None:
            failed.append(index)
    if failed:
        print(f"shards {sorted(failed)} failed; start again to go on with them", file=sys.stderr)
        return 1
    return subprocess.run([binary, "eval", "merge", *parts, "--out", str(out)], check=False).returncode


def self_test(binary, arguments, shards):
    """The report of two local workers against that of one process."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            if evaluate(client, binary, arguments, shards, folder / "dask", retries=1) != 0:
                return 1
        subprocess.run([binary, "eval", *arguments, "--out", str(folder / "alone"), "--quiet"], check=True)
        for name in ["report.json", "success.svg", "precision.png", "table.md"]:
            alone, dask = ((folder / part / name).read_bytes() for part in ["alone", "dask"])
            if alone != dask:
                print(f"{name} differs", file=sys.stderr)
                return 1
            print(f"{name}: {len(dask)} bytes, the same")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scheduler", help="address of a running Dask scheduler; without it workers are started here")
    parser.add_argument("--workers", type=int, default=2, help="workers to start here [2]")
    parser.add_argument("--shards", type=int, help="parts [twice the workers]")
    parser.add_argument("--retries", type=int, default=2, help="tries again for a shard whose worker failed [2]")
    parser.add_argument("--binary", default="kcf-track", help="the program, at the same path on all workers")
    parser.add_argument("--out", type=Path, help="folder of the report")
    parser.add_argument("--self-test", action="store_true", help="compare a local cluster with one process")
    parser.add_argument("arguments", nargs="*", metavar="-- EVAL ARGUMENTS")
    args = parser.parse_args()
    binary = str(Path(args.binary).absolute()) if "/" in args.binary else args.binary
    shards = args.shards or 2 * args.workers
    if args.self_test:
        return self_test(binary, args.arguments, shards)
    if args.out is None:
        parser.error("--out is needed")
    if args.scheduler:
        with Client(args.scheduler) as client:
            return evaluate(client, binary, args.arguments, shards, args.out, args.retries)
    with (
        LocalCluster(n_workers=args.workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        return evaluate(client, binary, args.arguments, shards, args.out, args.retries)


if __name__ == "__main__":
    sys.exit(main())
