#!/bin/bash
# SPDX-License-Identifier: MIT
# ms-top --json: the figures of the plain frames, before they are rounded; every key that the page names, and no other.
set -u
# shellcheck source-path=SCRIPTDIR source=top/lib.sh
. "$SRC/tests/cli/top/lib.sh"
made_system
process 1 init 4096 0 1
process 100 orderd 1048576 1 50
process 200 redis 524288 1 60
process 201 worker 131072 200 70
# figures fall back: smaps where there is no smaps_rollup, then statm
{
	printf '5500-5600 rw-p 00000000 00:00 0 \nRss: 77 kB\nPss: 77 kB\n' # which then grew, and is written again
	cat proc/201/smaps_rollup
} >proc/201/smaps
rm proc/201/smaps_rollup
rm proc/200/smaps_rollup
echo '24414 131072 32768 1 0 1 0' >proc/200/statm
printf '5500-5600 rw-p 00000000 00:00 0 [heap]\nRss: 100 kB\nPss: 100 kB\nPrivate_Dirty: 100 kB\nAnonymous: 100 kB\nSwap: 8 kB\n7f00-7f80 r--s 00001000 00:01 7 /a "b"\nRss: 28 kB\nPss: 14 kB\nShared_Clean: 28 kB\nSwap: 0 kB\n' >proc/1/smaps
echo '24414 32 7 1 0 1 0' >proc/1/statm

columns=pid,user,rss,pss,uss,swap,heap,vsz,start,verdict,s,thr,cpu%,fault/s,from,cgroup,command
COLUMNS=200 timeout 600 "$T" --proc-root proc -b -n 1 --columns $columns >frame || fail "-b: status $?"
timeout 600 "$T" --proc-root proc --json -n 1 >system.json || fail "--json: status $?"
COLUMNS=200 timeout 600 "$T" --proc-root proc -b -n 1 -p 1 >process || fail "-p -b: status $?"
timeout 600 "$T" --proc-root proc --json -n 1 -p 1 >process.json || fail "-p --json: status $?"
expect '^ +201 root +128 M +64\.0 M +32\.0 M +4\.00 K +96\.0 M .* smaps +worker'
expect '^ +200 root +512 M +- +- +- +~384 M .* statm +redis'
python3 - "$SRC/man/ms-top.1" <<'END' || fail 'the frames differ'
import json, os, pwd, re, sys

def size(n):
	if n is None:
		return "-"
	units, u, v = " KMGTPE", 0, float(n)
	while v >= 999.5 and (u or v >= 1024):
		v /= 1024
		u += 1
	if not u:
		return "%.0f" % v
	return "%.*f %s" % (0 if v >= 99.95 else 1 if v >= 9.995 else 2, v, units[u])

def keys_of(v, out):
	if isinstance(v, dict):
		for k, x in v.items():
			out.add(k)
			keys_of(x, out)
	elif isinstance(v, list):
		for x in v:
			keys_of(x, out)
	return out

bad = []
system, process = json.load(open("system.json")), json.load(open("process.json"))
assert open("system.json").read().count("\n") == 1
frame = open("frame").read()
known = {"format": "memscope-top", "version": 1, "mode": "system", "up_s": 266400, "load": 0.5, "processes": 4,
	 "kernel_threads": 0, "unreadable": 0, "view": "processes", "filter": None, "hidden": 0, "sort": "RSS", "reverse": False}
bad += [(k, system[k], v) for k, v in known.items() if system[k] != v]
memory = {"total_bytes": 8 << 30, "used_bytes": 4 << 30, "available_bytes": 4 << 30, "free_bytes": 2 << 30, "cached_bytes": 1 << 30,
	  "swap_total_bytes": 1 << 30, "swap_used_bytes": 512 << 20, "pressure_some_percent": 1.5, "pressure_full_percent": 0.5}
if system["memory"] != memory:
	bad.append(system["memory"])
rows = [r for r in frame.split("\n") if re.match(r" +\d+ ", r)]
if [r["pid"] for r in system["rows"]] != [100, 200, 201, 1] or len(rows) != 4:
	bad.append([r["pid"] for r in system["rows"]])
if {r["user"] for r in system["rows"]} != {pwd.getpwuid(os.getuid()).pw_name}: # who made the files
	bad.append(system["rows"])
