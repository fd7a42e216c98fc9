# SPDX-License-Identifier: MIT
# numbers.py WHAT SNAPSHOT FRAME: are the figures of a frame those of the snapshot's only moment? `json`: a frame of --json;
# `screen`: rows of the table of sites on a screen.
import json, re, sqlite3, sys


def size(v):
	units, u, v = " KMGTPE", 0, float(v)
	while v >= 999.5 and (u or v >= 1024):
		v /= 1024
		u += 1
	if not u:
		return "%.0f" % v
	return "%.*f %s" % (0 if v >= 99.95 else 1 if v >= 9.995 else 2, v, units[u])


def count(v):
	units, u, v = " kMGTPE", 0, float(v)
	while v >= 999.5:
		v /= 1000
		u += 1
	if not u:
		return "%.0f" % v
	return "%.*f %s" % (0 if v >= 99.95 else 1 if v >= 9.995 else 2, v, units[u])


what, path, frame = sys.argv[1:]
db = sqlite3.connect(path)
bad = []
total = db.execute("SELECT live_bytes, live_blocks FROM snapshot").fetchone()
sites = db.execute(
	"SELECT coalesce(live_bytes, 0), coalesce(live_blocks, 0) FROM site LEFT JOIN site_stat ON site = site.id"
).fetchall()
if what == "json":
	j = json.loads(open(frame).read().strip().split("\n")[-1])
	if (j["live_bytes"], j["live_blocks"]) != total:
		bad.append((j["live_bytes"], j["live_blocks"], total))
	mine = sorted((s["live_bytes"], s["live_blocks"]) for s in j["sites"] if s["live_blocks"])
	theirs = sorted(s for s in sites if s[1])
	if mine != theirs:
		bad.append((mine, theirs))
	if j["state"] == "ended":
		mine = sorted((s["allocated_bytes"], s["allocations"], s["temporary"]) for s in j["sites"])
		theirs = sorted(db.execute("SELECT allocated_bytes, allocations, temporary FROM site"))
		if mine != theirs:
			bad.append((mine, theirs))
		p = db.execute("SELECT peak_bytes, peak_time_ns, allocations, frees, temporary_allocations FROM process").fetchone()
		mine = j["peak_bytes"], j["peak_time_ns"], j["allocations"], j["frees"], j["temporary_allocations"]
		if mine != p:
			bad.append((mine, p))
else:
	text = open(frame).read()
	m = re.search(r"^Live +([0-9.]+(?: [KMG])?) ", text, re.M)
	if not m or m[1] != size(total[0]):
		bad.append((m and m[1], size(total[0])))
	for live, blocks in sorted((s for s in sites if s[1]), reverse=True):
		if not re.search(r"^[> ] +%s .* %s " % (re.escape(size(live)), re.escape(count(blocks))), text, re.M):
			bad.append((size(live), count(blocks)))
for b in bad:
	print(b)
sys.exit(bool(bad))
