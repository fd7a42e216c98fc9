# SPDX-License-Identifier: MIT
"""Runs tests/ci in the folder root, a bare Debian, with the Debian package in the folder release: two pushes by workflow.yml and the action that it
uses, then a pull request that leaks; then the same by the job for GitLab. GitHub's own actions are played; gh is the real one until it would
have to reach GitHub, and so is curl until it would have to reach GitLab."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys

SRC = os.environ["SRC"]
HERE = os.path.abspath("root/job")
ACTION = "root/action"
MAKEFILE = "run-tests: app.cc\n\tg++ $(CFLAGS) -o $@ app.cc\n"
PROGRAM = """#include <cstdio>
#include <cstdlib>
static void forget(int n) { for (int i = 0; i < n; i++) *(volatile char *)malloc(3000) = 1; }
%s
int main() { forget(10); %s return puts("tested") < 0; }
"""
LEAK = "__attribute__((noinline)) static void lose(int n) { for (int i = 0; i < n; i++) *(volatile char *)malloc(2000) = 1; }"
GH = """#!/bin/sh
printf '%s\\n' "$*" >>/job/gh.log
case "$1 $2" in
"release download") mkdir memscope-deb && cp /release/memscope_*_amd64.deb memscope-deb ;;
"run list") ls /artifacts/heap-tests 2>/dev/null | sed 1q ;;
"run download") cp -r /artifacts/heap-tests heap-history ;;
esac
"""
CURL = """#!/bin/sh
printf '%s\\n' "$*" >>/job/curl.log
case "$*" in
*artifacts*) cp /artifacts/history.zip history.zip || exit 22 ;;
*) cp /release/memscope_*_amd64.deb memscope.deb ;;
esac
"""


def fields(text, indent):
    """The lines of one mapping as a dict; blocks are texts. The files have no more of YAML than this reads."""
    found, key = {}, None
    for line in text:
        m = re.match(" " * indent + r"([\w-]+):(?: (.*))?$", line)
        if m:
            key, value = m[1], m[2] or ""
            found[key] = "" if value in ("|", ">") else value
        elif key:
            found[key] += line[indent + 2:] + "\n"
    return {k: v.rstrip("\n") for k, v in found.items()}


def items(text, indent):
    """The items of a list, each as its lines with the dash taken away."""
    found = []
    for line in text:
        if line.startswith(" " * indent + "- "):
            found.append([])
            line = " " * (indent + 2) + line[indent + 2:]
        if found and not line.lstrip().startswith("# "):
            found[-1].append(line)
    return found


def lines_of(name, after):
    """The lines behind the one that is `after`, until something stands further left."""
    with open(os.path.join(SRC, "tests/ci", name), encoding="utf-8") as f:
        lines = f.read().split(after + "\n")[1].split("\n")
    indent = len(lines[0]) - len(lines[0].lstrip())
    end = next((i for i, line in enumerate(lines) if line and len(line) - len(line.lstrip()) < indent), len(lines))
    return lines[:end]


def expand(text, values):
    """Expressions replaced; a name that nobody gave is a failure."""
    text = re.sub(r"\$\{\{ ([\w.]+) \}\}", lambda m: values[m[1]], text)
    assert "${{" not in text, text
    return text


def inside(command, env):
    """A step's command, as a runner starts it in a container."""
    with open("root/step.sh", "w", encoding="utf-8") as f:
        f.write(command)
    env = {"PATH": "/job/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", **env}
    return subprocess.run(["chroot", "root", "bash", "-c", "cd /job && exec bash --noprofile --norc -eo pipefail /step.sh"], env=env,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def expect(what, ok, said):
    """Ends with what was said unless that holds."""
    if not ok:
        print(said[-3000:])
        sys.exit(f"FAILED: {what}")


def sources(commit, leaks):
    """A fresh folder with the program under test at a commit."""
    shutil.rmtree(HERE, ignore_errors=True)
    os.makedirs(os.path.join(HERE, "ci"))
    os.makedirs(os.path.join(HERE, "bin"))
    for name in ("heap.sh", "budgets"):
        shutil.copy(os.path.join(SRC, "tests/ci", name), os.path.join(HERE, "ci", name))
    for name, text, mode in (("Makefile", MAKEFILE, 0o644), ("app.cc", PROGRAM % ((LEAK, "lose(64);") if leaks else ("", "")), 0o644),
                             ("bin/gh", GH, 0o755), ("bin/curl", CURL, 0o755)):
        with open(os.path.join(HERE, name), "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(os.path.join(HERE, name), mode)
    git = "git init -q && git add app.cc && git -c user.name=me -c user.email=me@host commit -q -m " + commit
    return git


class GitHub:
    """A run of the workflow."""

    def __init__(self, event, commit):
        self.event, self.said, self.status = event, "", 0
        self.values = {"github.token": "secret", "github.repository": "me/app", "github.server_url": "https://host", "github.sha": commit,
                       "github.workflow": "heap", "github.event.number": "5", "github.run_attempt": "1"}
        self.env = {k: expand(v, self.values) for k, v in fields(lines_of("workflow.yml", "    env:"), 6).items()}

    def wanted(self, step):
        """Is it its turn?"""
        condition = step.get("if", "")
        event = re.search(r"event_name == '(\w+)'", condition)
        return (not self.status or "always()" in condition) and (not event or event[1] == self.event)

    def steps(self, text, indent, values):
        """All of a list."""
        for lines in items(text, indent):
            step = fields(lines, indent + 2)
            if self.wanted(step):
                self.step(step, {k: expand(v, values) for k, v in fields(step.get("with", "").split("\n"), 0).items()}, values)

    def step(self, step, given, values):
        """One step."""
        uses = step.get("uses", "")
        if "run" in step:
            env = {k: expand(v, values) for k, v in fields(step.get("env", "").split("\n"), 0).items()}
            r = inside(expand(step["run"], values), {**self.env, "GITHUB_ACTION_PATH": "/action", "GITHUB_ACTIONS": "true", **env})
            self.said += r.stdout
            self.status = self.status or r.returncode
        elif uses.startswith("OWNER/memscope/tests/ci@"):
            known = {name: fields(body.split("\n"), 0).get("default") for name, body in fields(lines_of("action.yml", "inputs:"), 2).items()}
            assert set(given) <= set(known), given
            inner = {**values, **{f"inputs.{k}": given.get(k, v) for k, v in known.items()}}
            assert None not in inner.values(), inner
            self.steps(lines_of("action.yml", "  steps:"), 4, inner)
        elif "upload-artifact" in uses:
            shutil.copytree(os.path.join(HERE, given["path"]), os.path.join("root/artifacts", given["name"]), dirs_exist_ok=True,
                            ignore=shutil.ignore_patterns(".*"))
        elif "upload-sarif" in uses:
            with open(os.path.join(HERE, given["sarif_file"]), encoding="utf-8") as f:
                json.load(f)
            self.said += "code scanning\n"
        elif "actions/checkout" not in uses:
            sys.exit(f"FAILED: what is {step}?")


def github(event, commit, leaks):
    """A run of the workflow on a commit."""
    run, git = GitHub(event, commit), sources(commit, leaks)
    steps = lines_of("workflow.yml", "    steps:")
    run.steps(steps[:next(i for i, s in enumerate(steps) if "actions/checkout" in s)], 6, run.values)
    expect("git", inside(git, {}).returncode == 0, run.said)
    run.steps(steps[next(i for i, s in enumerate(steps) if "actions/checkout" in s):], 6, run.values)
    return run.status, run.said


def gitlab(branch, commit, leaks):
    """A run of GitLab's job: its variables, and its script in one shell, as a runner does."""
    git = sources(commit, leaks)
    job = lines_of("gitlab-ci.yml", "heap:")
    ci = {"CI_PROJECT_URL": "https://host/me/app", "CI_COMMIT_SHA": commit, "CI_JOB_TOKEN": "secret", "CI_API_V4_URL": "https://host/api/v4", "CI_PROJECT_ID": "7",
          "CI_DEFAULT_BRANCH": "main", "CI_COMMIT_BRANCH": branch, "CI_JOB_ID": commit}
    given = fields(fields(job, 2)["variables"].rstrip("\n").split("\n"), 0)
    env = {**ci, **{k: re.sub(r"\$(CI_\w+)", lambda m: ci[m[1]], v.strip('"')) for k, v in given.items()}}
    script = [re.sub(r"^\s*\|\n", "", "\n".join(line[4:] for line in lines).strip()) for lines in items(lines_of("gitlab-ci.yml", "  script:"), 4)]
    done = inside("\n".join(script[:2] + [git] + script[2:]), env)
    if branch == "main" and done.returncode == 0:
        kept = inside("zip -qr /artifacts/history.zip heap-history", env)
        expect("artifacts", kept.returncode == 0, kept.stdout)
    return done.returncode, done.stdout


subprocess.run(["mount", "-t", "proc", "proc", "root/proc"], check=True)
subprocess.run(["mount", "--bind", "/dev", "root/dev"], check=True)
os.makedirs("root/artifacts")
os.makedirs(ACTION)
shutil.copy(os.path.join(SRC, "tests/ci/heap.sh"), ACTION)
shutil.copytree("release", "root/release")

# ---- GitHub ----
for n in ("one", "two"):
    status, said = github("push", n, False)
    expect(f"push: status {status}", status == 0, said)
expect("history", len(glob.glob("root/artifacts/heap-tests/v1-*")) == 2, str(os.listdir("root/artifacts/heap-tests")))
flags = inside("/usr/bin/gh run list --help; /usr/bin/gh run download --help; /usr/bin/gh api --help; /usr/bin/gh release download --help", {}).stdout
for flag in ("--branch", "--workflow", "--json", "--jq", "--name", "--dir", "--method", "--paginate", "--field", "--pattern", "--repo"):
    expect(f"this gh has no {flag}", flag in flags, flags)
status, said = github("pull_request", "three", False)
expect(f"a pull request that changes nothing: status {status}", status == 0 and said.endswith("code scanning\n"), said)
status, said = github("pull_request", "four", True)
expect(f"a pull request that leaks: status {status}", status == 1 and said.endswith("code scanning\n"), said)
expect("the budget", "budget 'delta_unfreed_bytes > 64k' is broken: the figure is +128000" in said, said)
expect("the new leak is the only error of that kind", re.findall(r"::error file=app.cc,line=(\d+),title=Unreachable memory", said) == ["4"], said)
with open(os.path.join(HERE, "gh.log"), encoding="utf-8") as f:
    calls = f.read()
expect("the comment", "api repos/{owner}/{repo}/issues/5/comments -F body=@heap-out/comment.md" in calls, calls)
expect("the release", "release download v0.1.0 --repo OWNER/memscope --pattern memscope_*_amd64.deb" in calls, calls)

# ---- GitLab ----
subprocess.run(["chroot", "root", "dpkg", "-P", "memscope"], check=True, stdout=subprocess.DEVNULL)
expect("zip", inside("apt-get install -qq -y --no-install-recommends zip unzip", {"DEBIAN_FRONTEND": "noninteractive"}).returncode == 0, "")
status, said = gitlab("main", "one", False)
expect(f"GitLab, the first time: status {status}", status == 0, said)
status, said = gitlab("branch", "two", False)
expect(f"GitLab, nothing changed: status {status}", status == 0, said)
status, said = gitlab("branch", "three", True)
expect(f"GitLab, a leak: status {status}", status == 1 and "is broken: the figure is +128000" in said and "::error" not in said, said)
expect("JUnit", "memscope/budget" in open(os.path.join(HERE, "heap-out/heap.xml"), encoding="utf-8").read(), said)
print("as written")
