# SPDX-License-Identifier: MIT
"""Makes hostile traces, databases and programs from the golden ones, and gives each to a tool that reads it, with MS_CHECK_ALL to every one.

None may die by a signal, take more than 2 s of the processor or 256 MB, or say something other than one line that names the tool and the
file, or a report. Arguments: nothing, or a word of the names of those to try, which are kept then.
"""
import os
import resource
import shutil
import sqlite3
import struct
import subprocess
import sys

SRC, BIN, MODE = os.environ["SRC"], os.environ["BIN"], os.environ.get("MODE", "release")
SECONDS, MEGABYTES = (2, 256) if MODE == "release" else (60, 4096)
EXAMPLES = os.path.join(SRC, "tests", "golden", "v2")
SYNC = b"\xb5MSblk\r\n"
INFO, EVENTS, STACKS, MODULES, THREADS, SAMPLES, MARKS, LOSSES, END, SYMBOLS, CHECKPOINT, INDEX, VERDICTS, BEFORE, RESIDENT, RETENTION = range(1, 17)
COUNT = 2**32
files = runs = 0
failures = []

TABLE = []
for i in range(256):
    for _ in range(8):
        i = i >> 1 ^ (0x82F63B78 if i & 1 else 0)
    TABLE.append(i)


def crc(data):
    c = 0xFFFFFFFF
    for byte in data:
        c = TABLE[(c ^ byte) & 255] ^ c >> 8
    return struct.pack("<I", c ^ 0xFFFFFFFF)


def varint(v):
    out = bytearray()
    while v > 127:
        out.append(v & 127 | 128)
        v >>= 7
    return bytes(out) + bytes([v])


def varints(*v):
    return b"".join(map(varint, v))


def repeated(byte, size):
    """A zstd frame of that many equal bytes, in blocks of 128 KB of four bytes each."""
    out = b"\x28\xb5\x2f\xfd" + b"\xa0" + struct.pack("<I", size)
    while size > 0:
        n = min(size, 128 << 10)
        size -= n
        out += struct.pack("<I", n << 3 | 1 << 1 | (size == 0))[:3] + bytes([byte])
    return out


class Column:
    def __init__(self, number, data, raw=None, codec=0):
        self.number, self.data, self.raw, self.codec = number, data, len(data) if raw is None else raw, codec


def bomb(number, byte, size):
    return Column(number, repeated(byte, size), size, 1)


def block(kind, cols, serial=0, **change):
    h = dict(columns=len(cols), first=0, last=1000, raw=sum(c.raw for c in cols), number=serial)
    payload = b"".join(struct.pack("<HBBII", c.number, c.codec, 0, c.raw, len(c.data)) for c in cols) + b"".join(c.data for c in cols)
    h.update(payload=len(payload), checksum=crc(payload))
    for name, value in change.items():
        h[name] = bytes(4) if name == "checksum" else value
    head = SYNC + struct.pack("<HHIQQII", kind, h["columns"], h["number"], h["first"], h["last"], h["payload"], h["raw"]) + h["checksum"]
    return head + crc(head) + payload


def record(*fields):
    out = b""
    for number, value in fields:
        out += varints(number << 1 | 1, len(value)) + value if isinstance(value, bytes) else varints(number << 1, value)
    return varint(len(out)) + out


def records(kind, *each, number=0):
    return block(kind, [Column(1, b"".join(each))], number)


def header(**change):
    h = dict(major=1, minor=0, size=48, need=0, hint=0, machine=62, bytes=8, tick=100000)
    h.update(change)
    head = b"\x89MST\r\n\x1a\n" + struct.pack("<HHIQQHBBII", *(h[k] for k in ("major", "minor", "size", "need", "hint", "machine", "bytes")), 0, h["tick"], 0)
    return head + crc(head)


def parts(trace):
    """The file's header, and its blocks."""
    out, at = [trace[:48]], 48
    while at < len(trace):
        size = 48 + struct.unpack_from("<I", trace, at + 32)[0]
        out.append(trace[at:at + size])
        at += size
    return out


def make(name, data):
    """Each is gone before the next one: what Python once had in memory counts as the tools' own."""
    global files
    if len(sys.argv) > 1 and sys.argv[1] not in name:
        return
    with open(name, "wb") as f:
        f.write(data)
    files += 1
    give(name)
    if len(sys.argv) < 2:
        os.remove(name)


