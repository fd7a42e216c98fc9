# SPDX-License-Identifier: MIT
"""Section "sites": a recording with 131,000 different call stacks, and the reports of it and of its snapshot."""
import meter
import place
import programs
import recorders
from figures import median, target
from section import Result, progress
from tables import number

SITES = 131000


def measure(settings):
    result = Result("sites", "A snapshot with 131,000 sites")
    t = result.table("", ["step", "wall s", "CPU s", "MiB"])
    work = programs.micro("sites", int(SITES * settings.scale))
    progress("sites")
    recorders.ours(work, options=(), output="sites.trace")
    steps = {"ms-snap -o sites.db sites.trace": [place.MS_SNAP, "-q", "-o", "sites.db", "sites.trace"],
             "ms-report sites.trace": [place.MS_REPORT, "--no-pager", "sites.trace"],
             "ms-report sites.db": [place.MS_REPORT, "--no-pager", "sites.db"],
             "ms-report --json sites.db": [place.MS_REPORT, "--json", "sites.db"]}
    if settings.heaptrack:
        recorders.heaptrack(work)
        steps["heaptrack_print"] = ["heaptrack_print", "heaptrack.zst"]
    samples = {s: [] for s in steps}
    for _ in range(3):
        for step, command in steps.items():
            try:
                samples[step].append(meter.measure(command))
            except meter.Trouble as error:
                result.notes.append("%s: FAILED: %s" % (step, error))
    for step, done in samples.items():
        rss = median([s.rss_kib for s in done])
        t.add(step, number(median([s.wall for s in done])), number(median([s.total for s in done])), number(rss and rss / 1024, 0))
    result.notes.append("%d sites of one block each, 17 frames deep and more." % int(SITES * settings.scale))
    both = [median([s.wall for s in samples.get(k, [])])
            for k in ("ms-snap -o sites.db sites.trace", "ms-report sites.db", "heaptrack_print")]
    for what, of in ("CPU time", lambda s: s.total), ("memory", lambda s: s.rss_kib):
        ours, theirs = [median([of(s) for s in samples.get(k, [])]) for k in ("ms-report sites.trace", "heaptrack_print")]
        if ours and theirs:
            result.notes.append("ms-report sites.trace / heaptrack_print, %s: %.2f" % (what, ours / theirs))
    if None not in both and both[0] + both[1] > both[2]:
        result.losses.append("from the file of %d sites to a report: %.2f s (ms-snap and ms-report) against %.2f s" %
                             (int(SITES * settings.scale), both[0] + both[1], both[2]))
    result.targets.append(target("8 ms-report TRACE of 131,000 sites", median([s.wall for s in samples["ms-report sites.trace"]]), 1, aim=0.4, unit=" s"))
    result.targets.append(target("3 a snapshot of 131,000 sites opened and reported", median([s.wall for s in samples["ms-report sites.db"]]), 1, unit=" s"))
    return result
