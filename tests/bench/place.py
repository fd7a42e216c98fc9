# SPDX-License-Identifier: MIT
"""Where things are: the tree, the built programs, heaptrack's parts. Everything else runs in a scratch folder."""
import os
import shutil

HERE = os.path.dirname(os.path.abspath(__file__))
SRC = os.path.dirname(os.path.dirname(HERE))
MODE = os.environ.get("MODE", "release")
BUILD = os.path.join(SRC, "build", MODE)
TB = os.environ["TB"] = os.path.join(BUILD, "tests")
STORE = os.environ.get("BENCH_STORE") or os.path.join(SRC, "build", "bench")  # results of the sections, and inputs that take long to make

MS_RECORD = os.path.join(BUILD, "bin", "ms-record")
MS_SNAP = os.path.join(BUILD, "bin", "ms-snap")
MS_REPORT = os.path.join(BUILD, "bin", "ms-report")
LAUNCH = os.path.join(TB, "bench", "launch")
MICRO = os.path.join(TB, "bench", "micro")
WORDS = os.path.join(TB, "bench", "words")
SERVICE = os.path.join(TB, "bench", "service")
STACKS = os.path.join(TB, "bench", "stacks")
HELLO = os.path.join(TB, "bench", "hello")
PEAK = os.path.join(TB, "bench", "peak.so")
INERT = os.path.join(TB, "bench", "inert.so")


def first(*paths):
    for path in paths:
        if os.path.exists(path):
            return path
    return paths[0]


HEAPTRACK = first("/usr/lib/heaptrack/libheaptrack_preload.so", "/usr/lib/x86_64-linux-gnu/heaptrack/libheaptrack_preload.so",
                  "/usr/lib64/heaptrack/libheaptrack_preload.so", "/usr/local/lib/heaptrack/libheaptrack_preload.so")
INTERPRET = os.path.join(os.path.dirname(HEAPTRACK), "libexec", "heaptrack_interpret")


def missing():
    """What the benchmark cannot do without, and why it is not there; None when all is."""
    for path in (MS_RECORD, MS_SNAP, MS_REPORT, LAUNCH, MICRO, WORDS, SERVICE, STACKS, HELLO, PEAK, INERT):
        if not os.path.exists(path):
            return "'%s' is not built: `make bench` builds all that it needs" % path
    return None


def have_heaptrack():
    return os.path.exists(HEAPTRACK) and os.path.exists(INTERPRET) and shutil.which("heaptrack_print") and shutil.which("zstd")