def numbered(pieces):
    """Blocks that have no number yet are given the next one: a reader passes over those that do not come in order."""
    out, number = bytearray(), 0
    for piece in pieces:
        at = 0
        while piece[at:at + 8] == SYNC and len(piece) >= at + 48:
            head = piece[at:at + 12] + struct.pack("<I", number) + piece[at + 16:at + 44]
            if piece[at + 12:at + 16] == bytes(4):
                piece = piece[:at] + head + crc(head) + piece[at + 48:]
            number += 1
            at += 48 + struct.unpack_from("<I", piece, at + 32)[0]
        out += piece
    return bytes(out)


def trace(name, *blocks, head=None):
    make(name + ".trace", (head or header()) + numbered(blocks))


# ---- traces ----

BEGIN = records(INFO, record((1, 7), (3, b"/x/app"), (20, 0)))
FINISH = records(END, record((1, 1), (2, 0)))


def chain(nodes):
    """A stack of so many frames, and one allocation below it."""
    ones = [Column(2, bytes(nodes)), Column(3, bytes(nodes)), Column(4, bytes(nodes))]
    return [block(STACKS, [Column(1, varints(1, nodes, 1, nodes)), *ones, Column(5, b"\1" * nodes), Column(6, b"\2" * nodes)], 1), events(nodes)]


def events(stack):
    zigzag = stack * 2 + 1
    return block(EVENTS, [Column(1, varints(0, 0, 0, 1)), Column(2, b"\0"), Column(4, varint(zigzag)), Column(5, varint(100))], 2)


