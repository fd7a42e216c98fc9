# SPDX-License-Identifier: MIT
"""What --sarif and --junit write, read by parsers: with --schema FILE also checked against SARIF's own schema."""
import json
import os
import subprocess
import sys
import xml.etree.ElementTree as xml

REPORT = os.path.join(os.environ["BIN"], "ms-report")
CASES = {
    "run.db": ([], 0), "cut.db": (["unfreed_bytes>1M"], 2), "killed.db": ([], 0), "sampled.db": (["peak_bytes>1"], 2), "two.db": (["peak_bytes>1"], 1),
    "grown.db": (["unfreed_bytes > 1M", "unreachable_bytes > 0"], 2), "leaky.db": (["unreachable_bytes > 0", "peak_bytes > 1G"], 1),
}


def run(db, *arguments):
    done = subprocess.run([REPORT, db, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return done.returncode, done.stdout


def check(what, got, want):
    if got != want:
        sys.exit("%s: %r, want %r" % (what, got, want))


def sarif(db, budgets, status, schema):
    rc, out = run(db, "--sarif", *["--fail-on=" + b for b in budgets])
    check(db + " status", rc, status)
    log = json.loads(out)
    rules = [r["id"] for r in log["runs"][0]["tool"]["driver"]["rules"]]
    for r in log["runs"][0]["results"]:
        check("rule", rules[r["ruleIndex"]], r["ruleId"])
        for stack in r.get("stacks", []):
            check("a stack ends where the program begins", stack["frames"][-1]["location"]["message"]["text"].split()[0] in
                  ("_start", "start_thread", "main", "libz.so.1+0xabcd"), True)
    if schema:
        import jsonschema
        jsonschema.validate(log, schema)
    return [r["ruleId"].split("/")[1] for r in log["runs"][0]["results"]]


def junit(db, budgets, status):
    rc, out = run(db, "--junit", *["--fail-on=" + b for b in budgets])
    check(db + " status", rc, status)
    suites = xml.fromstring(out)
    cases = suites.findall("testsuite/testcase")
    check("cases", [c.get("name") for c in cases], ["recording is complete", *budgets])
    for word in "failure", "error":
        check(word, len(suites.findall("testsuite/testcase/" + word)), int(suites.get(word + "s")))
    return int(suites.get("failures")), int(suites.get("errors"))


def main():
    schema = None
    if sys.argv[1:2] == ["--schema"]:
        with open(sys.argv[2]) as f:
            schema = json.load(f)
    found = {db: (sarif(db, b, s, schema), junit(db, b, s)) for db, (b, s) in CASES.items()}
    check("found", found, {
        "run.db": ([], (0, 0)),
        "cut.db": (["undecided", "incomplete"], (0, 2)),
        "killed.db": ([], (0, 0)),
        "sampled.db": (["undecided"], (0, 1)),
        "two.db": (["budget"], (1, 0)),
        "grown.db": (["budget", "undecided", "growing"], (1, 1)),
        "leaky.db": (["budget", "unreachable", "unreachable", "growing"], (1, 0)),
    })


main()
