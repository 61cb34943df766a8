#!/usr/bin/env python3
"""Runs one `kcf-track eval` on a Dask cluster, a sequence a task, and writes the report of all.

    pip install "dask[distributed]"
    scripts/eval_dask.py --scheduler tcp://host:8786 --data /data/OTB --out report -- --preset paper
    scripts/eval_dask.py --workers 2 --data OTB --out report -- --preset paper      (a cluster on this machine)

Arguments after `--` are handed to `kcf-track eval`. The sequences and the folder of `--out` have to be on a file
system that all workers see; the program has to be at the same path (`--binary`). A task whose worker died is run again,
and so is the whole when this script is started again: what was finished is kept in `<out>.parts/`. The report is the
same, to the byte, as that of one machine.

    scripts/eval_dask.py --self-test --binary target/release/kcf-track --data OTB -- --preset paper
runs on a cluster of two local workers and on none, and compares the two reports.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from dask.distributed import Client, LocalCluster, as_completed


def run(command):
    """Runs one sequence on a worker. Exit code 1 means that the report left the sequence out, as the last report will."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"exit code {done.returncode}: {done.stderr.strip()}")


def sequences(folder, depth=3):
    """The folders of sequences in `folder`, which may be a sequence itself."""
    marks = ["img", "color", "img1", "groundtruth.txt", "gt/gt.txt"]
    if any((folder / mark).exists() for mark in marks) or any(folder.glob("groundtruth_rect*.txt")):
        yield folder
    elif depth > 0:
        for below in sorted(entry for entry in folder.iterdir() if entry.is_dir()):
            yield from sequences(below, depth - 1)


def evaluate(client, binary, data, arguments, out, retries):
    """Runs all sequences on the cluster and the report here. Gives the exit code of the report."""
    parts = Path(f"{out}.parts").absolute()
    command = [binary, "eval", *arguments]
    futures = {}
    for folder in sequences(data):
        name = folder.relative_to(data)
        # A worker has the core that Dask gives it; --resume makes a second try go on.
        options = ["--data", str(folder), "--out", str(parts / name), "--resume", "-qq", "--jobs", "1"]
        futures[client.submit(run, [*command, *options], pure=False, retries=retries)] = name
    for done in as_completed(futures):
        error = done.exception()
        print(f"{futures[done]}: {'done' if error is None else error}", file=sys.stderr)
    # The folder of the whole evaluation equals that of a part except for its data; the report runs what is missing.
    out.mkdir(parents=True, exist_ok=True)
    for manifest in sorted(parts.rglob("evaluation.json")):
        # A part whose sequence was left out has no runs.
        if (manifest.parent / "runs").is_dir():
            shutil.copytree(manifest.parent / "runs", out / "runs", dirs_exist_ok=True)
        whole = json.loads(manifest.read_text()) | {"data": str(data)}
        (out / "evaluation.json").write_text(json.dumps(whole))
    return subprocess.run([*command, "--data", str(data), "--out", str(out), "--resume"], check=False).returncode


def self_test(binary, data, arguments):
    """The report of two local workers against that of one process."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            evaluate(client, binary, data, arguments, folder / "dask", retries=1)
        subprocess.run(
            [binary, "eval", "--data", str(data), *arguments, "--out", str(folder / "alone"), "-q"], check=False
        )
        for name in ["report.json", "scores.csv", "success.svg", "precision.svg"]:
            alone, dask = ((folder / part / name).read_bytes() for part in ["alone", "dask"])
            if alone != dask:
                print(f"{name} differs", file=sys.stderr)
                return 1
            print(f"{name}: {len(dask)} bytes, the same")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of sequences")
    parser.add_argument("--scheduler", help="address of a running Dask scheduler; without it workers are started here")
    parser.add_argument("--workers", type=int, default=2, help="workers to start here [2]")
    parser.add_argument("--retries", type=int, default=2, help="tries again for a sequence whose worker failed [2]")
    parser.add_argument("--binary", default="kcf-track", help="the program, at the same path on all workers")
    parser.add_argument("--out", type=Path, help="folder of the report")
    parser.add_argument("--self-test", action="store_true", help="compare a local cluster with one process")
    parser.add_argument("arguments", nargs="*", metavar="-- EVAL ARGUMENTS")
    args = parser.parse_args()
    binary = str(Path(args.binary).absolute()) if "/" in args.binary else args.binary
    data = args.data.absolute()
    if args.self_test:
        return self_test(binary, data, args.arguments)
    if args.out is None:
        parser.error("--out is needed")
    if args.scheduler:
        with Client(args.scheduler) as client:
            return evaluate(client, binary, data, args.arguments, args.out, args.retries)
    with (
        LocalCluster(n_workers=args.workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        return evaluate(client, binary, data, args.arguments, args.out, args.retries)


if __name__ == "__main__":
    sys.exit(main())
