# SPDX-License-Identifier: MIT
"""Records one program again and again with --sample, a seed for each run, and counts how often the truth lies in the interval that
ms-report states: for the totals and for each of the ten largest sites. The mean of the estimates has to be the truth within three
standard errors. Usage: sampled.py RUNS LEAST [SAMPLE]: the truth must be in at least LEAST of the intervals of each figure."""
import json
import math
import os
import subprocess
import sys

RUNS, LEAST = int(sys.argv[1]), int(sys.argv[2])
SAMPLE = sys.argv[3] if len(sys.argv) > 3 else "64k"
MEAN = int(SAMPLE.rstrip("k")) * 1024
TARGET = os.environ["TB"] + "/targets/sampled"
TOTALS = ("allocations", "allocated_bytes", "frees", "unfreed_bytes", "unfreed_blocks")
FIGURES = ("allocations", "allocated_bytes", "frees", "live_bytes", "live_blocks")
failures = 0


def fail(text):
    global failures
    failures += 1
    print(text)


def record(*args, truth="/dev/null", target=TARGET):
    """The report of one recording, and its sites by the function that allocated."""
    command = ["ms-record", "-q", "-o", "run.trace", "--no-symbols", *args, target]
    subprocess.run(command, check=True, env=dict(os.environ, TRUTH_FILE=truth), stdout=subprocess.DEVNULL)
    report = json.loads(subprocess.run(["ms-report", "--json", "run.trace"], check=True, stdout=subprocess.PIPE).stdout)
    return report, {s["stack"][s["user_frame"]]["function"]: s for s in report["sites"] if s["stack"]}


class Figure:
    """One figure over all runs."""

    def __init__(self, name, truth):
        self.name, self.truth, self.values, self.inside = name, truth, [], 0

    def add(self, value, low, high):
        if not low <= value <= high:
            fail(f"{self.name}: {value} is not in its own interval {low} to {high}")
        self.values.append(value)
        self.inside += low <= self.truth <= high

    def judge(self):
        n, mean = len(self.values), sum(self.values) / len(self.values)
        error = math.sqrt(sum((v - mean) ** 2 for v in self.values) / (n - 1) / n)
        line = f"{self.name}: {self.truth}, in {self.inside} of {n} intervals, mean {mean:.1f} +- {error:.1f}"
        if self.inside < LEAST:
            fail("not covered: " + line)
        elif abs(mean - self.truth) > 3 * error + 1e-9:
            fail("biased: " + line)
        elif os.environ.get("SHOW"):
            print(line)


exact, sites = record(truth="truth.json")
with open("truth.json", encoding="utf-8") as f:
    truth = {s["function"]: s for s in json.load(f)["sites"]}
for name, s in truth.items():
    for key in FIGURES:
        if sites[name][key] != s[key]:
            fail(f"{name}: {key} is {sites[name][key]} with every event, not {s[key]}")
if "intervals" in exact["totals"]:
    fail("intervals although every event was recorded")
largest = sorted(truth, key=lambda name: -truth[name]["allocated_bytes"])[:10]
totals = {key: Figure(key, exact["totals"][key]) for key in TOTALS}
by_site = {(name, key): Figure(f"{name} {key}", truth[name][key]) for name in largest for key in FIGURES}

# calls that fail are all recorded, however few are sampled; and what they asked for does not put off the next sample: a megabyte comes after them
fails = record("-s", "32k", target=os.environ["TB"] + "/targets/zerofail")[0]["totals"]
if fails["failed_allocations"] != 13:
    fail(f"{fails['failed_allocations']} failed allocations while sampling, not 13")
if not fails["allocated_bytes"]:
    fail("no sample after calls that failed")

for seed in range(1, RUNS + 1):
    report, sites = record("-s", SAMPLE, "--seed", str(seed))
    if report["quality"]["sampled_bytes"] != MEAN or report["totals"]["temporary_allocations"] is not None:
        fail(f"seed {seed}: not marked as sampled")
    if report["quality"]["unknown_frees"] or report["quality"]["inferred_frees"]:
        fail(f"seed {seed}: {report['quality']['unknown_frees']} unknown, {report['quality']['inferred_frees']} inferred frees")
    for key, figure in totals.items():
        interval = report["totals"]["intervals"][key]
        figure.add(report["totals"][key], interval["low"], interval["high"])
    for (name, key), figure in by_site.items():
        if name in sites:
            interval = sites[name]["intervals"][key]
            figure.add(sites[name][key], interval["low"], interval["high"])
        else:  # no sample: less than 3.7 times the mean (ms-snapshot(5)), of any size
            figure.add(0, 0, 3.7 * MEAN)
    if seed == 1:
        again = record("-s", SAMPLE, "--seed", "1")[0]
        if again["totals"]["intervals"] != report["totals"]["intervals"]:
            fail("the same seed gives another sample")
for figure in (*totals.values(), *by_site.values()):
    figure.judge()

# what filters hide has intervals too, and the totals keep theirs
with open("part.db", "wb") as out:
    small = subprocess.run(["ms-filter", "--min", "300k", "run.trace"], check=True, stdout=subprocess.PIPE).stdout
    subprocess.run(["ms-filter", "--not-function", "huge", "-"], input=small, check=True, stdout=out)
part = json.loads(subprocess.run(["ms-report", "--json", "part.db"], check=True, stdout=subprocess.PIPE).stdout)
if part["totals"] != report["totals"]:
    fail("filters change the totals")
hidden = part["omitted"]
if hidden["hidden_sites"] < 2 or "huge" in {s["stack"][s["user_frame"]]["function"] for s in part["sites"]}:
    fail(f"not hidden: {hidden}")
for key in ("live_bytes", "live_blocks"):
    if sum(s[key] for s in part["sites"]) + hidden[key] != report["totals"][key.replace("live", "unfreed")]:
        fail(f"{key} do not add up")
    low, high = (hidden["intervals"][key][k] for k in ("low", "high"))
    if not low <= hidden[key] <= high or low == high:
        fail(f"hidden {key}: {hidden[key]} with an interval from {low} to {high}")
query = "SELECT figure || low || '-' || high FROM estimate WHERE site = -1 AND snapshot = 0 ORDER BY 1"
words = subprocess.run(["ms-report", "--csv", "--sql", query, "part.db"], check=True, stdout=subprocess.PIPE, text=True).stdout
if len(words.split()) < 4:
    fail(f"intervals of what is hidden: {words}")
sys.exit(failures != 0)
