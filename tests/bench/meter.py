# SPDX-License-Identifier: MIT
"""Runs a command through `launch` and says what it used: wall time, CPU of itself and of its children, memory."""
import itertools
import os
import resource
import signal
import subprocess

import place

TIMEOUT = 900  # s
numbers = itertools.count()


class Trouble(Exception):
    """A program that could not be measured; its row says why, and the rest goes on."""


class Sample:
    """One run. start, end: CLOCK_MONOTONIC, s; own: CPU s of the process itself; total: with its children; rss_kib: the largest of
    them; gone: when the program that holds the FIFO had ended, else `end`; peaks: program name -> KiB, of each program that ended by itself
    with peak.so in it."""

    def __init__(self, text, peaks):
        start, end, own, total, rss, gone, status = text.split()
        self.start, self.end, self.own, self.total = float(start), float(end), float(own), float(total)
        self.rss_kib, self.status, self.peaks = int(rss), int(status), peaks
        self.gone = float(gone) or self.end
        self.wall = self.end - self.start

    @property
    def children(self):
        return max(self.total - self.own, 0.0)


def preloadable(path):
    """LD_PRELOAD ends a name at a space or a colon: where the path has one, a link in the current folder."""
    if not {" ", ":"} & set(path):
        return path
    link = os.path.abspath(os.path.basename(path))
    if not os.path.islink(link):
        os.symlink(path, link)
    return link


class Running:
    """A command under way. Its files lie in the current folder. program: whose end is to be told from the command's own."""

    def __init__(self, command, environment=None, preload=(), stdin=os.devnull, stdout=os.devnull, address_space=None, program=None):
        self.command, self.name = command, "meter.%d" % next(numbers)
        env = dict(environment or os.environ)
        env["BENCH_PRELOAD"] = ":".join(map(preloadable, preload))
        env["BENCH_PEAK"] = os.path.abspath(self.name + ".peak")
        if program:
            env["BENCH_PROGRAM"], env["BENCH_HELD"] = program, os.path.abspath(self.name + ".held")
            os.mkfifo(env["BENCH_HELD"])
            os.chmod(env["BENCH_HELD"], 0o666)  # also of another user

        def prepare():
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if address_space:
                resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))

        with open(stdin, "rb") as source, open(stdout, "wb") as out, open(self.name + ".err", "wb") as err:
            self.process = subprocess.Popen([place.LAUNCH, self.name, *command], env=env, stdin=source, stdout=out, stderr=err,
                                            start_new_session=True, preexec_fn=prepare)

    def finish(self, timeout=TIMEOUT, allowed=(0,)):
        try:
            status = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.stop()
            raise Trouble("'%s' did not end within %d s" % (self.command[0], timeout))
        except BaseException:
            self.stop()
            raise
        with open(self.name + ".err", errors="replace") as f:
            said = f.read()
        if status not in allowed:
            raise Trouble("'%s' ended with %d: %s" % (" ".join(map(str, self.command)), status, said.strip()[-300:] or "it said nothing"))
        with open(self.name) as f:
            sample = Sample(f.read(), read_peaks(self.name + ".peak"))
        for suffix in ("", ".err", ".peak", ".held"):
            if os.path.exists(self.name + suffix):
                os.unlink(self.name + suffix)
        return sample

    def stop(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def read_peaks(name):
    peaks = {}
    if os.path.exists(name):
        with open(name) as f:
            for line in f:
                program, kib = line.rsplit(" ", 1)
                peaks[program] = max(peaks.get(program, 0), int(kib))
    return peaks


def measure(command, **options):
    """Runs a command to its end."""
    allowed = options.pop("allowed", (0,))
    return Running(command, **options).finish(allowed=allowed)
