#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Calls the probe (python_probe.c) from all kinds of frames: LIBRARY ROUNDS THREADS OUTPUT SEED [wait]. wait: for a line of input. SIGTERM ends it early."""
import asyncio
import contextlib
import ctypes
import functools
import gc
import itertools
import os
import random
import re
import signal
import sys
import threading
import time
import weakref

lib = ctypes.PyDLL(sys.argv[1])
probe = lib.probe
ROUNDS, THREADS, OUTPUT, SEED = int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], int(sys.argv[5])
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


def deep(n):
    """As many frames as the interpreter allows in one of C, or each tenth in one of its own."""
    if n % 97 == 0:
        probe(n & 1)
    if n == 0:
        raise LookupError
    if n % 10 == 0 and n < 400:
        return next(map(deep, (n - 1,)))
    return deep(n - 1)


def raised(r):
    try:
        deep(r.choice((50, 300, 850)))
    except LookupError as e:
        try:
            raise OSError from e
        except OSError:
            probe(1)


@contextlib.contextmanager
def context():
    probe(0)
    try:
        yield
    except KeyError:
        probe(1)
    finally:
        probe(0)


def contexts(r):
    with contextlib.ExitStack() as stack:
        stack.enter_context(context())
        stack.callback(either, r)
        with context(), context():
            raise KeyError


@functools.lru_cache(maxsize=2)
def cached(n):
    probe(0)
    return n and cached(n - 1)


@functools.singledispatch
def dispatched(_):
    probe(1)


@dispatched.register
def _(n: int):
    probe(0)
    return dispatched(str(n))


COMPARE = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
QSORT = ctypes.PyDLL(None).qsort
QSORT.restype = None


def compare(a, b):
    probe(0)
    return a[0] - b[0]


def callbacks(r):
    """Functions of C that call Python's: the interpreter's own, and the C library's."""
    numbers = [r.randrange(9) for _ in range(5)]
    sorted(numbers, key=lambda n: probe(0) or n)
    min(numbers, key=functools.cmp_to_key(lambda a, b: either(r) or a - b))
    list(filter(lambda n: probe(1) or n, numbers))
    functools.reduce(lambda a, b: probe(0) or a + b, numbers)
    list(itertools.accumulate(numbers, lambda a, b: probe(1) or a + b))
    [list(g) for _, g in itertools.groupby(numbers, lambda n: probe(0) or n % 2)]
    cached(r.randrange(4))
    dispatched(r.randrange(2))
    dispatched("")
    QSORT((ctypes.c_int * 5)(*numbers), ctypes.c_size_t(5), ctypes.c_size_t(4), COMPARE(compare))
    weakref.ref(Object(), lambda _: probe(0))


async def asynchronous(n):
    try:
        for i in range(n):
            probe(0)
            yield i
            await asyncio.sleep(0)
    finally:
        probe(1)


async def tasks():
    async def some(n):
        async for i in asynchronous(n):
            probe(i & 1)
            if i == 2:
                break
        return [probe(0) async for _ in asynchronous(2)]

    async def endless(n):
        try:
            await (endless(n - 1) if n else asyncio.sleep(9))
        finally:
            probe(n & 1)
    task = asyncio.create_task(endless(2))
    await asyncio.gather(some(2), some(4), coroutine(1))
    task.cancel()
    await asyncio.wait([task])


def thrown(r):
    def inner():
        try:
            yield 1
        except ValueError:
            either(r)
            yield 2
        finally:
            either(r)

    def outer():
        yield from inner()
    g = outer()
    next(g)
    g.throw(ValueError)
    if r.randrange(2):
        g.close()


def traced(r):
    """Functions that the interpreter calls at others' calls, in frames that have hardly begun."""
    sys.setprofile(lambda frame, event, arg: event == "call" and probe(0))
    try:
        list(generator(1))
        either(r)
    finally:
        sys.setprofile(None)


def classes():
    class Meta(type):
        def __call__(cls, *args):
            probe(1)
            return super().__call__(*args)

    class Made(metaclass=Meta):
        probe(0)

        def __init__(self):
            probe(0)

        def __init_subclass__(cls):
            probe(1)

        def __set_name__(self, owner, name):
            probe(0)

    class Owner(Made):
        made = Made()
    Owner()


def short_lived(r):
    t = threading.Thread(target=lambda: list(generator(r.randrange(3))))
    t.start()
    probe(1)
    t.join()


def interrupted(r):
    """A handler runs between two instructions of the main thread, wherever that is."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGUSR1, lambda n, frame: probe(0))
        signal.raise_signal(signal.SIGUSR1)
    either(r)


over = threading.Event()
signal.signal(signal.SIGTERM, lambda number, frame: over.set())


def storm(seed):
    r = random.Random(seed)
    scenes = [lambda: list(generator(r.randrange(8))), lambda: asyncio.run(coroutine(r.randrange(6))),
              lambda: recursion(r.randrange(40)), cells, lambda: sorted([Object() for _ in range(6)]),
              lambda: {Object() for _ in range(3)}, lambda: cycle(r), lambda: compiled(r),
              lambda: re.sub("a", lambda m: either(r) or "b", "banana"), lambda: suspended(r),
              lambda: contexts(r), lambda: callbacks(r), lambda: asyncio.run(tasks()), lambda: thrown(r), lambda: traced(r), classes,
              lambda: short_lived(r), lambda: interrupted(r), lambda: r.randrange(8) or raised(r)]
    for _ in range(ROUNDS):
        if over.is_set():
            break
        scenes[r.randrange(len(scenes))]()


def held():
    return [len(os.listdir("/proc/self/" + what)) for what in ("fd", "task")]


before = held()
if len(sys.argv) > 6:
    print("ready", flush=True)
    sys.stdin.readline()
threads = [threading.Thread(target=storm, args=(SEED + i,)) for i in range(THREADS)]
for t in threads:
    t.start()
storm(SEED + 99)
for t in threads:
    t.join()
for _ in range(1000):  # the last thread is over when it has been joined, but for the kernel
    if held() == before:
        break
    time.sleep(0.02)
if held() != before:
    sys.exit("%s descriptors and threads before, %s after" % (before, held()))
lib.probe_write(OUTPUT.encode())
os._exit(0)
