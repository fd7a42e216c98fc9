-- What of the snapshot database is no table; those are in columns.def.
-- The views join what a person wants to see; `place` is the user's function with file and line.
CREATE VIEW place AS SELECT s.id AS site, f.function, f.file, f.line, f.address, m.path AS module
  FROM site s LEFT JOIN stack k ON k.id = s.user_frame LEFT JOIN frame f ON f.id = k.frame LEFT JOIN module m ON m.id = f.module;
CREATE VIEW live AS SELECT t.process, t.label, t.time_ns, c.site, c.live_bytes, c.live_blocks, p.function, p.file, p.line, p.module
  FROM site_stat c JOIN snapshot t ON t.id = c.snapshot JOIN place p ON p.site = c.site;
CREATE VIEW leaks AS SELECT l.site, l.live_bytes AS bytes, l.live_blocks AS blocks, s.verdict, l.function, l.file, l.line, l.module, l.process
  FROM live l JOIN site s ON s.id = l.site WHERE l.label = 'end' AND l.live_blocks > 0 ORDER BY bytes DESC, l.site;
CREATE VIEW peak AS SELECT site, live_bytes AS bytes, live_blocks AS blocks, function, file, line, module, process
  FROM live WHERE label = 'peak' AND live_blocks > 0 ORDER BY bytes DESC, site;
CREATE VIEW hot AS SELECT s.id AS site, s.allocations, s.allocated_bytes AS bytes, p.function, p.file, p.line, p.module, s.process
  FROM site s JOIN place p ON p.site = s.id ORDER BY s.allocations DESC, s.id;
CREATE VIEW temporary AS SELECT s.id AS site, s.temporary, s.allocations, p.function, p.file, p.line, p.module, s.process
  FROM site s JOIN place p ON p.site = s.id WHERE s.temporary > 0 ORDER BY s.temporary DESC, s.id;
CREATE VIEW by_function AS SELECT p.function, sum(s.allocations) AS allocations, sum(s.allocated_bytes) AS allocated_bytes, s.process
  FROM site s JOIN place p ON p.site = s.id GROUP BY s.process, p.function ORDER BY allocated_bytes DESC;
CREATE VIEW by_module AS SELECT p.module, sum(s.allocations) AS allocations, sum(s.allocated_bytes) AS allocated_bytes, s.process
  FROM site s JOIN place p ON p.site = s.id GROUP BY s.process, p.module ORDER BY allocated_bytes DESC;
CREATE VIEW by_file AS SELECT p.file, sum(s.allocations) AS allocations, sum(s.allocated_bytes) AS allocated_bytes, s.process
  FROM site s JOIN place p ON p.site = s.id GROUP BY s.process, p.file ORDER BY allocated_bytes DESC;
CREATE VIEW by_thread AS SELECT name, tid, sum(allocations) AS allocations, sum(allocated_bytes) AS allocated_bytes, sum(live_bytes) AS live_bytes, process
  FROM thread GROUP BY coalesce(of_thread, id) ORDER BY allocated_bytes DESC;
CREATE VIEW by_label AS SELECT label, sum(allocations) AS allocations, sum(allocated_bytes) AS allocated_bytes, sum(peak_bytes) AS peak_bytes,
  sum(live_bytes) AS live_bytes, sum(live_blocks) AS live_blocks, process FROM thread
  WHERE label IS NULL OR allocations IS NOT 0 GROUP BY process, label ORDER BY allocated_bytes DESC;
