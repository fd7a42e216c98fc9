#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs whose operators or allocators are not those of the C and C++ libraries: the same output and status as without the recorder, exact
figures, or a refusal before the first instruction."""
import json
import os
import shutil
import subprocess
import sys

from checks import check, failures

BIN, TB = os.environ["BIN"], os.environ["TB"]
RECORD = f"{BIN}/ms-record"


def run(*command, **env):
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, env={**os.environ, **env})


def record(*command, **env):
    """Recorded, compared with what it does alone; its totals, and what ms-record said."""
    r, alone = run(RECORD, "--no-symbols", "-o", "run.trace", "--", *command, **env), run(*command, **env)
    check((r.returncode, r.stdout) == (alone.returncode, alone.stdout), f"{command}: {r} is not {alone}")
    report = run(f"{BIN}/ms-report", "--json", "run.trace")
    check(not report.returncode, f"{command}: {report.stderr} {r.stderr}")
    check("every event recorded" in r.stderr, f"{command}: {r.stderr}")
    return json.loads(report.stdout)["totals"] if not report.returncode else {}, r.stderr


def refused(words, *command):
    """Nothing of it has run."""
    r = run(RECORD, "-o", "none.trace", "--", *command)
    check(r.returncode == 125 and words in r.stderr and r.stderr.count("\n") == 1 and not r.stdout, f"{command}: {r}")
    check(not os.path.exists("none.trace"), f"{command}: a trace is left")


def build(name, source, *flags, cc="gcc"):
    with open(f"{name}.{'cc' if cc == 'g++' else 'c'}", "w", encoding="utf-8") as f:
        f.write(source)
    subprocess.run([cc, "-g", "-O1", "-w", "-fno-builtin", *flags, "-o", name, f.name], check=True)
    return f"./{name}"


def scopes():
    """Modules of C++ that a program of C opens."""
    for case in ("constructor", "message", "local", "closed", "global", "threads", "jump"):
        record(f"{TB}/host/scopes", f"{TB}/host", case)


PLAIN = """
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void)
{
	for (int i = 0; i < 100; i++) {
		char *p = malloc(100 + i);
		memset(p, 1, 100);
		free(p);
	}
	write(1, "done\\n", 5);
	return 7;
}
"""


def sanitizers():
    """A library of theirs is recorded through; what is linked into the program is refused, and runs where it is started by another one."""
    for name in ("address", "thread", "leak", "undefined"):
        program = build(name, PLAIN, f"-fsanitize={name}")
        totals, _ = record(program)
        check(totals.get("frees", 0) >= 100 and totals["allocations"] - totals["frees"] < 10, f"{program}: {totals}")
    for name, flag in (("address", "-static-libasan"), ("thread", "-static-libtsan")):
        program = build(name, PLAIN, f"-fsanitize={name}", flag)
        refused("a sanitizer is linked into it", program)
        r = run(RECORD, "-o", "run.trace", "--", "sh", "-c", f"{program}; echo $?; {program}; exit $?")
        check((r.returncode, r.stdout) == (7, "done\n7\ndone\n"), f"started by a shell: {r}")
    library = build("address", PLAIN, "-fsanitize=address")
    starts = build("starts", '#include <stdlib.h>\n#include <unistd.h>\n'
                   'int main(int n, char **v) { free(malloc(9)); return execv(v[1], v + 1); }', "-static")
    r = run(RECORD, "-o", "run.trace", "--", starts, library, ASAN_OPTIONS="detect_leaks=0")  # it cannot while it is traced
    check((r.returncode, r.stdout) == (7, "done\n"), f"run by a static one: {r}")
    if shutil.which("clang"):
        refused("a sanitizer is linked into it", build("memory", PLAIN, "-fsanitize=memory", cc="clang"))


OWN_MALLOC = """
#include <stddef.h>
#include <string.h>
#include <unistd.h>
static char pool[1 << 20];
static size_t at;
void *malloc(size_t n) { void *p = pool + at; at += (n + 31) & ~15ul; *(size_t *)p = n; return (char *)p + 16; }
void *calloc(size_t a, size_t b) { return memset(malloc(a * b), 0, a * b); }
void *realloc(void *o, size_t n) { void *p = malloc(n); size_t m = o ? ((size_t *)o)[-2] : 0; return o ? memcpy(p, o, n < m ? n : m) : p; }
__asm__(".text\\n.globl free\\n.type free, @function\\nfree: ret\\n.size free, . - free\\n"
	".globl behind\\n.type behind, @function\\nbehind: mov $7, %eax\\nret\\n.size behind, . - behind\\n");
