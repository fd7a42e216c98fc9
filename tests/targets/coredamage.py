# SPDX-License-Identifier: MIT
"""coredamage.py DUMP N SEED: N damaged copies of a core dump, cut or with bytes changed in its headers, its notes, the heap or anywhere, each read by
ms-record: it ends by itself, with a trace, or with one line that says why not, in bounded time and memory."""
import os
import random
import resource
import struct
import subprocess
import sys

dump, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with open(dump, "rb") as f:
    sound = f.read()
rng = random.Random(seed)
offset, number = struct.unpack_from("<Q", sound, 32)[0], struct.unpack_from("<H", sound, 56)[0]
segments = [struct.unpack_from("<IIQQQQQQ", sound, offset + 56 * i) for i in range(number)]
notes = [(s[2], s[5]) for s in segments if s[0] == 4]
written = [(s[2], s[5]) for s in segments if s[0] == 1 and s[1] & 2 and s[5]]


def changed(at, size, times):
    data = bytearray(sound)
    for _ in range(times):
        i = at + rng.randrange(max(size - 8, 1))
        kind = rng.randrange(3)
        if kind == 0:
            data[i] ^= 1 << rng.randrange(8)
        elif kind == 1:
            data[i : i + 8] = rng.choice([b"\xff" * 8, b"\0" * 8, struct.pack("<Q", rng.getrandbits(64)), struct.pack("<Q", 1 << rng.randrange(64))])
        else:
            data[i : i + 8] = data[i - i % 8 : i - i % 8 + 8][::-1]
    return data[: len(sound)]


def mutant(i):
    which = i % 5
    if which == 0:
        return sound[: rng.randrange(len(sound))]
    if which == 1:
        return changed(0, offset + 56 * number, 1 + rng.randrange(4))
    if which == 2:
        return changed(*rng.choice(notes), 1 + rng.randrange(8))
    if which == 3:
        return changed(*rng.choice(written), 1 + rng.randrange(64))
    return changed(0, len(sound), 1 + rng.randrange(1000))


def limits():
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


said = {}
for i in range(count):
    with open("mutant", "wb") as f:
        f.write(mutant(i))
    if os.path.exists("mutant.trace"):
        os.unlink("mutant.trace")
    p = subprocess.run(["ms-record", "-q", "--core", "mutant", "-o", "mutant.trace"], capture_output=True, text=True, errors="replace",
                       timeout=300, preexec_fn=limits)
    lines = p.stderr.splitlines()
    good = p.returncode == 0 and not lines or p.returncode in (2, 125) and len(lines) == 1 and lines[0].startswith("ms-record: ")
    if not good:
        os.rename("mutant", f"mutant.{seed}.{i}")
        sys.exit(f"FAILED: mutant {i} of seed {seed}: status {p.returncode}: {p.stderr}")
    what = {0: "read", 2: "incomplete", 125: "refused"}[p.returncode]
    if what != "refused" and not os.path.exists("mutant.trace"):
        sys.exit(f"FAILED: mutant {i} of seed {seed}: no trace")
    said[what] = said.get(what, 0) + 1
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
if peak > 512 << 10:
    sys.exit(f"FAILED: {peak} KiB of memory")
print("damaged:", ", ".join(f"{n} {what}" for what, n in sorted(said.items())), f"; at most {peak >> 10} MiB")