def cut(golden):
    for name in golden:
        with open(os.path.join(EXAMPLES, name + ".trace"), "rb") as f:
            data = f.read()
        for k in range(8):
            make(f"cut-{name}-{k}.trace", data[:len(data) * k // 8 + k % 3])
        pieces = parts(data)
        make(f"twice-{name}.trace", pieces[0] + b"".join(p + p for p in pieces[1:]))
        make(f"backwards-{name}.trace", pieces[0] + b"".join(pieces[:0:-1]))
        make(f"thousand-{name}.trace", pieces[0] + b"".join(pieces[1:]) * 500)


def heads():
    for name, change in (("version", dict(major=2)), ("need", dict(need=1 << 63)), ("size", dict(size=COUNT - 1)), ("small", dict(size=1)),
                         ("tick", dict(tick=0)), ("machine", dict(machine=0xFFFF)), ("bits", dict(bytes=0)), ("ticks", dict(tick=COUNT - 1))):
        trace("header-" + name, BEGIN, FINISH, head=header(**change))
    for name, change in (("columns", dict(columns=64)), ("more-columns", dict(columns=0xFFFF)), ("payload", dict(payload=COUNT - 1)),
                         ("raw", dict(raw=64 << 20)), ("more-raw", dict(raw=COUNT - 1)), ("number", dict(number=COUNT - 1)),
                         ("time", dict(first=2**64 - 1, last=0)), ("checksum", dict(checksum=0))):
        trace("block-" + name, BEGIN, block(EVENTS, [Column(1, varints(0, 0, 0, 0))], **change), FINISH)
    trace("syncs", SYNC * 100000)
    trace("empty-blocks", *[block(77, [])] * 100000)
    trace("infos", *[BEGIN] * 20000)
    trace("ends", BEGIN, *[FINISH] * 20000)
    for name, count in (("events", 10**6), ("last", 2**62)):
        trace("end-" + name, BEGIN, records(END, record((1, count), (2, count), *[(k, count) for k in range(3, 30)])))


def bombs():
    size = 64 << 20
    for kind in range(1, 17):
        for byte in (0, 1, 255):
            if kind in (EVENTS, STACKS, CHECKPOINT):
                last = 13 if kind == EVENTS else 10 if kind == CHECKPOINT else 6
                head = (0, 0, 0, size // 4) if kind == EVENTS else (1, size // 8, 1, size // 8) if kind == STACKS else (0, 10**7, 0, 1, size // 8, 0, 1, size // 8)
                columns = [Column(1, varints(*head)), *[bomb(k, byte, size // 16) for k in range(2, last + 1)]]
            else:
                columns = [bomb(1, byte, size)]
            trace(f"bomb-{kind}-{byte}", BEGIN, block(kind, columns), FINISH)
    trace("bomb-liar", BEGIN, block(EVENTS, [Column(1, repeated(0, 64 << 20), 100, 1)]), FINISH)
    trace("bombs", BEGIN, *[block(MODULES, [bomb(1, 1, 16 << 20)])] * 8, FINISH)


def counts():
    for kind, n in ((EVENTS, 4), (STACKS, 4), (CHECKPOINT, 8)):
        for k in range(n):
            for value in (COUNT, 2**64 - 1):
                columns = [Column(1, varints(*[value if i == k else 1 for i in range(n)])), *[Column(c, b"\1" * 50) for c in range(2, 10)]]
                trace(f"count-{kind}-{k}-{value % 7}", BEGIN, block(kind, columns), FINISH)
    for kind in (MODULES, THREADS, SAMPLES, MARKS, LOSSES, SYMBOLS, INDEX, VERDICTS, BEFORE, RESIDENT, RETENTION):
        for name, value in (("count", COUNT - 1), ("most", 2**64 - 1)):
            fields = [(k, value) for k in range(1, 36)]
            trace(f"numbers-{kind}-{name}", BEGIN, events(0), records(kind, record(*fields), record((1, 1), *fields[1:])), FINISH)
    trace("threads", BEGIN, records(THREADS, *[record((1, i), (2, i), (3, b"t%d" % i)) for i in range(20000)]), FINISH)
    trace("thread-far", BEGIN, records(THREADS, record((1, COUNT - 2), (3, b"t"))), FINISH)
    trace("modules", BEGIN, records(MODULES, *[record((1, i), (2, b"/m%d" % i), (4, i), (5, i + 2)) for i in range(1, 20000)]), FINISH)
    trace("marks", BEGIN, records(MARKS, *[record((1, i), (2, b"m%d" % i), (3, 0)) for i in range(20000)]), FINISH)
    trace("losses", BEGIN, records(LOSSES, *[record((1, i), (2, i + 1), (3, 2**50), (4, i % 9)) for i in range(20000)]), FINISH)
    trace("samples", BEGIN, records(SAMPLES, *[record((1, i * 10**6), (2, 2**62), (3, 2**63)) for i in range(20000)]), FINISH)


def names():
    long = b"n" * 10**6
    for name, b in (("exe", records(INFO, record((1, 7), (3, long)))), ("args", records(INFO, record((3, b"/x"), *[(4, b"a" * 1000)] * 1000))),
                    ("module", BEGIN + records(MODULES, record((1, 1), (2, long), (4, 0), (5, 2**47)))), ("thread", BEGIN + records(THREADS, record((1, 0), (3, long)))),
                    ("mark", BEGIN + records(MARKS, record((1, 5), (2, long)))),
                    ("symbol", BEGIN + records(SYMBOLS, record((1, b"_Z" + b"NSt" * 3000)), record((1, b"_Z1fI" * 5000)), record((2, 1), (3, 1), (3, 2)))),
                    ("device", BEGIN + records(MODULES, record((1, 1), (2, b"/dev/zero"), (4, 0), (5, 2**47)))),
                    ("pipe", BEGIN + records(MODULES, record((1, 1), (2, b"/dev/stdin"), (4, 0), (5, 2**47))))):
        trace("name-" + name, b, *chain(4), FINISH)
    for nodes in (1000, 100000, 1000000):
        trace(f"deep-{nodes}", BEGIN, *chain(nodes), FINISH)
    frames = 50000
    wide = [Column(1, varints(1, 1, 1, frames)), Column(2, b"\0"), Column(3, b"\0"), Column(4, b"\0"), Column(5, b"\0" + b"\1" * (frames - 1)), Column(6, b"\2" + b"\0" * (frames - 1))]
    trace("one-frame-deep", BEGIN, block(STACKS, wide), events(frames), FINISH)
    for at in (0, 48, 49, 2**63, 2**64 - 1):
        index = records(INDEX, *[record((1, 2), (2, at), (3, 48), (4, k), (6, 0), (7, COUNT)) for k in range(100)])
        trace(f"index-{at % 97}", BEGIN, events(0), index, records(END, record((1, 1), *[(k, at) for k in range(2, 40)])))


# ---- databases ----

def database(name, seed, change):
    db = sqlite3.connect(":memory:")
    db.deserialize(seed)
    db.executescript("PRAGMA writable_schema = ON; PRAGMA recursive_triggers = ON;")
    change(db)
    db.commit()
    make(name + ".db", db.serialize())


def tables(db):
    return [t for t, in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]


def everywhere(value):
    def change(db):
        for t in tables(db):
            for _, column, kind, *_, key in db.execute(f"PRAGMA table_info({t})").fetchall():
                if t != "meta" and not key and not (t, column) in (("stack", "frame"), ("stack", "parent"), ("site", "stack"), ("snapshot", "process")):
                    db.execute(f"UPDATE OR IGNORE {t} SET {column} = {value}")
    return change


def databases():
    subprocess.run([BIN + "/ms-snap", "-q", "--no-symbols", "-o", "seed.db", EXAMPLES + "/full.trace"], check=True)
    with open("seed.db", "rb") as f:
        seed = f.read()
    for k in range(10):
        make(f"cut-{k}.db", seed[:len(seed) * k // 10 + k])
        at = 1000 * k + 100
        make(f"filled-{k}.db", seed[:at] + b"\xff" * 512 + seed[at + 512:])
    for name, value in (("null", "NULL"), ("minus", "-9223372036854775808"), ("most", "9223372036854775807"), ("text", "'x'"), ("real", "1e308"),
                        ("infinite", "9e999"), ("blob", "randomblob(100)"), ("zeros", "zeroblob(500)"), ("empty", "''")):
        database("all-" + name, seed, everywhere(value))
    for name, sql in (
            ("cycle", "UPDATE stack SET parent = id"), ("cycle-two", "UPDATE stack SET parent = 3 - id WHERE id < 3"),
            ("own-frame", "UPDATE stack SET frame = 0"), ("depths", "UPDATE stack SET depth = 9223372036854775807"),
            ("deep", "DELETE FROM stack; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000) INSERT INTO stack SELECT i, 1, nullif(i - 1, 0), 1, i FROM n; UPDATE site SET stack = 200000, user_frame = 200000"),
            ("points", "WITH RECURSIVE n(i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) INSERT INTO snapshot(id, process, label) SELECT i, 1, 'p' || i FROM n"),
            ("timeline", "DELETE FROM timeline; WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 50000) INSERT INTO timeline(process, time_ns, live_max) SELECT 1, i, i FROM n"),
            ("processes", "WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) INSERT INTO process(id, exe) SELECT i, 'p' || i FROM n"),
            ("no-process", "DELETE FROM process"), ("no-moment", "DELETE FROM snapshot"), ("no-site", "DELETE FROM site"),
            ("view", "DROP TABLE mark; CREATE VIEW mark AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT 1 AS process, i AS seq, 'm' AS name, i AS time_ns, i AS event, 1 AS thread FROM n"),
            ("trigger", "CREATE TRIGGER t AFTER INSERT ON mark BEGIN INSERT INTO mark VALUES(1, new.seq + 1, 'm', 0, 0, 0); END"),
            ("generated", "DROP TABLE loss; CREATE TABLE loss(process INTEGER NOT NULL, from_ns INTEGER, to_ns INTEGER, events INTEGER, reason TEXT AS (hex(zeroblob(1000000000))), thread INTEGER)"),
            ("schema-loop", "UPDATE sqlite_schema SET rootpage = 1 WHERE name = 'site'"), ("schema-same", "UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'frame') WHERE name = 'stack'"),
            ("huge-text", "UPDATE frame SET function = hex(zeroblob(500000)), file = hex(zeroblob(500000)) WHERE id = 1"),
            ("estimates", "INSERT OR IGNORE INTO estimate SELECT 1, s.id, t.id, 0, 'live_bytes', -9e18, 9e18, -1, -1e308, 1e308, 9e999 FROM snapshot s, site t"),
            ("newer", "PRAGMA user_version = 2000000000"), ("older", "PRAGMA user_version = 1"), ("other", "PRAGMA application_id = 0")):
        database(name, seed, lambda db, sql=sql: db.executescript(sql))


# ---- programs whose symbols are wanted ----

def programs():
    folder = os.path.join(SRC, "tests", "fuzz", "corpus", "symbols")
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as f:
            elf = f.read()
        for k, (at, value) in enumerate(((0x28, 2**64 - 1), (0x28, 2**63), (0x3C, 0xFFFF), (0x3E, 0xFFFF), (0x20, 2**64 - 40))):
            damaged = bytearray(elf)
            damaged[at:at + 8] = struct.pack("<Q", value) if value > 0xFFFF else struct.pack("<H", value) + elf[at + 2:at + 8]
            make(f"elf-{name}-{k}", bytes(damaged))
    make("elf-none", b"\x7fELF" + b"\xff" * 100)


def program_trace(path):
    """A trace whose one stack lies in that file."""
    address = [Column(2, b"\1" * 64), Column(3, b"\x80\x20" + b"\x20" * 63), Column(4, b"\0" * 64), Column(5, b"\1" * 64), Column(6, b"\2" * 64)]
    with open("program.trace", "wb") as f:
        f.write(header() + BEGIN + records(MODULES, record((1, 1), (2, os.path.realpath(path).encode()), (4, 0), (5, 2**30), (6, 0))) +
                block(STACKS, [Column(1, varints(1, 64, 1, 64)), *address]) + events(64) + FINISH)


# ---- each of them to every tool ----

def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


def tool(name, words):
    global runs
    runs += 1
    with open("out", "wb") as out, open("err", "wb") as err:
        p = subprocess.Popen([os.path.join(BIN, words[0]), *words[1:]], stdout=out, stderr=err, stdin=subprocess.DEVNULL, preexec_fn=limit)
        _, status, used = os.wait4(p.pid, 0)
        p.returncode = 0
    with open("err", "rb") as f:
        said = f.read(100000)
    code = os.waitstatus_to_exitcode(status)
    lines = said.splitlines()
    wrong = []
    if code not in (0, 2):
        wrong.append(f"status {code}")
    if code == 2 and not lines:
        wrong.append("no word")
    if len(said) > 4096 or len(lines) > 4 or any(not line.startswith(words[0].encode() + b":") for line in lines):
        wrong.append(f"{len(lines)} lines on standard error")
    if any(c < 32 and c != 10 for c in said):
        wrong.append("control characters on standard error")
    if used.ru_maxrss > MEGABYTES << 10:
        wrong.append(f"{used.ru_maxrss >> 10} MB")
    if used.ru_utime + used.ru_stime > SECONDS:
        wrong.append(f"{used.ru_utime + used.ru_stime:.1f} s")
    if wrong:
        failures.append(f"{name}: {' '.join(words)}: {', '.join(wrong)}: {said[:300]!r}")


TRACE = [["ms-report"], ["ms-snap", "-o", "made.db"], ["ms-filter", "--min", "1", "-o", "made.db"], ["ms-top", "-b", "-n", "1"],
         ["ms-report", "--html=made.html"], ["ms-diff", "-o", "made.db", "old.trace"]]
DATABASE = [["ms-report", *words] for words in ([], ["--json=made"], ["--html=made"], ["--md=made"], ["--tree"], ["--timeline"], ["--folded=made"], ["--csv=made"])]
DATABASE += [["ms-filter", "--min", "1", "-o", "made.db"], ["ms-diff", "-o", "made.db", "seed.db"]]


def give(name):
    if not name.endswith((".trace", ".db")):
        program_trace(name)
        tool(name, ["ms-snap", "-o", "made.db", "program.trace"])
        return
    every = TRACE if name.endswith(".trace") else DATABASE
    for words in every if "MS_CHECK_ALL" in os.environ else [every[files % len(every)]]:
        tool(name, [*words, name])


shutil.copy(EXAMPLES + "/full.trace", "old.trace")
cut(("full", "verdicts"))
heads()
bombs()
counts()
names()
databases()
programs()
print("\n".join(failures[:40]))
print(f"hostile-files: {files} files, {runs} runs, found {len(failures)}")
sys.exit(bool(failures) or not files)
