#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Calls the probe (python_probe.c) from all kinds of frames: LIBRARY ROUNDS THREADS OUTPUT."""
import asyncio
import ctypes
import functools
import gc
import os
import random
import re
import sys
import threading

lib = ctypes.PyDLL(sys.argv[1])
probe = lib.probe
ROUNDS, THREADS, OUTPUT = int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
sys.setswitchinterval(1e-5)


def either(r):
    probe(r.randrange(2))


def generator(depth):
    probe(0)
    if depth:
        yield from generator(depth - 1)
    probe(1)
    yield 1


async def coroutine(depth):
    probe(0)
    if depth:
        await coroutine(depth - 1)
    await asyncio.sleep(0)
    probe(1)


def recursion(n):
    if n == 0:
        return probe(0)
    if n % 3 == 0:
        probe(1)
    return recursion(n - 1) if n % 7 else list(map(functools.partial(recursion), [n - 1]))


def cells():
    free = 1

    def inner(_=probe(0)):
        probe(free)
        return [probe(0) for _ in range(2)]
    inner()
    (lambda x: probe(
        x))(1)


class Object:
    def __del__(self):
        probe(0)

    def __lt__(self, other):
        probe(1)
        return id(self) < id(other)

    def __hash__(self):
        probe(0)
        return 5

    def __eq__(self, other):
        probe(1)
        return False

    @property
    def known(self):
        return probe(0)

    def __getattr__(self, name):
        return probe(1)


def compiled(r):
    """Code that comes and goes, at addresses where other code was."""
    text = "%sdef f():\n probe(0)\n%s probe(1)\nf()\nprobe(0)" % ("\n" * r.randrange(3), "\n" * r.randrange(6))
    exec(compile(text, "made%d.py" % r.randrange(2), "exec"), {"probe": probe})


def suspended(r):
    some = [generator(2) for _ in range(3)]
    for g in some:
        next(g)
    try:
        raise ValueError
    except ValueError:
        either(r)
    finally:
        either(r)


def cycle(r):
    o = Object()
    o.known
    o.what
    o.self = o
    del o
    if not r.randrange(40):
        gc.collect()


def storm(seed):
    r = random.Random(seed)
    scenes = [lambda: list(generator(r.randrange(8))), lambda: asyncio.run(coroutine(r.randrange(6))),
              lambda: recursion(r.randrange(40)), cells, lambda: sorted([Object() for _ in range(6)]),
              lambda: {Object() for _ in range(3)}, lambda: cycle(r), lambda: compiled(r),
              lambda: re.sub("a", lambda m: either(r) or "b", "banana"), lambda: suspended(r)]
    for _ in range(ROUNDS):
        scenes[r.randrange(len(scenes))]()


threads = [threading.Thread(target=storm, args=(i,)) for i in range(THREADS)]
for t in threads:
    t.start()
storm(99)
for t in threads:
    t.join()
lib.probe_write(OUTPUT.encode())
os._exit(0)
