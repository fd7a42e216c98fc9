# SPDX-License-Identifier: MIT
"""Real programs with deterministic work for them to do: made in the current folder, shared by the host tests and the benchmark.

make(name, scale) prepares the input and returns a Work: the command, its environment and standard input. Scale 1 is for tests (well under a
second without a recorder), more for the benchmark.
"""
import os
import random
import subprocess


class Work:
    def __init__(self, command, environment=None, stdin=os.devnull, made=None):
        self.command, self.stdin, self.made = command, stdin, made
        self.environment = dict(os.environ, LC_ALL="C.UTF-8", **(environment or {}))

    def run(self, prefix=(), **more):
        with open(self.stdin, "rb") as source:
            return subprocess.run(list(prefix) + self.command, env=self.environment, stdin=source, **more)


def write(name, text):
    with open(name, "w") as f:
        f.write(text)
    return name


def sqlite3(scale):
    r = random.Random(1)
    out = ["create table t(a integer primary key, b text, c real); begin;"]
    for i in range(4000 * scale):
        out.append("insert into t values(%d, '%s', %r);" % (i, "x" * r.randrange(200), r.random()))
    out.append("commit; create index i on t(b);")
    for i in range(100 * scale):
        out.append("select count(*), sum(c), max(b) from t where a %% %d = 0 group by length(b) order by 2;" % r.randrange(2, 50))
    out.append("select group_concat(b, '') is not null from t; update t set b = b || 'y'; delete from t where a % 3 = 0; vacuum;")
    return Work(["sqlite3", ":memory:"], stdin=write("work.sql", "\n".join(out)))


def python3(scale):
    write("work.py", """
import json, re
total = 0
for i in range(%d):
    d = {str(k): [k] * (k %% 13) for k in range(300)}
    text = json.dumps(d)
    total += len(re.findall(r'[0-9]+', text)) + len(sorted(json.loads(text)))
print(total)
class Node:
    def __init__(self, left, right): self.left, self.right = left, right
def tree(depth): return None if depth == 0 else Node(tree(depth - 1), tree(depth - 1))
def count(t): return 0 if t is None else 1 + count(t.left) + count(t.right)
print(count(tree(12)))
""" % (15 * scale))
    return Work(["/usr/bin/python3", "-S", "work.py"], {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"})


def perl(scale):
    write("work.pl", """
use strict; my (%%h, @a, $n);
for my $i (1 .. %d) {
    my $s = join ',', map { $_ * $i } 1 .. 20;
    push @{$h{$i %% 97}}, [split /,/, $s];
    $n += length($1) while $s =~ /([0-9]+)/g;
}
for my $k (sort { $a <=> $b } keys %%h) { $n += scalar @{$h{$k}}; }
print "$n\\n";
""" % (4000 * scale))
    return Work(["perl", "work.pl"], {"PERL_HASH_SEED": "0"})


def source(scale):
    out = ["#include <stddef.h>", "struct item { struct item *next; int key; double value; };"]
    for i in range(60 * scale):
        out.append("""
static int step%d(struct item *list, int n)
{
	int sum = 0;
	for (struct item *p = list; p; p = p->next) {
		switch (p->key %% 7) {
		case 0: sum += p->key * %d; break;
		case 1: p->value *= 1.5 + n; break;
		case 2: sum ^= n << 3; break;
		default: sum -= (int)p->value; break;
		}
	}
	return sum %% (n + %d);
}""" % (i, i, i + 1))
    out.append("int all(struct item *l, int n) { int s = 0;")
    out += ["\ts += step%d(l, n);" % i for i in range(60 * scale)]
    out.append("\treturn s; }")
    return write("work.c", "\n".join(out) + "\n")


def gcc(scale):
    """The driver; cc1 and as are its children."""
    return Work(["gcc", "-O2", "-c", source(scale), "-o", "work.o"], made="work.o")


def cc1(scale):
    cc1 = subprocess.run(["gcc", "-print-prog-name=cc1"], capture_output=True, text=True).stdout.strip()
    return Work([cc1, "-quiet", "-O2", source(scale), "-o", "work.s"], made="work.s")


def git(scale):
    environment = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    for who in ("AUTHOR", "COMMITTER"):
        environment.update({"GIT_%s_NAME" % who: "a", "GIT_%s_EMAIL" % who: "a@b", "GIT_%s_DATE" % who: "2026-01-01T00:00:00Z"})
    if not os.path.isdir("work.git"):
        r = random.Random(2)
        stream, lines = [], ["line %d" % i for i in range(500)]
        for i in range(150 * scale):
            for _ in range(20):
                lines[r.randrange(len(lines))] = "changed %d" % r.randrange(10**6)
            text = "\n".join(lines) + "\n"
            stream.append("commit refs/heads/main\ncommitter a <a@b> %d +0000\ndata 6\nchange\nM 100644 inline file\ndata %d\n%s\n"
                          % (1700000000 + i, len(text), text))
        env = dict(os.environ, **environment)
        subprocess.run(["git", "init", "-q", "--bare", "work.git"], env=env, check=True)
        subprocess.run(["git", "--git-dir=work.git", "fast-import", "--quiet"], env=env, input="".join(stream).encode(), check=True)
    return Work(["git", "--no-pager", "--git-dir=work.git", "log", "-p", "main"], environment)


def jq(scale):
    r = random.Random(3)
    rows = ['{"id":%d,"name":"%s","tags":["a","b%d"],"v":{"x":%d}}' % (i, "n" * r.randrange(40), i % 7, r.randrange(1000))
            for i in range(3000 * scale)]
    write("work.json", "[" + ",\n".join(rows) + "]")
    return Work(["jq", "-c", "group_by(.tags[1]) | map({k: .[0].tags[1], n: length, s: (map(.v.x) | add)}), (.[1] | length)", "work.json"])


def cxx(scale):
    return Work([os.path.join(os.environ["TB"], "host", "mixed"), str(20000 * scale)])


def cxx_static(scale):
    return Work([os.path.join(os.environ["TB"], "host", "mixed_static"), str(20000 * scale)])


def make(name, scale=1):
    return globals()[name](scale)