-- Heaps of the program's own (ms-record --hook, memscope.h) and malloc's; unused: of the backing memory, what is in no live block.
CREATE VIEW by_heap AS
  WITH RECURSIVE up(site, stack) AS (
    SELECT id, stack FROM site UNION ALL SELECT up.site, k.parent FROM up JOIN stack k ON k.id = up.stack WHERE k.parent IS NOT NULL),
  root AS (SELECT up.site, substr(f.note, 6) AS heap FROM up JOIN stack k ON k.id = up.stack AND k.parent IS NULL JOIN frame f ON f.id = k.frame
    WHERE f.note LIKE 'heap %'),
  at_end AS (SELECT c.site, c.live_bytes, c.live_blocks FROM site_stat c JOIN snapshot t ON t.id = c.snapshot WHERE t.label = 'end'),
  at_peak AS (SELECT c.site, c.live_bytes, c.live_blocks FROM site_stat c JOIN snapshot t ON t.id = c.snapshot WHERE t.label = 'peak'),
  each AS (SELECT coalesce(root.heap, 'malloc') AS heap, sum(s.allocations) AS allocations, sum(s.frees) AS frees,
    sum(s.reallocations) AS reallocations, sum(s.failed_allocations) AS failed_allocations, sum(s.allocated_bytes) AS allocated_bytes,
    sum(e.live_bytes) AS live_bytes, sum(e.live_blocks) AS live_blocks, s.process, sum(p.live_bytes) AS peak_bytes,
    sum(p.live_blocks) AS peak_blocks
  FROM site s LEFT JOIN root ON root.site = s.id LEFT JOIN at_end e ON e.site = s.id LEFT JOIN at_peak p ON p.site = s.id
  GROUP BY s.process, coalesce(root.heap, 'malloc'))
  SELECT each.*, h.backing_bytes, h.backing_blocks, h.backing_max_bytes,
    iif(h.backing_bytes > 0, max(h.backing_bytes - coalesce(each.live_bytes, 0), 0), NULL) AS unused_bytes
  FROM each LEFT JOIN heap h ON h.process = each.process AND h.name = each.heap AND each.heap <> 'malloc' ORDER BY allocated_bytes DESC;
-- What keeps the blocks of a site: a row for each keeper or set of keepers at the top, with the site's blocks below it.
CREATE VIEW kept_by AS
  WITH RECURSIVE up(process, scan, id, top) AS (
    SELECT process, scan, id, id FROM kept WHERE site IS NOT NULL
    UNION ALL SELECT up.process, up.scan, up.id, k.parent FROM up JOIN kept k ON k.process = up.process AND k.scan = up.scan AND k.id = up.top
    WHERE k.parent IS NOT NULL)
  SELECT k.process, k.scan, k.site, t.keeper, t.set_id, sum(k.bytes) AS bytes, sum(k.blocks) AS blocks
  FROM up JOIN kept t ON t.process = up.process AND t.scan = up.scan AND t.id = up.top AND t.parent IS NULL
  JOIN kept k ON k.process = up.process AND k.scan = up.scan AND k.id = up.id
  GROUP BY k.process, k.scan, k.site, t.keeper, t.set_id ORDER BY bytes DESC, k.site;
CREATE VIEW by_process AS SELECT id AS process, pid, exe, allocations, allocated_bytes, peak_bytes, unfreed_bytes FROM process ORDER BY peak_bytes DESC;
-- One row per program of a tree: how its processes' peaks are distributed, and which process was the worst.
CREATE VIEW by_exe AS
  WITH named AS (SELECT *, substr(exe, length(rtrim(exe, replace(exe, '/', ''))) + 1) AS name FROM process),
  ranked AS (SELECT *, row_number() OVER (PARTITION BY name ORDER BY peak_bytes, id DESC) AS rank, count(*) OVER (PARTITION BY name) AS n FROM named)
  SELECT name AS exe, n AS processes, min(peak_bytes) AS min_peak, max(iif(rank = (n + 1) / 2, peak_bytes, NULL)) AS median_peak,
    max(iif(rank = (9 * n + 9) / 10, peak_bytes, NULL)) AS p90_peak, max(peak_bytes) AS max_peak, sum(peak_bytes) AS sum_of_peaks,
    sum(allocations) AS allocations, sum(allocated_bytes) AS allocated_bytes, max(iif(rank = n, id, NULL)) AS worst
  FROM ranked GROUP BY name ORDER BY max_peak DESC, name;
-- Of ms-diff: what changed by more than noise, the most growth first.
CREATE VIEW changes AS SELECT d.site, d.kind, d.delta_live_bytes, d.delta_peak_bytes, d.delta_allocations, d.delta_allocated_bytes, d.matched,
    p.function, p.file, p.line, p.module
  FROM site_diff d JOIN place p ON p.site = d.site WHERE d.significant = 1
  ORDER BY d.share > 0 DESC, abs(d.share) DESC, d.site;
