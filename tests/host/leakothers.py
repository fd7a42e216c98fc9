# SPDX-License-Identifier: MIT
"""What other tools find leaked in a program, and what MemScope finds, told in the same way: {stack: [blocks, bytes]} of direct and of
indirect leaks. A stack is the names of the functions of the leak programs on it, the one that allocates first."""
import glob
import os
import re
import sqlite3
import subprocess
import xml.etree.ElementTree as ET

SOURCES = {"leaks.h", "main.h", "leaks.c", "leaksmore.c", "leaksthreads.c", "leakscxx.cc", "leaksmodule.c"}
KINDS = ("direct", "indirect")


def plain(name):
    """A function's name without its parameters and tags, by which tools differ."""
    return re.sub(r"\(.*|\[abi:.*", "", name.replace("(anonymous namespace)::", "").replace("{lambda", "(").replace("'lambda", "("))


def stack_of(frames):
    """frames: (function, file), innermost first."""
    names = [plain(f) for f, source in frames if f and os.path.basename(source or "") in SOURCES]
    return "<".join(n for n in names if n not in ("main", "run_case")) or "?"


class Leaks(dict):
    """(kind, stack) -> [blocks, bytes]"""

    def add(self, kind, stack, blocks, size):
        n = self.setdefault((kind, stack), [0, 0])
        n[0] += blocks
        n[1] += size

    def lines(self):
        return sorted(f"{kind} {stack} {blocks} {size}" for (kind, stack), (blocks, size) in self.items())

    def total(self, kind):
        return sum(v[0] for k, v in self.items() if k[0] == kind)


def of_snapshot(path):
    """The unreachable blocks of the scan at the end. None = there is no verdict."""
    db, parent, frames, out = sqlite3.connect(path), {}, {}, Leaks()
    if [r[0] for r in db.execute("SELECT state FROM scan WHERE label = 'end'")] != ["done"]:
        return None
    for row, up, function, source in db.execute("SELECT k.id, k.parent, f.function, f.file FROM stack k JOIN frame f ON f.id = k.frame"):
        parent[row], frames[row] = up, (function, source)
    for row, verdict, blocks, size in db.execute("SELECT s.stack, v.verdict, v.blocks, v.bytes FROM site_verdict v JOIN site s ON s.id = v.site"
                                                 " JOIN scan c ON c.scan = v.scan AND c.process = s.process WHERE c.label = 'end'"):
        stack = []
        while row:
            stack.append(frames[row])
            row = parent[row]
        if verdict in ("unreachable", "indirect"):
            out.add("direct" if verdict == "unreachable" else "indirect", stack_of(stack), blocks, size)
    db.close()
    return out


def memscope(command, **more):
    subprocess.run(["ms-record", "-q", "-o", "run.trace"] + command, stdout=subprocess.DEVNULL, timeout=600, **more)
    subprocess.run(["ms-snap", "-o", "run.db", "run.trace"], check=True, timeout=600)
    return of_snapshot("run.db")


def valgrind(command, options=(), **more):
    subprocess.run(["valgrind", "-q", "--leak-check=full", "--show-leak-kinds=definite,indirect,possible", "--num-callers=100", "--keep-debuginfo=yes",
                    "--xml=yes", "--xml-file=leaks.xml"] + list(options) + command,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=250, **more)
    out = Leaks()
    for e in ET.parse("leaks.xml").getroot().iter("error"):
        kind = {"Leak_DefinitelyLost": "direct", "Leak_IndirectlyLost": "indirect", "Leak_PossiblyLost": "possible"}.get(e.findtext("kind"))
        if not kind:
            continue
        frames = [(f.findtext("fn"), f.findtext("file")) for f in e.find("stack")]
        # "120 (40 direct, 80 indirect) bytes in 1 blocks": only what is direct counts, the rest has records of its own.
        text = e.findtext("xwhat/text")
        size = re.search(r"\(([\d,]+) direct", text) or re.search(r"([\d,]+) bytes", text)
        out.add(kind, stack_of(frames), int(e.findtext("xwhat/leakedblocks")), int(size.group(1).replace(",", "")))
    return out


def symbolizer():
    found = sorted(glob.glob("/usr/lib/llvm-*/bin/llvm-symbolizer") + glob.glob("/usr/bin/llvm-symbolizer"))
    return found[-1] if found else ""


def sanitizer(command, options="", **more):
    """Of a program that was built with -fsanitize=leak."""
    env = dict(os.environ, LSAN_SYMBOLIZER_PATH=symbolizer(),
               LSAN_OPTIONS="exitcode=0:malloc_context_size=200:fast_unwind_on_malloc=0:report_objects=0:print_suppressions=0" + options)
    p = subprocess.run(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=600, **more)
    out, kind, blocks, size, frames = Leaks(), None, 0, 0, []
    for line in p.stderr.split("\n") + [""]:
        head = re.match(r"(Direct|Indirect) leak of (\d+) byte\(s\) in (\d+) object\(s\)", line)
        frame = re.match(r"\s+#\d+ 0x[0-9a-f]+ in (.*?) (\S+?)(?::\d+)*$", line)
        if head:
            kind, size, blocks, frames = head.group(1).lower(), int(head.group(2)), int(head.group(3)), []
        elif frame and kind:
            frames.append((frame.group(1), frame.group(2)))
        elif not line.strip() and kind:
            out.add(kind, stack_of(frames), blocks, size)
            kind = None
    if "LeakSanitizer has encountered a fatal error" in p.stderr:
        raise RuntimeError(p.stderr)
    return out
