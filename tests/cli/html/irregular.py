# SPDX-License-Identifier: MIT
"""Gives the sites and functions of the database argv[1] figures and names that nothing packs well."""
import random
import sqlite3
import sys

random.seed(8)
d = sqlite3.connect(sys.argv[1])
sites = [i for (i,) in d.execute("SELECT id FROM site")]
rows = [(random.randrange(1, 1 << 20), random.randrange(1 << 40), random.randrange(1 << 18), i) for i in sites]
d.executemany("UPDATE site SET allocations = ?, allocated_bytes = ?, temporary = ? WHERE id = ?", rows)
d.executemany("UPDATE site_stat SET live_bytes = ?, live_blocks = ? WHERE snapshot IN (1, 2) AND site = ?", ((random.randrange(1 << 30), random.randrange(1 << 16), i) for i in sites))
d.executemany("UPDATE frame SET function = ? WHERE id = ?", (("".join(random.choices("abcdefghijklmnopqrstuvwxyz_", k=60)), i) for i in range(1, 5001)))
for label in ("peak", "end"):
    d.execute("UPDATE snapshot SET (live_bytes, live_blocks) = (SELECT sum(live_bytes), sum(live_blocks) FROM site_stat c WHERE c.snapshot = snapshot.id)"
              " WHERE label = ?", (label,))
d.execute("UPDATE process SET (allocations, allocated_bytes, temporary_allocations) = (SELECT sum(allocations), sum(allocated_bytes), sum(temporary) FROM site)")
d.execute("UPDATE process SET (peak_bytes, peak_blocks, unfreed_bytes, unfreed_blocks) = (SELECT live_bytes, live_blocks, live_bytes, live_blocks FROM snapshot LIMIT 1)")
d.commit()
