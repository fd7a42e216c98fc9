#!/bin/sh
# SPDX-License-Identifier: MIT
# The recipes of memscope-tutorial(7) for services: a drop-in for systemd, a container beside another one, and the machine around it.
set -eu
page=$SRC/man/memscope-tutorial.7
display() { awk -v first="$1" '$0 == ".Ed" { on = 0 } $0 == first { on = 1 } on' "$page"; }
# In every outcome nothing is left behind. What runs under a recorder or is the first process of a namespace needs SIGKILL: the recorder's own end
# is not passed on, and the first process ignores whatever it does not handle.
running=
end() {
	[ -n "$running" ] || return 0
	pkill -KILL -P "$running" || true
	kill -KILL "$running" 2>/dev/null || true
	wait "$running" || true
	running=
}
trap end EXIT
trap 'exit 143' HUP INT TERM # else the shell would end without the above

display '/* server.c */' >server.c
gcc -g -o server server.c
is_seen() { # what the server does is in server.trace, which has ended, or grows
	got='no snapshot'
	ms-snap -q -o seen.db server.trace || return
	got=$(sqlite3 seen.db "SELECT (SELECT sampled_bytes FROM process), (SELECT count(*) > 0 FROM place WHERE function = 'serve')")
	[ "$got" = "524288|1" ]
}
seen() {
	is_seen || { echo "$1: $got"; exit 1; }
}

# ---- systemd: the line that it runs, stopped as it does ----
ln -s "$BIN" bin # whose path may have spaces
display '# memscope.conf' | sed "s,/usr/bin/,$PWD/bin/,; s,/var/lib/memscope/,$PWD/,; s,/usr/local/bin/,$PWD/," >memscope.conf
command=$(sed -n 's/^ExecStart=//p' memscope.conf | tail -n 1)
if command -v systemd-analyze >/dev/null; then
	mkdir -p server.service.d
	cp memscope.conf server.service.d
	printf '[Service]\nExecStart=%s/server\n' "$PWD" >server.service
	systemd-analyze verify ./server.service
else
	echo "note: without systemd-analyze"
fi
sh -c "exec $command" &
running=$!
for _ in $(seq 3000); do
	[ ! -s server.trace ] || ! is_seen || break
	sleep 0.2
done
kill "$running"
status=0
wait "$running" || status=$?
running=
[ $status = 143 ] || { echo "stopped service: status $status"; exit 1; }
seen service

# ---- a container beside it, and around it ----
sidecar=$(display '# pod.yaml' | sed -n "s,.*'exec \(.*\)'].*,\1,p" | sed "s,ms-record,bin/ms-record -d \$1,; s,/data/,$PWD/,")
# After chroot alone / is no mount point: a namespace's paths lead from where one is, and a file is not found by them.
if ! unshare --fork --kill-child --pid --mount-proc nsenter --mount=/proc/self/ns/mnt test -e "$PWD/server" 2>/dev/null; then
	echo "note: no namespaces here"
	exit 0
fi
for seconds in 2 10 40; do # however busy the machine is
	unshare --fork --kill-child --pid --mount-proc sh -c "./server & until pgrep -x server; do sleep 0.01; done; $sidecar; kill \$!" sh $seconds
	! is_seen || break
done
seen 'beside it'
rm server.trace*
unshare --fork --kill-child --pid --mount-proc ./server &
running=$!
until pgrep -P "$running" -x server; do sleep 0.01; done
for seconds in 2 10 40; do
	ms-record -q -s 512k -d $seconds -o server.trace -p "$(pgrep -P "$running" -x server)"
	! is_seen || break
done
end
seen 'around it'
