# SPDX-License-Identifier: MIT
"""Readers of the formats that ms-report writes for other programs, from their documentation, as strict as those programs are."""
import gzip
import json
import re


def varint(data, at):
    shift = value = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            assert shift <= 70, "a number is too long"
            return value, at


def message(data):
    """Fields of one message of protocol buffers, in their order: (number, value)."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            assert key & 7 == 2, f"wire type {key & 7}"
            size, at = varint(data, at)
            assert at + size <= len(data), "a field is cut"
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def numbers(data):
    at, all_of_them = 0, []
    while at < len(data):
        value, at = varint(data, at)
        all_of_them.append(value)
    return all_of_them


class Pprof:
    """https://github.com/google/pprof/blob/main/proto/profile.proto"""

    def __init__(self, path):
        with open(path, "rb") as f:
            packed = f.read()
        assert packed[:4] == b"\x1f\x8b\x08\0" and packed[4:8] == bytes(4), "gzip with a time or a name"
        self.strings, self.types, self.samples, self.mappings, self.locations, self.functions = [], [], [], {}, {}, {}
        self.one, self.comments = {}, []
        for number, value in message(gzip.decompress(packed)):
            if number == 1:
                self.types.append(dict(message(value)))
            elif number == 2:
                self.samples.append(self.sample(value))
            elif number == 3:
                self.add(self.mappings, value)
            elif number == 4:
                self.add(self.locations, value, 4)
            elif number == 5:
                self.add(self.functions, value)
            elif number == 6:
                self.strings.append(value.decode())
            elif number == 13:
                self.comments += numbers(value)
            else:
                assert number in (7, 9, 10, 11, 12, 14), f"field {number}"
                self.one[number] = value
        assert self.strings[0] == "" and len(set(self.strings)) == len(self.strings)
        self.columns = [f"{self.strings[t[1]]}/{self.strings[t[2]]}" for t in self.types]
        self.comments = [self.strings[i] for i in self.comments]
        for s in self.samples:
            assert len(s["values"]) == len(self.types), "values and types"
            s["labels"] = {self.strings[x[1]]: self.strings[x[2]] if 2 in x else x[3] for x in s["labels"]}
        for where in self.locations.values():
            assert 2 not in where or where[2] in self.mappings
            for line in where["many"]:
                assert dict(message(line))[1] in self.functions

    @staticmethod
    def add(table, value, many=0):
        fields = {"many": []}
        for number, v in message(value):
            if number == many:
                fields["many"].append(v)
            else:
                assert number not in fields, "a field comes twice"
                fields[number] = v
        assert fields[1] and fields[1] not in table, "an id is 0 or comes twice"
        table[fields[1]] = fields

    @staticmethod
    def sample(value):
        s = {"labels": []}
        for number, v in message(value):
            if number == 3:
                s["labels"].append(dict(message(v)))
            else:
                s[{1: "locations", 2: "values"}[number]] = numbers(v)
        return s

    def stack(self, s):
        """Whole names, innermost first; a location without a line is its address."""
        names = []
        for i in s["locations"]:
            lines = [dict(message(line)) for line in self.locations[i]["many"]]
            names += [self.strings[self.functions[x[1]][3]] for x in lines] or [hex(self.locations[i][3])]
        return tuple(names)

    def totals(self):
        return {c: sum(s["values"][i] for s in self.samples) for i, c in enumerate(self.columns)}


