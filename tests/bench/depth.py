# SPDX-License-Identifier: MIT
"""Section "depth": cost of an event by the depth of the stack that it is made from."""
import figures
import programs
import recorders
from figures import median
from section import Result, progress
from tables import number, span

DEPTHS = (10, 20, 64, 100, 300)
EVENTS = 1000000
CUT = 64  # heaptrack takes no more frames than this


def measure(settings):
    result = Result("depth", "Cost by depth of the stack")
    t = result.table("", ["frames", "bare|ns/event", "added|heaptrack", "added|ours", "middle half", "ms-record|ns/event", "ours /|heaptrack"])
    mine, theirs = [], []
    for depth in DEPTHS:
        work = programs.micro("churn", int(EVENTS * settings.scale), depth)
        bare, raw, ours, recorder = [], [], [], []
        for i in settings.each_round(12):
            progress("depth %d, round %d" % (depth, i + 1))
            bare.append(recorders.bare(work).target)
            if settings.heaptrack:
                raw.append(recorders.library(work).target)
            run = recorders.ours(work)
            ours.append(run.target)
            recorder.append(run.recorder)
        scale = 1e9 / run.trace.events
        added = [d * scale for d in figures.differences(ours, bare)]
        of_raw = [d * scale for d in figures.differences(raw, bare)]
        mine.append((depth, median(added)))
        theirs.append((depth, median(of_raw)))
        t.add(str(depth), number(median(bare) * scale, 0), number(theirs[-1][1], 0), number(mine[-1][1], 0), span(figures.spread(added), 0),
              number(median(recorder) * scale, 0), number(mine[-1][1] / theirs[-1][1] if theirs[-1][1] else None))
    # Only allocations have a stack; they are half of the events.
    frame = 2 * figures.slope(mine)
    their_frame = 2 * figures.slope([p for p in theirs if p[0] <= CUT]) if settings.heaptrack else None
    result.notes.append("Half of the events are allocations, only these take a stack. ns for each frame and allocation: ours %s, heaptrack %s. heaptrack: its "
                        "library alone; it cuts stacks at %d frames." %
                        (number(frame), number(their_frame), CUT))
    by_depth = dict(mine)
    result.targets.append(figures.worst_target("1 ns an event in the program, 10 to 20 frames", [("%d frames" % d, by_depth[d]) for d in (10, 20)],
                                               80, aim=50, digits=0))
    result.targets.append(figures.target("1 ns an event in the program, 100 frames", by_depth[100], 100, digits=0))
    result.targets.append(figures.target("1 ns a frame of an allocation", frame, 0.6))
    return result
