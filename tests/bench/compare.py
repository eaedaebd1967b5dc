#!/usr/bin/env python3
"""Compares two results of Google Benchmark (--benchmark_out=FILE --benchmark_out_format=json):

    compare.py BEFORE.json AFTER.json [--limit 1.1]

prints, for every benchmark that is in both, its time before, after, and after divided by before: medians over the
repetitions where there are several. With --limit, ends with status 1 if anything takes more than so many times as long.
"""
import argparse
import json
import statistics
import sys

SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def times(path):
    """The median time of each benchmark, in seconds, by name. Single rounds' median where a benchmark has it."""
    runs = {}
    with open(path, encoding="utf-8") as file:
        for run in json.load(file)["benchmarks"]:
            if run.get("run_type", "iteration") != "iteration" or run.get("error_occurred"):
                continue
            seconds = run.get("median", run["real_time"] * SECONDS[run["time_unit"]])
            runs.setdefault(run.get("run_name", run["name"]), []).append(seconds)
    return {name: statistics.median(seconds) for name, seconds in runs.items()}


def shown(seconds):
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def main():
    parser = argparse.ArgumentParser(description="Compares two results of Google Benchmark in JSON.")
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--limit", type=float, help="fail if anything takes more than so many times as long")
    options = parser.parse_args()
    before, after = times(options.before), times(options.after)
    names = [name for name in before if name in after]
    if not names:
        sys.exit("compare.py: the two have no benchmark in common")
    width = max(map(len, names))
    slower = []
    for name in names:
        ratio = after[name] / before[name]
        print(f"{name:{width}}  {shown(before[name]):>8}  {shown(after[name]):>8}  {ratio:6.3f}")
        if options.limit is not None and ratio > options.limit:
            slower.append(name)
    for name in sorted(before.keys() ^ after.keys()):
        print(f"{name:{width}}  only {'before' if name in before else 'after'}")
    if slower:
        sys.exit(f"compare.py: beyond {options.limit}: {', '.join(slower)}")


if __name__ == "__main__":
    main()