def speedscope(path):
    """Sums by the name of the profile, and stacks (innermost first) of each."""
    with open(path, encoding="utf-8") as f:
        j = json.load(f)
    assert j["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    frames = j["shared"]["frames"]
    for f in frames:
        assert set(f) <= {"name", "file", "line"} and f["name"]
    assert 0 <= j["activeProfileIndex"] < len(j["profiles"])
    for p in j["profiles"]:
        assert p["type"] == "sampled" and p["unit"] in ("bytes", "none") and len(p["samples"]) == len(p["weights"])
        assert p["startValue"] == 0 and p["endValue"] == sum(p["weights"]) and all(w > 0 for w in p["weights"])
        p["stacks"] = [tuple(frames[i]["name"] for i in reversed(s)) for s in p["samples"]]
    return j


def gprof2dot(path):
    """https://github.com/jrfonseca/gprof2dot/blob/main/schema.json: no other keys than these."""
    with open(path, encoding="utf-8") as f:
        j = json.load(f)
    assert set(j) == {"version", "costs", "functions", "events"} and j["version"] == 0
    assert len(j["costs"]) == 1 and set(j["costs"][0]) == {"description", "unit"}
    for f in j["functions"]:
        assert set(f) <= {"name", "module"} and f["name"]
    for e in j["events"]:
        assert set(e) == {"callchain", "cost"} and len(e["callchain"]) > 0 and len(e["cost"]) == 1
        e["stack"] = tuple(j["functions"][i]["name"] for i in e["callchain"])
    return j


def massif(path):
    """As ms_print reads it. Snapshots, each with its tree's root or None."""
    with open(path, encoding="utf-8") as f:
        lines = [re.sub("#.*", "", line.rstrip("\n")) for line in f]
    lines = [line for line in lines if line.strip()]
    head = {"desc": []}
    while not lines[0].startswith("snapshot="):
        key, value = lines.pop(0).split(": ", 1)
        if key == "desc":
            head["desc"].append(value)
        else:
            head[key] = value
    assert head["cmd"] and head["time_unit"] == "ms"

    def tree(depth):
        found = re.fullmatch(r"( *)n(\d+): (\d+) (.*)", lines.pop(0))
        assert found and len(found[1]) == depth, found
        node = {"bytes": int(found[3]), "text": found[4], "children": [tree(depth + 1) for _ in range(int(found[2]))]}
        below = [c["bytes"] for c in node["children"] if "below massif's threshold" not in c["text"]]
        assert below == sorted(below, reverse=True), "order of children"
        assert not node["children"] or sum(c["bytes"] for c in node["children"]) <= node["bytes"]
        return node

    snapshots = []
    while lines:
        s = {}
        for key in ("snapshot", "time", "mem_heap_B", "mem_heap_extra_B", "mem_stacks_B", "heap_tree"):
            name, value = lines.pop(0).split("=")
            assert name == key
            s[key] = value if key == "heap_tree" else int(value)
        assert s["snapshot"] == len(snapshots) and (not snapshots or s["time"] >= snapshots[-1]["time"])
        s["tree"] = tree(0) if s["heap_tree"] in ("detailed", "peak") else None
        if s["tree"]:
            assert s["tree"]["bytes"] == s["mem_heap_B"]
            sums = sum(c["bytes"] for c in s["tree"]["children"])
            assert sums == s["mem_heap_B"], f"{sums} of {s['mem_heap_B']}"
        snapshots.append(s)
    assert snapshots and sum(s["heap_tree"] == "peak" for s in snapshots) <= 1
    return head, snapshots


def dhat(path):
    """As dh_view reads it."""
    with open(path, encoding="utf-8") as f:
        j = json.load(f)
    assert j["dhatFileVersion"] == 2 and j["bklt"] is True and j["bkacc"] is False and j["verb"] == "Allocated"
    for key in ("mode", "tu", "Mtu", "cmd"):
        assert isinstance(j[key], str)
    for key in ("pid", "te", "tg", "tuth"):
        assert isinstance(j[key], int)
    assert j["ftbl"][0] == "[root]" and len(set(j["ftbl"])) == len(j["ftbl"])
    seen = set()
    for frame in j["ftbl"][1:]:  # as the Firefox Profiler takes it apart
        assert not frame.startswith("0x") or re.fullmatch(r"0x([0-9a-fA-F]+): (.+) \((?:in )?(.+?)(?::(\d+))?(?::(\d+))?\)", frame), frame
    for p in j["pps"]:
        assert set(p) == {"tb", "tbk", "tl", "mb", "mbk", "gb", "gbk", "eb", "ebk", "fs"} and 0 not in p["fs"] and p["fs"]
        assert tuple(p["fs"]) not in seen, "a repeated location"
        seen.add(tuple(p["fs"]))
        assert max(p["gb"], p["eb"]) <= p["mb"]
        p["stack"] = tuple(re.sub(r"^0x[0-9A-F]+: (.*) \(.*\)$", r"\1", j["ftbl"][i]) for i in p["fs"])
    return j


def heaptrack(path):
    """As heaptrack 1.4 sums it up (accumulatedtracedata.cpp)."""
    opened = gzip.open(path, "rb") if path.endswith(".gz") else open(path, "rb")
    with opened as f:
        data = f.read()
    strings, ips, traces, infos, cost = [], [], [], [], {}
    total = {"allocations": 0, "temporary": 0, "leaked": 0, "peak": 0}
    counted = 0
    curve, comments, last, clock, peak_by_trace, names = [], [], 0, 0, {}, {}
    for line in data.decode().split("\n")[:-1]:
        mode, rest = line[0], line[2:]
        if mode == "s":
            size, text = rest.split(" ", 1)
            assert int(size, 16) == len(text.encode()), line
            strings.append(text)
            continue
        if mode in "#X":
            comments.append(line)
            continue
        v = [int(x, 16) for x in rest.split()]
        if mode == "i":
            assert len(v) in (2, *range(5, 300, 3)) and all(i <= len(strings) for i in v[1:4]), line
            ips.append(tuple(strings[i - 1] for i in v[2::3]) or (hex(v[0]),))
        elif mode == "t":
            assert 0 < v[0] <= len(ips) and v[1] <= len(traces), line
            traces.append((v[0], v[1]))
        elif mode == "a":
            assert 0 < v[1] <= len(traces), line
            infos.append((v[0], v[1]))
        elif mode == "c":
            assert v[0] >= clock
            clock = v[0]
        elif mode in "+-":
            size, trace = infos[v[0]]
            c = cost.setdefault(trace, {"allocations": 0, "temporary": 0, "leaked": 0, "allocated": 0})
            if mode == "+":
                assert v[0] <= counted, "heaptrack_gui needs first allocations in the order of their numbers"
                counted = max(counted, v[0] + 1)
                for x in (total, c):
                    x["allocations"] += 1
                    x["leaked"] += size
                c["allocated"] += size
                last = v[0]
                if total["leaked"] > total["peak"]:
                    total["peak"] = total["leaked"]
                    peak_by_trace = {t: x["leaked"] for t, x in cost.items()}
            else:
                for x in (total, c):
                    x["leaked"] -= size
                    x["temporary"] += last == v[0]
                last = 0
        elif mode == "R":
            curve.append((clock, v[0]))
        else:
            assert mode in "vIA", line

    for i in cost:
        stack, at = [], i
        while at:
            ip, at = traces[at - 1]
            stack += ips[ip - 1]
        names[i] = tuple(stack)
    for i, c in cost.items():
        c["peak"] = peak_by_trace.get(i, 0)
        c["stack"] = names[i]
    return {"total": total, "allocated": sum(c["allocated"] for c in cost.values()), "traces": list(cost.values()), "comments": comments,
            "end_ms": clock, "rss": curve}


def callgrind(path):
    """As callgrind_annotate reads it: totals, own costs, and inclusive ones, by function."""
    with open(path, encoding="utf-8") as f:
        lines = f.read().split("\n")
    names = {"fl": {}, "fn": {}, "ob": {}}
    head, events, own, inclusive, totals, calls, function, callee = {"desc": []}, None, {}, {}, None, 0, [None, None, None], [None, None, None]

    def name(kind, text):
        found = re.fullmatch(r"\((\d+)\)(?: (.*))?", text)
        if found[2] is not None:
            assert found[1] not in names[kind], "a number is defined twice"
            names[kind][found[1]] = found[2]
        return names[kind][found[1]]

    for line in lines:
        if not line or line.startswith("#"):
            continue
        if events is None:
            key, value = line.split(": " if ": " in line else ":", 1)
            if key == "desc":
                head["desc"].append(value)
            elif key == "events":
                events = value.split()
            else:
                head[key] = value
            continue
        key, _, value = line.partition("=")
        if key in ("ob", "fl", "fn"):
            function[("ob", "fl", "fn").index(key)] = name(key, value)
        elif key in ("cob", "cfi", "cfn"):
            callee[("cob", "cfi", "cfn").index(key)] = name({"cob": "ob", "cfi": "fl", "cfn": "fn"}[key], value)
        elif key == "calls":
            calls = int(value.split()[0])
            assert calls > 0
        elif line.startswith("totals: "):
            totals = dict(zip(events, map(int, line.split()[1:])))
        else:
            values = [int(x) for x in line.split()]
            assert len(values) == len(events) + 1, line
            into = inclusive.setdefault(tuple(callee), dict.fromkeys(events, 0)) if calls else own.setdefault(tuple(function), dict.fromkeys(events, 0))
            for e, v in zip(events, values[1:]):
                into[e] += v
            calls = 0
    return {"head": head, "events": events, "own": own, "inclusive": inclusive, "totals": totals}


def chrome(path):
    with open(path, encoding="utf-8") as f:
        j = json.load(f)
    for e in j["traceEvents"]:
        assert e["ph"] in "CMiX" and e["name"] and isinstance(e["pid"], int)
        assert e["ph"] == "M" or e["ts"] >= 0
    return j
