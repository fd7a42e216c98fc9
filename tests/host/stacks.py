#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints each different stack of a snapshot that goes through leaf(): the functions from its caller to the root. <code> is made at run time,
<nowhere> in no module, <cut> where callers could not be found."""
import sqlite3
import sys


def name(function, module, note):
    if note or function:
        return "<cut>" if note else function
    return "<nowhere>" if module is None else "<code>" if module.startswith("[") else "?"


db = sqlite3.connect(sys.argv[1])
modules = dict(db.execute("SELECT id, path FROM module"))
frames = {i: name(f, modules.get(m), n) for i, f, m, n in db.execute("SELECT id, function, module, note FROM frame")}
nodes = {i: (p, f) for i, p, f in db.execute("SELECT id, parent, frame FROM stack")}
seen = set()
for (node,) in db.execute("SELECT stack FROM site"):
    names = []
    while node:
        node, frame = nodes[node]
        names.append(frames[frame])
    if "leaf" in names:
        seen.add(" ".join(names[names.index("leaf") + 1:]))
print("\n".join(sorted(seen)))
