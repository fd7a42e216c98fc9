# SPDX-License-Identifier: MIT
"""Writes the rows of many sites with deep stacks into the snapshot database argv[1], which has the schema: argv[2] sites."""
import sqlite3
import sys

d = sqlite3.connect(sys.argv[1])
n = int(sys.argv[2])
d.execute("PRAGMA synchronous = off")
d.execute("PRAGMA application_id = 0x4d53636f")
d.execute("PRAGMA user_version = 2")
d.execute("INSERT INTO process(id, pid, exe, duration_ns, complete, state, events_lost, sampled_bytes, stacks_cut, allocations, frees, reallocations,"
          "failed_allocations, allocated_bytes, temporary_allocations, peak_bytes, peak_blocks, peak_time_ns, unfreed_bytes, unfreed_blocks)"
          "VALUES (1, 1, '/bin/many', 1000000000, 1, 'complete', 0, 0, 0, ?, 0, 0, 0, ?, 0, ?, ?, 5, ?, ?)",
          (n, n * (n + 1) // 2 * 16, n * (n + 1) // 2 * 16, n, n * (n + 1) // 2 * 16, n))
d.execute("INSERT INTO snapshot(id, process, label, time_ns, live_bytes, live_blocks) SELECT 1, 1, 'peak', 5, peak_bytes, peak_blocks FROM process")
d.execute("INSERT INTO snapshot(id, process, label, time_ns, live_bytes, live_blocks) SELECT 2, 1, 'end', 9, peak_bytes, peak_blocks FROM process")
d.execute("INSERT INTO module(id, process, path, symbols) VALUES (1, 1, '/bin/many', 'dwarf')")
frames = 5000
d.executemany("INSERT INTO frame(id, process, module, address, function, file, line, inlined, runtime) VALUES (?, 1, 1, ?, ?, ?, ?, 0, 0)",
              ((i, 4096 + i * 16, f"ns::Class{i % 50}<int, std::vector<long> >::method_{i}(std::string const&, int)", f"/src/file{i % 100}.cpp", i)
               for i in range(1, frames + 1)))
depth = 10  # of each site's own nodes, on one of 100 common stems of 20
stack = []
for stem in range(100):
    for k in range(20):
        stack.append((len(stack) + 1, len(stack) if k else None, (stem * 20 + k) % frames + 1, k))
sites, stats = [], []
for i in range(n):
    parent = i % 100 * 20 + 20
    for k in range(depth):
        stack.append((len(stack) + 1, parent, (i * 7 + k * 13) % frames + 1, 20 + k))
        parent = len(stack)
    size = (n - i) * 16
    sites.append((i + 1, parent, parent - 1, size))
    stats += [(1, i + 1, size), (2, i + 1, size)]
d.executemany("INSERT INTO stack(id, process, parent, frame, depth) VALUES (?, 1, ?, ?, ?)", stack)
d.executemany("INSERT INTO site(id, process, stack, user_frame, allocations, frees, reallocations, failed_allocations, allocated_bytes, temporary)"
              "VALUES (?, 1, ?, ?, 1, 0, 0, 0, ?, 0)", sites)
d.executemany("INSERT INTO site_stat(snapshot, site, live_bytes, live_blocks) VALUES (?, ?, ?, 1)", stats)
d.commit()
