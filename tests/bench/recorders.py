# SPDX-License-Identifier: MIT
"""One run of a program under each recorder, and what it cost.

heaptrack's library is preloaded as its script does, without the script, whose shell would be measured too. "heaptrack" is its normal way: a
pipe to heaptrack_interpret and zstd while the program runs; "raw" is heaptrack --raw: a pipe to zstd; "library" is what neither mode of the
script can reach: the library alone, writing an uncompressed file. Ours is timed with --no-symbols and -q: symbols and the summary have rows of their own.
"""
import os
import shutil

import meter
import place
import tracefile


class Run:
    """wall: until all files are written, s; own: until the program itself has ended; target: CPU s of the program; recorder: of all others that recording needed; peak_kib: the
    program's largest memory; size: bytes of the file; trace: tracefile.Totals of ours."""

    def __init__(self, wall, own, target, recorder=0.0, peak_kib=None, size=None, trace=None, recorder_kib=None):
        self.wall, self.own, self.target, self.recorder, self.peak_kib, self.size = wall, own, target, recorder, peak_kib, size
        self.trace, self.recorder_kib = trace, recorder_kib

    @property
    def cpu(self):
        return self.target + self.recorder


def program_of(work):
    return os.path.basename(os.path.realpath(shutil.which(work.command[0]) or work.command[0]))


def start(work, prefix=(), preload=(), environment=None):
    env = dict(work.environment, **(environment or {}))
    return meter.Running([*work.user, *prefix, *work.command], env, [*preload, place.PEAK], work.stdin, work.stdout, program=program_of(work))


def finish(work, running):
    """Lets the program do its work; when it began to (servers: when they were ready), and the sample."""
    try:
        began = work.drive(running)
    except BaseException:
        running.stop()
        raise
    sample = running.finish()
    return began or sample.start, sample


def bare(work, preload=(), environment=None):
    began, sample = finish(work, start(work, preload=preload, environment=environment))
    return Run(sample.end - began, sample.gone - began, sample.total, peak_kib=sample.peaks.get(program_of(work)))


def library(work):
    if os.path.exists("heaptrack.raw"):
        os.unlink("heaptrack.raw")
    return bare(work, [place.HEAPTRACK], {"DUMP_HEAPTRACK_OUTPUT": os.path.abspath("heaptrack.raw")})


def piped(work, stages, output):
    """heaptrack's library writes into a pipe, each stage reads from the one before; the last one's output is the file."""
    names = ["pipe.%d" % i for i in range(len(stages))]
    for name in names:
        if os.path.exists(name):
            os.unlink(name)
        os.mkfifo(name)
    readers = [meter.Running(["/bin/sh", "-c", 'exec "$@" <"$0" >%s' % into, name, *stage])
               for stage, name, into in zip(stages, names, [*names[1:], output])]
    try:
        running = start(work, preload=[place.HEAPTRACK], environment={"DUMP_HEAPTRACK_OUTPUT": os.path.abspath(names[0])})
        began, sample = finish(work, running)
        rest = [r.finish() for r in readers]
    except BaseException:
        for r in readers:
            r.stop()
        raise
    return Run(max(r.end for r in rest) - began, sample.gone - began, sample.total, sum(r.total for r in rest), sample.peaks.get(program_of(work)),
               os.path.getsize(output))


def raw(work):
    return piped(work, [["zstd", "-q", "-c"]], "heaptrack.raw.zst")


def heaptrack(work):
    return piped(work, [[place.INTERPRET], ["zstd", "-q", "-c"]], "heaptrack.zst")


def ours(work, options=("--no-symbols",), output="run.trace"):
    if work.user:  # which cannot replace what is ours
        output = "other." + output
    began, sample = finish(work, start(work, [place.MS_RECORD, "-q", "-o", output, *options, "--"]))
    trace = tracefile.Totals(output)
    if trace.lost:
        raise meter.Trouble("EVENTS LOST: %d of %d" % (trace.lost, trace.lost + trace.events))
    return Run(sample.end - began, sample.gone - began, sample.children, sample.own, sample.peaks.get(program_of(work)), trace.size, trace,
               sample.peaks.get("ms-record"))
