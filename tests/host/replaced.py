# SPDX-License-Identifier: MIT
"""Records programs whose files are replaced, overwritten or removed while they run, and compares names: see replaced.sh.

Each build of a file allocates in a function of its own name, of the same length, so that builds have the same size. What the
program allocated is then either under its own build's name or under none; never under another's.
"""
import csv
import io
import os
import resource
import shutil
import subprocess
import sys

SOURCE = r"""
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/wait.h>
__attribute__((noinline)) void *NAME(int n) { return malloc(n); }
void *volatile keep;
static void until(const char *file) { while (access(file, F_OK)) usleep(1000); }
void plug(void) { keep = NAME(4000); __asm__ volatile(""); }
#ifdef PROGRAM
int main(int argc, char **argv)
{
	close(creat("begun", 0600));
	until("go");
	if (argc > 1 && fork() == 0) {
		if (argv[1][0] == 'e')
			execl("next", "next", (char *)0);
		plug();
		exit(0);
	}
	plug();
	while (wait(0) > 0)
		;
	return 0;
}
#endif
"""
# "c" closes, "x" removes, "n" puts other.so in its place, "o" overwrites it with that, "p" calls it, "y" overwrites and keeps the time
HOST = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <fcntl.h>
#include <sys/stat.h>
static char bytes[1 << 20];
static void overwrite(int keep)
{
	struct stat st;
	int from = open("other.so", O_RDONLY), to = open("./plug.so", O_WRONLY | O_TRUNC);
	ssize_t n = read(from, bytes, sizeof bytes);
	fstat(from, &st);
	if (write(to, bytes, n) != n)
		exit(3);
	struct timespec t[2] = {st.st_atim, st.st_mtim};
	if (keep)
		futimens(to, t);
	close(from);
	close(to);
}
int main(int argc, char **argv)
{
	int many = argc > 2 ? atoi(argv[2]) : 0;
	char name[64];
	for (int i = 0; i < many; i++) {
		snprintf(name, sizeof name, "./many%d.so", i);
		void *h = dlopen(name, RTLD_NOW);
		if (!h)
			return 2;
		((void (*)(void))dlsym(h, "plug"))();
	}
	for (int i = 0; i < many; i++) {
		snprintf(name, sizeof name, "./many%d.so", i);
		unlink(name);
	}
	void *h = many ? NULL : dlopen("./plug.so", RTLD_NOW);
	if (!many && !h)
		return 2;
	for (const char *p = argv[1]; *p; p++) {
		if (*p == 'x')
			unlink("./plug.so");
		else if (*p == 'n')
			rename("other.so", "plug.so");
		else if (*p == 'o' || *p == 'y')
			overwrite(*p == 'y');
		else if (*p == 'p')
			((void (*)(void))dlsym(h, "plug"))();
		else if (*p == 'c')
			dlclose(h);
	}
	return 0;
}
"""

failed = 0


def build(out, name, *flags):
    subprocess.run(["gcc", "-g", "-O1", "-fno-builtin", f"-DNAME={name}", "-x", "c", "-", "-o", out, *flags], input=SOURCE, text=True, check=True)


def plugin(out, name, ident):
    build(out, name, "-shared", "-fPIC", *([] if ident else ["-Wl,--build-id=none"]))


def sites(trace):
    """Bytes of each frame that the stacks of 4,000 bytes begin with."""
    text = subprocess.run(["ms-report", "--csv", trace], capture_output=True, text=True, check=False).stdout
    found = {}
    for row in csv.DictReader(io.StringIO(text)):
        if int(row["allocated_bytes"]) % 4000 == 0:
            found[row["function"]] = found.get(row["function"], 0) + int(row["allocated_bytes"])
    return found


def state(trace, name):
    text = subprocess.run(["ms-report", "--modules", trace], capture_output=True, text=True, check=False).stdout
    return next((line.split("  ")[0] for line in text.splitlines() if line.endswith("/" + name)), "no such module")


def expect(what, seen, right):
    global failed
    if seen != right:
        print(f"{what}: {seen}, not {right}")
        failed += 1


def clean():
    for f in ("begun", "go", "t.trace"):
        if os.path.exists(f):
            os.unlink(f)
    shutil.rmtree("t.trace.d", ignore_errors=True)


def plugins(ident):
    for how in ("px", "pxc", "xp", "xpc", "pn", "pnc", "np", "npc", "pcn", "pcx"):
        plugin("plug.so", "take_old", ident)
        plugin("other.so", "take_new", ident)
        clean()
        subprocess.run(["ms-record", "-q", "-o", "t.trace", "./host", how], check=True)
        expect(f"plugin {how}, build-id {ident}", sites("t.trace"), {"take_old": 4000})
    for how in ("pco", "pcy"):
        plugin("other.so", "take_new", ident)
        plugin("plug.so", "take_old", ident)
        if how == "pcy":
            shutil.copystat("other.so", "plug.so")
        clean()
        subprocess.run(["ms-record", "-q", "-o", "t.trace", "./host", how], check=True)
        seen = sites("t.trace")
        expect(f"overwritten {how}, build-id {ident}: under a name", {k for k in seen if "take" in k}, set())
        expect(f"overwritten {how}, build-id {ident}", (sum(seen.values()), state("t.trace", "plug.so")), (4000, "NONE: another build"))


def change(how):
    build("new", "take_new", "-DPROGRAM")
    if how == "removed":
        os.unlink("prog")
    elif how == "renamed over":
        os.rename("new", "prog")
    else:
        os.rename("prog", "older")
        os.rename("new", "prog")


def program(how, attached, ident):
    clean()
    build("prog", "take_old", "-DPROGRAM", *([] if ident else ["-Wl,--build-id=none"]))
    if attached:
        p = subprocess.Popen(["./prog"])
        while not os.path.exists("begun"):
            os.sched_yield()
        if attached == "after":
            change(how)
        r = subprocess.Popen(["ms-record", "-q", "-o", "t.trace", "-p", str(p.pid)])
        subprocess.run(["ms-record", "--tell=flush", "--wait", "t.trace"], capture_output=True, check=False)
        while b"memscope" not in open(f"/proc/{p.pid}/maps", "rb").read() and r.poll() is None:
            os.sched_yield()
        if attached == "before":
            change(how)
    else:
        r = subprocess.Popen(["ms-record", "-q", "-o", "t.trace", "./prog"])
        p = None
        while not os.path.exists("begun"):
            os.sched_yield()
        change(how)
    if attached:
        while not os.path.exists("t.trace") or os.path.getsize("t.trace") < 500:
            os.sched_yield()
    open("go", "w").close()
    r.wait()
    if p:
        p.wait()
    expect(f"program {how}, attached {attached}, build-id {ident}", sites("t.trace"), {"take_old": 4000})


def child(how):
    """The child forks, or becomes another program, after its files were removed or as they are."""
    clean()
    build("prog", "take_old", "-DPROGRAM")
    build("next", "take_nxt", "-DPROGRAM")
    r = subprocess.Popen(["ms-record", "-q", "--follow=all", "-o", "t.trace", "./prog", how])
    while not os.path.exists("begun"):
        os.sched_yield()
    build("new", "take_new", "-DPROGRAM")
    os.rename("new", "prog")
    open("go", "w").close()
    r.wait()
    found = [sites(os.path.join("t.trace.d", f)) for f in os.listdir("t.trace.d") if f.endswith(".trace")]
    expect(f"parent of a child, {how}", sites("t.trace"), {"take_old": 4000})
    expect(f"child, {how}", found, [{"take_nxt" if how == "exec" else "take_old": 4000}])


def many(count, limits):
    """More files than descriptors, all of them removed."""
    clean()
    plugin("many0.so", "take_old", True)
    for i in range(1, count):
        shutil.copy("many0.so", f"many{i}.so")
    subprocess.run(["ms-record", "-q", "-o", "t.trace", "./host", "", str(count)], check=True,
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limits))
    return sites("t.trace")


def main():
    with open("host.c", "w", encoding="ascii") as f:
        f.write(HOST)
    subprocess.run(["gcc", "-g", "-O1", "-o", "host", "host.c", "-ldl"], check=True)
    for ident in (True, False):
        plugins(ident)
        for how in ("removed", "renamed over", "moved away"):
            program(how, None, ident)
        program("removed", "before", ident)
        program("renamed over", "after", ident)
    child("fork")
    child("exec")
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    expect("200 files, 64 descriptors", many(200, (64, hard)), {"take_old": 800000})
    seen = many(200, (128, 128))
    expect("200 files, never more than 128 descriptors", (seen.get("take_old", 0) >= 40 * 4000, [k for k in seen if "take_" in k and k != "take_old"]), (True, []))
    sys.exit(failed > 0)


main()
