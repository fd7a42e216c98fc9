# SPDX-License-Identifier: MIT
"""Section "symbols": looking up the frames of a program with some 200 MB of debug information.

The program is one C++ unit full of templates, compiled once and linked as many times under other names, so that it is made in seconds. It is
kept in build/bench/symbols.
"""
import os
import shutil
import sqlite3
import subprocess

import meter
import place
import recorders
from figures import median, target
from programs import Work
from section import Result, progress
from tables import number

FOLDER = os.path.join(place.STORE, "symbols")
FUNCTIONS, COPIES = 10, 100
ROUNDS = 3

HEAD = """
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>
template <int N> struct item {
	std::string name;
	std::vector<std::map<std::string, std::variant<int, std::string>>> rows;
};
"""
STEP = """
static long step@(long seed)
{
	std::map<std::string, std::unique_ptr<item<@>>> table;
	std::unordered_map<std::string, std::vector<item<@> *>> by;
	std::set<std::shared_ptr<item<@>>> kept;
	for (long k = 0; k < 8; k++) {
		auto &p = table[std::to_string(seed % 5 + k)];
		p = std::make_unique<item<@>>();
		p->rows.resize(2);
		p->rows[0]["a"] = static_cast<int>(k);
		p->rows[1]["b"] = std::string(40, 'x');
		by[p->name].push_back(p.get());
		kept.insert(std::make_shared<item<@>>(*p));
	}
	std::function<long(long)> sum = [&](long x) { return x + static_cast<long>(table.size() + by.size() + kept.size()); };
	return sum(seed);
}
"""


def run(*command):
    subprocess.run(command, cwd=FOLDER, check=True)


def write(name, text):
    with open(os.path.join(FOLDER, name), "w") as f:
        f.write(text)


def compile_unit():
    steps = "".join(STEP.replace("@", str(i)) for i in range(FUNCTIONS))
    calls = "".join("\tseed += step%d(seed);\n" % i for i in range(FUNCTIONS))
    write("unit.cc", HEAD + steps + '\nextern "C" long unit_run(long seed)\n{\n%s\treturn seed;\n}\n' % calls)
    run("g++", "-g", "-O1", "-std=gnu++17", "-c", "unit.cc", "-o", "unit.o")
    listed = subprocess.run(["nm", "--defined-only", "-j", "unit.o"], cwd=FOLDER, capture_output=True, text=True, check=True)
    return sorted(set(listed.stdout.split()))


def build():
    """`big` with debug information, `plain` without."""
    os.makedirs(FOLDER, exist_ok=True)
    names, objects, main = compile_unit(), [], []
    for copy in range(COPIES):
        write("names", "".join("%s c%d_%s\n" % (n, copy, n) for n in names))
        objects.append("%d.o" % copy)
        run("objcopy", "--redefine-syms=names", "unit.o", objects[-1])
        main.append("c%d_unit_run" % copy)
    write("main.c", "".join("extern long %s(long);\n" % m for m in main) + "int main(void)\n{\n\tlong s = 0;\n" +
          "".join("\ts += %s(s & 3);\n" % m for m in main) + "\treturn s == 42;\n}\n")
    run("gcc", "-g", "-O1", "-c", "main.c")
    run("g++", "-o", "big.new", "main.o", *objects)
    run("strip", "--strip-debug", "-o", "plain", "big.new")
    for name in objects:
        os.unlink(os.path.join(FOLDER, name))
    os.rename(os.path.join(FOLDER, "big.new"), os.path.join(FOLDER, "big"))


def debug_megabytes(path):
    sections = subprocess.run(["size", "-A", path], capture_output=True, text=True, check=True).stdout.split("\n")
    return sum(int(row.split()[1]) for row in sections if row.startswith(".debug")) / 1e6


def interpret(name):
    """heaptrack_interpret on what its library wrote of `name`."""
    recorders.library(Work([os.path.join(FOLDER, name)]))
    os.rename("heaptrack.raw", name + ".raw")
    return lambda: meter.measure([place.INTERPRET], stdin=name + ".raw", stdout="interpreted")


def embed():
    shutil.copy("big.trace", "embedded.trace")
    return meter.measure([place.MS_SNAP, "--symbols=embed", "embedded.trace"])


def unnamed():
    """Frames, and those without a function's name."""
    meter.measure([place.MS_SNAP, "-q", "--no-symbols", "-o", "embedded.db", "embedded.trace"])
    return sqlite3.connect("embedded.db").execute("SELECT count(*), sum(function IS NULL) FROM frame").fetchone()


def measure(settings):
    result = Result("symbols", "Symbols of a big program")
    big = os.path.join(FOLDER, "big")
    if not os.path.exists(big):
        progress("building a program with 200 MB of debug information")
        build()
    recorders.ours(Work([big]), output="big.trace")
    steps = {"ms-snap --symbols=embed": embed}
    if settings.heaptrack:
        steps.update({"heaptrack_interpret, with symbols": interpret("big"), "heaptrack_interpret, stripped": interpret("plain")})
    samples = {s: [] for s in steps}
    for i in range(ROUNDS):
        for step, function in steps.items():
            progress("symbols: %s, round %d" % (step, i + 1))
            samples[step].append(function())
    t = result.table("", ["step", "wall s", "CPU s", "MiB"])
    for step, done in samples.items():
        t.add(step, number(median([s.wall for s in done])), number(median([s.total for s in done])), number(median([s.rss_kib for s in done]) / 1024, 0))
    result.notes.append("%.0f MB of DWARF; %d frames, %d without a name; %d rounds." % (debug_megabytes(big), *unnamed(), ROUNDS))
    judge(result, samples)
    return result


def judge(result, samples):
    """The second target is the stricter one: only what looking up costs heaptrack_interpret."""
    mine, *theirs = [median([s.wall for s in done]) for done in samples.values()]
    memory = median([s.rss_kib for s in samples["ms-snap --symbols=embed"]]) / 1024
    result.targets.append(target("4 time for symbols / heaptrack_interpret in all", mine / theirs[0] if theirs else None, 1 / 3))
    if theirs and mine > theirs[0]:
        result.losses.append("time for the symbols of a big program: %.2f s against %.2f s" % (mine, theirs[0]))
    difference = theirs[0] - theirs[1] if theirs else 0
    result.targets.append(target("4 the same / heaptrack_interpret's with minus without symbols", mine / difference if difference > 0 else None, 1 / 3))
    result.targets.append(target("4 memory for symbols", memory, 500, unit=" MiB", digits=0))
