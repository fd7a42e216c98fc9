# SPDX-License-Identifier: MIT
"""Section "live": what ms-record needs, in time and in memory, for many blocks that are live at once."""
import figures
import programs
import recorders
from figures import median
from section import Result, progress
from tables import number, span

MILLIONS = (1, 4)
FEW, DEPTH = 1000, 12
SHARE = 1 - 0.018  # of the slots hold a block in the end: each is filled four times, at random
LIMIT_B, FIXED_KIB = 24, 1024


def measure(settings):
    result = Result("live", "Many live blocks")
    t = result.table("", ["million|live blocks", "events", "bare|wall s", "own end x", "middle half", "complete x", "ms-record|ns/event", "ms-record|MiB",
                          "with few|live blocks", "B a live|block"])
    last = None
    for millions in MILLIONS:
        slots = int(millions * 1e6 * settings.scale)
        few, many = (programs.micro("churn", 8 * slots, DEPTH, live) for live in (FEW, slots))
        bare, base, ours = [], [], []
        for i in settings.each_round(60):
            progress("%g million live blocks, round %d" % (millions, i + 1))
            bare.append(recorders.bare(many))
            base.append(recorders.ours(few))
            ours.append(recorders.ours(many))
        own, walls = ([getattr(r, f) for r in ours] for f in ("own", "wall"))
        kib = [median([r.recorder_kib for r in runs]) for runs in (base, ours)]
        events = ours[-1].trace.events
        ns = median([r.recorder for r in ours]) / events * 1e9
        block = max(kib[1] - kib[0] - FIXED_KIB, 0) * 1024 / (slots * SHARE) if None not in kib else None
        last = (ns, block)
        own, walls = (figures.ratios(a, [getattr(r, f) for r in bare]) for a, f in ((own, "own"), (walls, "wall")))
        t.add("%g" % (slots / 1e6), number(events, 0), number(median([r.wall for r in bare])), number(median(own)), span(figures.spread(own)),
              number(median(walls)), number(ns, 0), *[number(k and k / 1024, 0) for k in kib[::-1]], number(block, 1))
    result.notes.append("A block's bytes: what ms-record's largest memory is above that with %d live blocks and as many events, less 1 MiB." % FEW)
    result.targets.append(figures.target("8 ms-record, ns an event with 4 million live blocks", last[0], 70, aim=40, digits=0))
    result.targets.append(figures.target("8 memory of ms-record / live block, B", last[1], LIMIT_B, aim=16, digits=1))
    return result
