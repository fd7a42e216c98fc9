# SPDX-License-Identifier: MIT
"""Shows what was measured, on the terminal and in tests/bench/RESULTS.md, with the machine and the versions that it holds for."""
import os
import platform
import subprocess

import place
import section
import tables

# README has these programs, RESULTS.md all.
SHORT = ("sqlite3", "python3", "cc1plus", "jq", "redis", "threads4")
BEGIN, END = "<!-- bench: written by tests/bench/run --results -->", "<!-- bench: end -->"


def first_line(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True).stdout.split("\n")[0].strip()
    except OSError:
        return ""


def field(path, key):
    with open(path) as f:
        for row in f:
            if row.startswith(key):
                return row.split(":", 1)[1].strip()
    return "?"


def machine():
    """[(what, value)]."""
    memory = int(field("/proc/meminfo", "MemTotal").split()[0]) / 1048576
    libc = " ".join(platform.libc_ver())
    return [("processor", "%s, %d cores" % (field("/proc/cpuinfo", "model name"), os.cpu_count())), ("memory", "%.0f GiB" % memory),
            ("kernel", platform.release()), ("gcc", first_line("gcc", "-dumpfullversion")), ("C library", libc),
            ("heaptrack", first_line("heaptrack", "--version").split(" ")[-1] or "not installed"),
            ("MemScope", (first_line(place.MS_RECORD, "--version") + " " + section.revision()).strip())]


def load_words(load, others):
    words = "load average at the start %.2f, %.2f, %.2f, other work used %.0f %% of the processors" % (*load, others * 100)
    return words + (" (BUSY: times are noise)" if others > 0.1 else "")


def show_machine():
    print("; ".join("%s %s" % pair for pair in machine()))
    print(load_words(os.getloadavg(), section.used_by_others()))


def show(result):
    print("\n==== %s (%s)" % (result.title, load_words(result.load, result.others)))
    for table in result.tables:
        print("\n" + table.text())
    for note in result.notes:
        print(tables.wrapped(note, "# ", "# "))
    print(flush=True)


def losses_of(found):
    """What heaptrack does better, of stored sections."""
    return [loss for r in found for loss in r["losses"]]


def show_targets(done):
    targets = [t for r in done for t in r.targets]
    if targets:
        print(tables.targets_table("Targets", sorted(targets, key=lambda t: t["what"].split(" ")[0]), remarks=False).text())
    losses = [loss for r in done for loss in r.losses]
    if losses:
        print("\nWhere heaptrack is better\n" + "\n".join(tables.wrapped(loss) for loss in losses))


def show_list(sections, programs):
    print("sections: " + " ".join(sections))
    for name, what in programs.items():
        print("  %-9s %s" % (name, what))
    return 0


def write(sections):
    """RESULTS.md and README's table from what is stored."""
    found = [r for r in (section.stored(name) for name in sections) if r]
    if not found:
        print("bench: nothing was measured yet: `make bench`")
        return 2
    with open(os.path.join(place.HERE, "RESULTS.md"), "w") as f:
        f.write(document(found))
    rewrite_readme(found)
    return 0


def document(found):
    out = ["# Results of the benchmark", "",
           "Written by `tests/bench/run --results` from the last `make bench`. Every ratio is of runs in turn on the same machine, medians of the rounds.", "",
           "| | |", "|---|---|"]
    out += ["| %s | %s |" % pair for pair in machine()]
    out += ["", "## Targets", "", targets_of(found).markdown(), "", "## Where heaptrack is better", ""]
    out += ["- " + loss for loss in losses_of(found)] or ["Nowhere in what was measured."]
    out.append("")
    for r in found:
        out += ["## " + r["title"], "", "Measured: " + measured_words(r), ""]
        for table in r["tables"]:
            out += [table.markdown(), ""]
        out += [n + "  " for n in r["notes"]] + [""]
    return "\n".join(out).rstrip() + "\n"


def measured_words(r):
    less = "" if r["scale"] == 1 else "; scale %g of the full work" % r["scale"]
    return "of %s, %s, %s; %.0f s%s." % (r["revision"], r["when"], load_words(r["load"], r["others"]), r["seconds"], less)


def targets_of(found):
    all_targets = sorted((t for r in found for t in r["targets"]), key=lambda t: t["what"].split(" ")[0])
    return tables.targets_table("", all_targets)


def rewrite_readme(found):
    path = os.path.join(place.SRC, "README.md")
    with open(path) as f:
        text = f.read()
    main = next((r for r in found if r["name"] == "programs" and r["short"]), None)
    if not main or BEGIN not in text or END not in text:
        return
    table = tables.Table("", main["short"]["head"], [r for r in main["short"]["rows"] if r[0] in SHORT]).markdown()
    facts = dict(machine())
    table += "\n\n%s, %s, heaptrack %s; %s" % (facts["processor"], facts["memory"], facts["heaptrack"], measured_words(main))
    before, rest = text.split(BEGIN, 1)
    with open(path, "w") as f:
        f.write(before + BEGIN + "\n" + table + "\n" + END + rest.split(END, 1)[1])
