# SPDX-License-Identifier: MIT
"""Runs the steps of tests/ci/workflow.yml in the folder root, a bare Debian: a push, then a pull request that leaks. GitHub's own
actions are played; gh is the real one until it would have to reach GitHub."""
import json
import os
import re
import shutil
import subprocess
import sys

SRC = os.environ["SRC"]
HERE = os.path.abspath("root/job")
EXPRESSIONS = {"github.token": "secret", "github.repository": "me/app", "github.server_url": "https://host", "github.sha": "main", "github.event.number": "5"}
MAKEFILE = "run-tests: app.cc\n\tg++ $(CFLAGS) -o $@ app.cc\n"
PROGRAM = """#include <cstdio>
#include <cstdlib>
static void forget(int n) { for (int i = 0; i < n; i++) *(volatile char *)malloc(3000) = 1; }
%s
int main() { forget(10); %s return puts("tested") < 0; }
"""
LEAK = "static void lose(int n) { for (int i = 0; i < n; i++) *(volatile char *)malloc(2000) = 1; }"
GH = """#!/bin/sh
printf '%s\\n' "$*" >>/job/gh.log
case "$1 $2" in
"run list") ls /base 2>/dev/null | wc -l ;;
"run download") cp -r /base base ;;
esac
"""


def steps():
    """Each step as a dict of its keys; the file has no more of YAML than this reads."""
    found, block = [], None
    with open(os.path.join(SRC, "tests/ci/workflow.yml"), encoding="utf-8") as f:
        lines = f.read().split("    steps:\n")[1].split("\n")
    for line in lines:
        if block is not None and line.startswith("          "):
            found[-1][block] += line[10:] + "\n"
            continue
        block = None
        m = re.fullmatch(r"      (- |  )([a-z]+):(?: (.*))?", line)
        if not m:
            continue
        if m[1] == "- ":
            found.append({})
        found[-1][m[2]] = "" if m[3] in ("|", None) else m[3]
        block = m[2] if m[3] in ("|", None) else None
    return found


def inside(command):
    """A step's command, as a runner starts it in a container."""
    for name, value in EXPRESSIONS.items():
        command = command.replace("${{ " + name + " }}", value)
    assert "${{" not in command, command
    with open("root/step.sh", "w", encoding="utf-8") as f:
        f.write(command)
    env = {"PATH": "/job/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "BUDGETS": "ci/budgets",
           "GH_TOKEN": "secret", "GH_REPO": "me/app", "CODE_URL": "https://host/me/app/blob/main/{file}#L{line}"}
    return subprocess.run(["chroot", "root", "sh", "-c", "cd /job && exec sh -e /step.sh"], env=env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def checkout(step, leaks):
    """The program under test, or MemScope's sources."""
    if "path" in step.get("with", ""):
        path = os.path.join(HERE, re.search(r"path: (.*)", step["with"])[1])
        if not os.path.exists(path):
            shutil.copytree(SRC, path, ignore=shutil.ignore_patterns("build", ".git"))
        return
    for name in ("heap.sh", "budgets"):
        shutil.copy(os.path.join(SRC, "tests/ci", name), os.path.join(HERE, "ci", name))
    for name, text in (("Makefile", MAKEFILE), ("app.cc", PROGRAM % ((LEAK, "lose(64);") if leaks else ("", "")))):
        with open(os.path.join(HERE, name), "w", encoding="utf-8") as f:
            f.write(text)


def job(event, leaks):
    """All steps; the outputs of those with a command, and the status of the first that fails."""
    said, status = "", 0
    for step in steps():
        condition = step.get("if", "")
        if (status and "always()" not in condition) or ("pull_request" in condition and event != "pull_request"):
            continue
        if "actions/checkout" in step.get("uses", ""):
            checkout(step, leaks)
        elif "upload-artifact" in step.get("uses", ""):
            shutil.copytree(os.path.join(HERE, re.search(r"path: (.*)", step["with"])[1]), "root/artifact", dirs_exist_ok=True)
        elif "upload-sarif" in step.get("uses", ""):
            with open(os.path.join(HERE, re.search(r"sarif_file: (.*)", step["with"])[1]), encoding="utf-8") as f:
                json.load(f)
            said += "code scanning\n"
        elif "run" in step:
            r = inside(step["run"])
            said += r.stdout
            status = status or r.returncode
        else:
            sys.exit(f"FAILED: what is {step}?")
    return status, said


def expect(what, ok, said):
    """Ends with what was said unless that holds."""
    if not ok:
        print(said[-3000:])
        sys.exit(f"FAILED: {what}")


subprocess.run(["mount", "-t", "proc", "proc", "root/proc"], check=True)
subprocess.run(["mount", "--bind", "/dev", "root/dev"], check=True)
os.makedirs(os.path.join(HERE, "ci"))
status, said = job("push", False)
expect(f"push: status {status}", status == 0, said)
flags = inside("gh run list --help; gh run download --help; gh api --help").stdout
for flag in ("--branch", "--workflow", "--json", "--jq", "--name", "--dir", "--method", "--paginate", "--field"):
    expect(f"this gh has no {flag}", flag in flags, flags)
os.makedirs(os.path.join(HERE, "bin"))
with open(os.path.join(HERE, "bin/gh"), "w", encoding="utf-8") as f:
    f.write(GH)
os.chmod(os.path.join(HERE, "bin/gh"), 0o755)
shutil.copytree("root/artifact", "root/base")
for name in ("heap", "run-tests"):
    path = os.path.join(HERE, name)
    (shutil.rmtree if os.path.isdir(path) else os.remove)(path)
status, said = job("pull_request", True)
expect(f"a pull request that leaks: status {status}", status == 1 and said.endswith("code scanning\n"), said)
expect("the budget", "budget 'delta_unfreed_bytes > 64k' is broken: it is +128000" in said, said)
expect("the new leak is the only error of that kind", re.findall(r"::error file=app.cc,line=(\d+),title=Unreachable memory", said) == ["4"], said)
with open(os.path.join(HERE, "gh.log"), encoding="utf-8") as f:
    calls = f.read()
expect("the comment", "api repos/{owner}/{repo}/issues/5/comments -F body=@out/comment.md" in calls, calls)
print("as written")
