# SPDX-License-Identifier: MIT
"""The programs that are measured: real ones with made-up work (tests/host/workloads.py), and micro's extremes."""
import os
import subprocess
import sys

import place

sys.path.insert(0, os.path.join(place.SRC, "tests", "host"))
import servers  # noqa: E402
import workloads  # noqa: E402


class Work(workloads.Work):
    """A command with its input; drive() does what its users would while it runs."""

    stdout = os.devnull
    user = ()  # what runs the command as another user

    def drive(self, running):
        return None


def adopt(work):
    work.__class__ = Work
    return work


def micro(*arguments):
    return Work([place.MICRO, *map(str, arguments)])


def many(scale, n):
    return max(int(scale * n), 1)


def cxx_source(scale):
    """Classes and containers: templates are what makes C++ compilers allocate."""
    out = ["#include <algorithm>", "#include <map>", "#include <string>", "#include <vector>"]
    for i in range(many(scale, 2)):
        out.append("""
template <int N> struct node%(i)d { std::map<std::string, std::vector<int>> table; long weight = N; };
long visit%(i)d(const std::string &key)
{
	node%(i)d<%(i)d> n;
	n.table[key].push_back(%(i)d);
	std::vector<std::pair<std::string, long>> order;
	for (auto &[word, lines] : n.table)
		order.emplace_back(word, static_cast<long>(lines.size()) * n.weight);
	std::sort(order.begin(), order.end(), [](auto &a, auto &b) { return a.second > b.second; });
	return order.empty() ? 0 : order[0].second;
}""" % {"i": i})
    return workloads.write("work.cc", "\n".join(out) + "\n")


def cc1plus(scale):
    name = cxx_source(scale)
    program = subprocess.run(["g++", "-print-prog-name=cc1plus"], capture_output=True, text=True, check=True).stdout.strip()
    return Work([program, "-quiet", "-O1", "-std=gnu++17", "-imultiarch", "x86_64-linux-gnu", "-D_GNU_SOURCE", name, "-o", "workcc.s"])


def clang(scale):
    return Work(["clang", "-O2", "-std=gnu++17", "-c", cxx_source(scale), "-o", "workclang.o"])


def openscad(scale):
    """Spheres cut off by a plate: exact geometry recurses over trees of polygons."""
    model = "difference() { for (i = [1:%d]) translate([i * 5, 0, 0]) sphere(4, $fn = 20); cube([30, 3, 3]); }\n" % many(scale, 2)
    return Work(["openscad", "-o", "work.stl", workloads.write("work.scad", model)], {"QT_QPA_PLATFORM": "offscreen"})


# At scale 1 a program runs for some 0.1 to 0.6 s without a recorder.
PROGRAMS = {
    "churn": lambda s: micro("churn", many(s, 6000000), 12),
    "deep64": lambda s: micro("tree", many(s, 2000000), 64),
    "deep100": lambda s: micro("tree", many(s, 1500000), 100),
    "cross": lambda s: micro("cross", many(s, 3000000)),
    "sqlite3": lambda s: adopt(workloads.sqlite3(many(s, 3))),
    "python3": lambda s: adopt(workloads.python3(many(s, 16))),
    "perl": lambda s: adopt(workloads.perl(many(s, 5))),
    "cc1": lambda s: adopt(workloads.cc1(many(s, 2))),
    "cc1plus": cc1plus,
    "jq": lambda s: adopt(workloads.jq(many(s, 8))),
    "git": lambda s: adopt(workloads.git(many(s, 25))),
    "redis": servers.Redis,
    "service": lambda s: Work([place.SERVICE, "4", str(many(s, 60000))]),
    "threads2": lambda s: Work([place.WORDS, "2", str(many(s, 140))]),
    "threads4": lambda s: Work([place.WORDS, "4", str(many(s, 140))]),
}

WHAT = {
    "churn": "malloc and free, 12 frames deep, nothing else",
    "deep64": "recursion, 64 frames deep",
    "deep100": "recursion, 100 frames deep",
    "cross": "one thread allocates, another frees",
    "sqlite3": "a script: inserts, an index, queries, vacuum",
    "python3": "JSON, regular expressions, trees (PYTHONMALLOC=malloc)",
    "perl": "strings, hashes, sorting",
    "cc1": "C compiler proper, -O2",
    "cc1plus": "C++ compiler proper, -O1, standard containers",
    "jq": "groups a JSON file",
    "git": "git log -p",
    "redis": "redis-server under redis-benchmark",
    "service": "C++ service, 4 workers, 20,000 sessions",
    "threads2": "C++, standard containers, 2 threads",
    "threads4": "the same, 4 threads",
}

# The others do little but allocate.
REAL = ("sqlite3", "python3", "perl", "cc1", "cc1plus", "jq", "git", "redis", "service")