for r, line in zip(system["rows"], rows):
	heap = size(r["heap_bytes"])
	want = [str(r["pid"]), r["user"]] + [size(r[k + "_bytes"]) for k in ("rss", "pss", "uss", "swap")]
	want += ["~" + heap if r["from"] == "statm" else heap, size(r["vsz_bytes"]), "%d" % r["change_bytes"], r["verdict"], r["state"],
		 str(r["threads"]), "%.1f" % r["cpu_percent"], "%.0f" % r["faults_per_second"], r["from"], r["cgroup"], r["command"]]
	if line.split() != " ".join(want).split():
		bad.append((line, want))
if (system["rows"][0]["rss_bytes"], system["rows"][0]["pss_bytes"]) != (1 << 30, 512 << 20):
	bad.append(system["rows"][0])

text = open("process").read()
for name, bytes_ in ("rss", 131072), ("pss", 114 << 10), ("uss", 100 << 10), ("heap", 100 << 10), ("swap", 8 << 10):
	if process[name]["bytes"] != bytes_:
		bad.append((name, process[name]))
	if not re.search(r"^%s +%s  " % (name.upper(), re.escape(size(bytes_))), text, re.M):
		bad.append((name, text))
regions = [(r["start"], r["end"], r["kind"], r["perms"], r["rss_bytes"], r["file_offset"], r["path"]) for r in process["regions"]]
if regions != [("0x5500", "0x5600", "heap", "rw-p", 102400, 0, "[heap]"), ("0x7f00", "0x7f80", "mapped_file", "r--s", 28672, 4096, '/a "b"')]:
	bad.append(regions)
if [(k["kind"], k["regions"], k["rss_bytes"]) for k in process["kinds"]] != [("heap", 1, 102400), ("mapped_file", 1, 28672)]:
	bad.append(process["kinds"])

page = re.search(r"\.Ss Keys of JSON\n(.*?)\n\.S[hs] ", open(sys.argv[1]).read().replace("\\\n", ""), re.S)[1]
named = set(re.findall(r"\b[a-z][a-z0-9_]*\b", " ".join(re.findall(r"^\.It (.*)$", page, re.M))))
named -= {"depth", "group", "processes"}
used = keys_of(system, keys_of(process, set())) - {"processes"}
if named != used:
	bad.append(("keys not in the page, or not written", sorted(used ^ named)))
for b in bad:
	print(b)
sys.exit(bool(bad))
END

# --json needs no -b, no terminal; ends at a closed pipe and a full disk
timeout 600 "$T" --json --proc-root proc -d 100ms -n 3 </dev/null | jq -s 'length' | grep -qx 3 || fail 'three frames'
timeout 600 "$T" --json --proc-root proc -n 1 >/dev/full 2>err
[ $? = 2 ] || fail '/dev/full: status'
grep -q 'cannot write: No space left' err || fail "/dev/full: $(cat err)"
timeout 600 "$T" --json --proc-root proc -d 100ms 2>err | head -1 >/dev/null
{ [ "${PIPESTATUS[0]}" = 141 ] && [ ! -s err ]; } || fail 'a closed pipe does not end it silently'
# a process that ends, and says so in its last frame
sleep 1000 &
target=$!
timeout 600 "$T" --json -d 100ms -p $target >ended.json 2>err &
top=$!
until_true test -s ended.json
kill $target
wait $top || fail "a process that ended: status $?"
[ "$(tail -n 1 ended.json | jq -c '[.ended, .state]')" = '[true,"x"]' ] || fail "ended: $(tail -n 1 ended.json)"
target=
# of a polled process nothing is known of allocations: no figure is 0 for that
"$BIN/ms-record" -q --poll -i 50ms -o polled.trace sleep 0.2 || fail "--poll: status $?"
timeout 600 "$T" --json -n 1 polled.trace >polled.json || fail "a polled trace: status $?"
[ "$(jq -c '[.live_bytes, .peak_bytes, .allocations, .rates.allocations_per_second, .rss_bytes > 0]' polled.json)" = '[null,null,null,null,true]' ] ||
	fail "a polled trace: $(cat polled.json)"
timeout 600 "$T" -b -n 1 polled.trace >frame
expect 'figures from /proc only: allocations were not recorded'
expect '^Live +- +RSS +[0-9]'
[ $failures = 0 ] && echo ok
exit $((failures != 0))
