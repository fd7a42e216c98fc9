# SPDX-License-Identifier: MIT
"""Section "cores": how far this machine's processors are one. A recorder's work beside the program slows it by as much, even where nothing waits."""
import figures
import meter
import programs
from figures import median
from section import Result
from tables import number, span

ROUNDS = 9


def measure(settings):
    result = Result("cores", "Two processes that only compute, alone and side by side")
    command = programs.micro("compute", int(3e8 * settings.scale)).command
    alone, beside = [], []
    for _ in range(ROUNDS):
        alone.append(meter.measure(command).wall)
        both = [meter.Running(command) for _ in range(2)]
        beside.append(median([one.finish().wall for one in both]))
    times = figures.ratios(beside, alone)
    t = result.table("", ["alone s", "side by side s", "times as long", "middle half"])
    t.add(number(median(alone)), number(median(beside)), number(median(times)), span(figures.spread(times)))
    result.notes.append("1: each has a processor of its own; 2: the two share all of one.")
    return result
