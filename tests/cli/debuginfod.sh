#!/bin/sh
# SPDX-License-Identifier: MIT
# Servers of debug files are asked with --debuginfod only, and not for longer than that says.
set -eu
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
ldconfig -p | grep -q 'libdebuginfod\.so\.1' || {
	echo "no libdebuginfod.so.1"
	exit 77
}
unset DEBUGINFOD_URLS DEBUGINFOD_CACHE_PATH
HOME=$PWD XDG_CACHE_HOME=$PWD/cache
export HOME XDG_CACHE_HOME
mkdir cache www
cat >app.c <<'C'
#include <stdlib.h>
void *kept;
static inline __attribute__((always_inline)) void *inner(size_t n) { return malloc(n); }
__attribute__((noinline)) void outer(void) { kept = inner(1000); }
int main(void) { outer(); return 0; }
C
gcc -g -O1 -Wl,--build-id -o app app.c
id=$(readelf -n app | sed -n 's/.*Build ID: //p')
mkdir -p "www/buildid/$id"
objcopy --only-keep-debug app "www/buildid/$id/debuginfo"
objcopy --strip-all app
ms-record -q --no-symbols -o run.trace ./app

# A server that writes down what it is asked for. "slow" accepts and says nothing.
cat >server.py <<'P'
import http.server, os, sys, threading, socket
os.chdir("www")
class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format, *args):
        with open("../log", "a") as f:
            f.write(self.path + "\n")
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
slow = socket.create_server(("127.0.0.1", 0), backlog=64)
with open("../ports.new", "w") as f:
    f.write("%d %d\n" % (server.server_port, slow.getsockname()[1]))
os.rename("../ports.new", "../ports")
server.serve_forever()
P
python3 server.py &
server=$!
trap 'kill $server 2>/dev/null || true' EXIT
for _ in $(seq 2000); do
	[ -f ports ] && break
	sleep 0.1
done
read -r port slow <ports
: >log
names() {
	ms-snap "$@" -o snap.db run.trace 2>err || die "ms-snap $*: $(cat err)"
	sqlite3 snap.db "SELECT group_concat(function || ':' || coalesce(line, '?'), ' ') FROM frame WHERE function IN ('inner', 'outer')"
}

DEBUGINFOD_URLS=http://127.0.0.1:$port
export DEBUGINFOD_URLS
[ -z "$(names)" ] || die "the program is not stripped"
cp run.trace copy.trace
ms-snap --symbols=embed copy.trace
ms-report run.trace >/dev/null
[ ! -s log ] || die "a server was asked without the option: $(cat log)"
[ "$(names --debuginfod)" = "inner:3 outer:4" ] || die "with the option: $(cat err log)"
grep -qx "/buildid/$id/debuginfo" log || die "the server was not asked: $(cat log)"
cp run.trace copy.trace
ms-snap --symbols=embed --debuginfod copy.trace
[ "$(ms-report --json copy.trace | jq -r '[.sites[].stack[] | select(.function == "inner") | .line][0]')" = 3 ] || die "--symbols=embed"

# what it gives is not believed because it gives it
rm -rf cache/*
gcc -g -O0 -o "www/buildid/$id/debuginfo" app.c
[ -z "$(names --debuginfod)" ] || die "a file of another build is believed"

# nobody there, nobody named, and one who never answers
DEBUGINFOD_URLS=http://127.0.0.1:1
rm -rf cache/*
[ -z "$(names --debuginfod)" ] || die "from nobody"
DEBUGINFOD_URLS=http://127.0.0.1:$slow
rm -rf cache/*
names --debuginfod=1s >/dev/null
[ "$(cat err)" = "ms-snap: --symbols=debuginfod: the time limit was reached, some debug information is missing (--symbols=debuginfod:DURATION raises the limit)" ] || die "a slow server: $(cat err)"
unset DEBUGINFOD_URLS
names --debuginfod >/dev/null
[ "$(cat err)" = "ms-snap: --symbols=debuginfod: DEBUGINFOD_URLS names no server" ] || die "no server: $(cat err)"