void free(void *);
int behind(void);
int main(void) { free(malloc(10)); write(1, "run\\n", 4); return behind(); }
"""

NEVER_FREES = """
#include <stdlib.h>
int main(void)
{
	for (int i = 0; i < 50; i++)
		if (!malloc(100))
			return 1;
	return 3;
}
"""


def allocators():
    """A free that is too short for a hook; none at all."""
    program = build("short", OWN_MALLOC, "-rdynamic")
    check(run(program).returncode == 7, "short: it does not run")
    refused("cannot record 'short': its free cannot be hooked (its code is too short for a jump)", program)
    if shutil.which("musl-gcc"):
        totals, _ = record(build("keeps", NEVER_FREES, "-static", cc="musl-gcc"))
        check((totals.get("allocations"), totals.get("unfreed_bytes")) == (50, 5000), f"keeps: {totals}")
        record("sh", "-c", f"{build('musl', PLAIN, cc='musl-gcc')}; echo $?")  # its linker preloads, too


BUMP = """
#include <cstddef>
#include <cstdlib>
#include <new>
#include <string>
#include <unistd.h>
#include <vector>
static char pool[1 << 20];
static size_t at;
static unsigned long made, gone;
static void *take(size_t n) { void *p = pool + at; at += (n + 15) & ~15ul; return p; }
void *operator new(size_t n) { if (n > 100000) throw std::bad_alloc(); made++; return take(n); }
void operator delete(void *p) noexcept { gone += p != nullptr; }
void operator delete(void *p, size_t) noexcept { gone += p != nullptr; }
int main()
{
	void *volatile m;
	for (int i = 0; i < 100; i++) {
		std::vector<int> v(10 + i);
		std::string *s = new std::string(50, 'x');
		m = v.data();
		if (i % 10)
			delete s;
		char *a = new char[i + 1];
		m = a;
		delete[] a;
	}
	try {
		m = ::operator new(200000);
	} catch (const std::bad_alloc &) {
		gone += 1000000;
	}
	m = std::malloc(100);
	char text[100];
	write(1, text, snprintf(text, sizeof text, "%lu %lu\\n", made, gone));
	return 5;
}
"""


def own():
    """Operators of a program that do not call malloc are recorded themselves, those that do by what they call."""
    for name, flags in (("bump", ()), ("bump_static", ("-static-libstdc++", "-static-libgcc")), ("bump_now", ("-fno-plt", "-Wl,-z,now"))):
        program = build(name, BUMP.replace("<unistd.h>", "<unistd.h>\n#include <cstdio>"), *flags, cc="g++")
        made, gone = (int(x) for x in run(program).stdout.split())
        totals, _ = record(program)
        # Of malloc's: the one block, and libstdc++'s reserve for exceptions. What the operator throws is made inside, and passes.
        got = [totals.get(k) for k in ("allocations", "frees", "failed_allocations")]
        check(got == [made + 2, gone - 1000000, 1], f"{name}: {got}, it made {made}, gave back {gone}")
    short = build("short_delete", BUMP.replace("<unistd.h>", "<unistd.h>\n#include <cstdio>").replace("{ gone += p != nullptr; }", "{}"), "-Os", cc="g++")
    totals, said = record(short)
    check(totals.get("allocations") == 400 + 2, f"short_delete: {totals}")
    check("the program's own operators new and delete are recorded in part: '_ZdlPv' cannot be hooked (its code is too short for a jump)" in said, said)
    through = build("through", BUMP.replace("take(n); }", "malloc(n); }").replace("<unistd.h>", "<unistd.h>\n#include <cstdio>"), cc="g++")
    totals, said = record(through)
    check(totals.get("allocations") == 400 + 3 and "operators" not in said, f"through: {totals} {said}")


def main():
    scopes()
    sanitizers()
    allocators()
    own()
    print("ok" if not failures else f"{len(failures)} failed")
    sys.exit(1 if failures else 0)


main()
