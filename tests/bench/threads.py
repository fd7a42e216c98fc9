# SPDX-License-Identifier: MIT
"""Section "threads": cost of an event from 1 to 1,000 threads that all allocate."""
import figures
import programs
import recorders
from figures import median
from section import Result, progress
from tables import number, span

THREADS = (1, 2, 4, 8, 16, 32, 64, 1000)
EVENTS = 3000000
FLAT = 1.25  # how much more an event may cost and still be called flat


def measure(settings):
    result = Result("threads", "Cost by number of threads")
    t = result.table("", ["threads", "bare|ns/event", "added|heaptrack", "added|ours", "middle half", "ms-record|ns/event", "wall x|heaptrack", "wall x|ours",
                          "added KiB|per thread"])
    costs = []
    for threads in THREADS:
        work = programs.micro("threads", int(EVENTS * settings.scale), threads)
        bare, raw, ours = [], [], []
        for i in settings.each_round(10):
            progress("%d threads, round %d" % (threads, i + 1))
            bare.append(recorders.bare(work))
            if settings.heaptrack and i < 3:
                raw.append(recorders.library(work))
            ours.append(recorders.ours(work))
        scale = 1e9 / ours[-1].trace.events

        def cpu(runs):
            return [r.target * scale for r in runs]

        def wall(runs):
            return number(median(figures.ratios([r.wall for r in runs], [r.wall for r in bare])))

        added, recorder = figures.differences(cpu(ours), cpu(bare)), median([r.recorder for r in ours]) * scale
        memory = median([(a.peak_kib - b.peak_kib) / threads for a, b in zip(ours, bare) if a.peak_kib and b.peak_kib])
        costs.append(("%d threads" % threads, median(added) + recorder))
        t.add(str(threads), number(median(cpu(bare)), 0), number(median(figures.differences(cpu(raw), cpu(bare))), 0), number(median(added), 0),
              span(figures.spread(added), 0), number(recorder, 0), wall(raw), wall(ours), number(memory, 0))
    result.notes.append("%d events in all, at 12 frames; heaptrack: its library alone. Flat: program and ms-record together use at most %.2f times "
                        "what they use with one thread. "
                        "Shared memory in all is bounded by --buffer (64 MiB unless asked otherwise)."
                        % (int(EVENTS * settings.scale), FLAT))
    one = costs[0][1]
    result.targets.append(figures.worst_target("7 cost of an event, 2 to 64 threads / 1 thread", [(n, c / one) for n, c in costs[1:-1]], FLAT))
    return result
