-- The snapshot database, schema version 2. ms-snapshot(5) explains each table with an example.
-- Times are ns since the start of the process's recording; sizes are bytes; null = not known (or not knowable: sampled).
-- References go by id; stack.parent < stack.id always, so that walking outwards ends. Ids of sites go from the most live bytes at the end to the fewest.
--   meta             complete (0 or 1, all processes), processes, symbols (0 = --no-symbols), sum_peak_bytes, sum_peak_time_ns,
--                    traces_unreadable, unreadable (how many traces of folders could not be read, which and why; absent when all could),
--                    chains_unread, interpreter_unknown (frames of an interpreter: how often not read; of one that is not known),
--                    filters (JSON array of the options of each ms-filter stage, in order; absent when there was none)
--   process.started_ns  ns since 1970; process.trace: the file's name without folders; exe: whole path
--   process.command  JSON array of the arguments, null when they were not recorded
--   process.state    complete, growing, no end, damaged; complete is 1 for the first two
--   process.end_reason  exit, exec, stopped, disk; null when there is no end block
--   process.offset_ns   start of this process on the clock that all processes share (the earliest starts at 0)
--   process.at_sum_peak_bytes  what it held when the sum of all was largest: these add up to sum_peak_bytes
--   process.became   the row of the image that this one became by exec: what it held then was gone, and is no figure of any end;
--                    exec_bytes, exec_blocks: how much that was, 0 where became is null
--   snapshot.label   the point as given: peak, end, 1.5s, mark:warm; of an image that became another one, exec instead of end
--   module.symbols   none, elf, dwarf, missing, mismatch, damaged, partial, refused; null when nobody looked
--   module.kind      file, vdso, jit, recorder; source: a file that an interpreter runs; heap: no module, path is the name of a heap of
--                    the program's own
--   frame.note       cut, truncated, not taken, not read, before: no frame but why frames are missing; heap NAME: no frame but the heap of
--                    the program's own that its blocks are of, above the outermost frame; else null
--   stack.depth      0 for the outermost row; parent is the caller's row
--   site_size        blocks of a site by size, classes as in size_class
--   site_lifetime    freed blocks of a site by what lay between allocation and free; unit: ns, allocations (of the process)
--   process.peak_rss_bytes  the most that was resident, by the kernel's account; null = not known: the largest sample tells it
--   freed_soon       of a process and of a site: blocks that were freed before ten more were allocated, by any thread
--   What lost events or sampling make unknowable is null (temporary, freed_soon, lifetime) or has no rows (size_class, site_size, site_lifetime).
--   growth.trend     too short, steady, step, filling, falling, growing, doubling; bytes_per_minute with its 95 % interval low to high;
--                    survivors and victims: blocks that grew older than survival_ns, still live and freed; teardown_ns: where
--                    freeing at exit begins, up to which was judged; null = there is none
--   loss.reason      overflow, no ring, reentry, killed, paused, limit
--   process.whole    1 = the figures count all events; 0 = reading began at a checkpoint or events were dropped: what only the
--                    whole history tells is null, and what --from and --to leave out is not counted
--   process.options  what was recorded besides, with commas: mmap, usable-size, free-stacks, keep=live, keep=last; null = nothing
--   *.mapped_bytes, mapped_last, maps  address space taken with mmap, mremap and brk, never part of heap figures; null without --mmap
--   site.verdict     the worst of its blocks live at the end: unreachable, indirect, growing, unknown, reachable; null when nobody looked
--   scan.label       end, mark:NAME, request; scan.state: done, or why nothing is proved: killed, time, unreadable, threads, lost,
--                    sampled, memory, stopped, ended, files; its sums are null then
--   site_verdict     unreachable (nothing points to them but blocks of the same kind in a cycle), indirect (only unreachable ones do),
--                    reachable, unknown; retained_*: the unreachable ones of the site with the indirect ones that they keep;
--                    reason: after_scan: live at the end, allocated after the scan at the end, which judged none of them; else empty
--   scan.late_*      of the scan at the end that was done: what is live at the end and came after it; no part of its other sums
--   lost_with        a block that several retain counts for the one whose oldest unreachable block is oldest; root may be hidden by a filter
--   resident         of a moment (end, mark:NAME, request, resident[:NAME], detach) what resident pages are for: live + slack + free + other +
--                    stack + file + recorder make up rss; slack is null where nobody knows it, and counted as free; untouched: of live
--                    blocks neither in memory nor swapped out, no part of rss; pinned, trim, arena_free, gap: of free, see ms-record(1)
--   resident_site    bytes, live_bytes: of live blocks, and of these resident; pinned_bytes: its part of what is free on their pages
--   *.usable_bytes   usable sizes of the live blocks; null without --usable-size
--   estimate         of a sampled process: the 95 % interval of a figure, the column of that name in the row that the keys name;
--                    snapshot 0 = the whole run, site 0 = all sites (-1: those that filters hid), thread 0 = all threads
--   timeline.live_low, live_high  the 95 % interval of live_last; null when every event was recorded
--   site.one_time    what known allocation of the C or C++ runtime it is, made once and never freed; null = none
--   site.key         32 hex digits for the names of its call stack, the same in builds with other addresses and lines; null = no stack
--   site.entry       the allocator's function that it called: malloc, calloc, realloc, operator new ...; null = not known
--   site_stat.oldest_ns  age of its oldest live block at that moment; null at the peak, when sampled, and when over 64 moments were asked for
--   process.options  poll: samples only; maps, smaps: regions as ms-snap read them from /proc; figures of the heap are null then
--   process.comm     what the kernel calls it, where only /proc was looked at; else null
--   region           start and end are the same 64 bits, as signed numbers; figures are null with --maps
--   process.before   blocks that it had when it was attached to, which no other figure has: whole, part, unknown; null when its start was
--                    recorded. before_why: what is missing; before_bytes are usable ones; before_frees: of these, since
--   process.hooks_missing  JSON array: functions that --hook named and no module had; null when none was named or it is not known
--   process.allocators_missed  JSON array: functions that are likely to have given out blocks and were not hooked, "f in a"; null = none
--   process.left_behind  JSON array of pids: processes that ran on, and were not recorded any more, when the command had ended; null = none
--   process.images_missed  of a command: programs that it started and that could not be recorded, by its end; see FILE.d/index
--   heap             of each heap of the program's own (frame.note heap NAME) the memory from malloc that it cuts its blocks from, at the end;
--                    backing_max_bytes: the most at a time; backings: blocks in all. No row: none was seen, or not all events were
--   process.cut      the trace is a cut of another: of which, and by what; null = it is not
CREATE TABLE meta(key TEXT PRIMARY KEY, value ANY) WITHOUT ROWID;
CREATE TABLE process(
  id INTEGER PRIMARY KEY, pid INTEGER, ppid INTEGER, parent INTEGER, exe TEXT, command TEXT, host TEXT, kernel TEXT, cwd TEXT,
  started_ns INTEGER, offset_ns INTEGER, duration_ns INTEGER, exit_status INTEGER, exit_signal INTEGER, end_reason TEXT,
  machine TEXT, page_size INTEGER, allocator TEXT, trace TEXT, recorder TEXT, clock TEXT, depth INTEGER, session TEXT,
  image INTEGER, images_kept INTEGER, images_trivial INTEGER, children_not_recorded INTEGER,
  complete INTEGER, state TEXT, events INTEGER, events_lost INTEGER, sampled_bytes INTEGER, stacks_cut INTEGER, stacks_truncated INTEGER,
  stacks_not_taken INTEGER, events_late INTEGER, attached INTEGER, inferred_frees INTEGER, unknown_frees INTEGER, damaged_bytes INTEGER, damaged_places INTEGER,
  waited_ns INTEGER, waited_max_ns INTEGER, frames_without_symbol INTEGER,
  allocations INTEGER, frees INTEGER, reallocations INTEGER, failed_allocations INTEGER, allocated_bytes INTEGER,
  temporary_allocations INTEGER, peak_bytes INTEGER, peak_blocks INTEGER, peak_time_ns INTEGER, at_sum_peak_bytes INTEGER,
  unfreed_bytes INTEGER, unfreed_blocks INTEGER, unreachable_bytes INTEGER, unreachable_blocks INTEGER,
  forked INTEGER, inherited_blocks INTEGER, inherited_bytes INTEGER, inherited_frees INTEGER, inherited_freed_bytes INTEGER,
  whole INTEGER, from_ns INTEGER, to_ns INTEGER, dropped_events INTEGER, dropped_until_ns INTEGER, paused_ns INTEGER,
  paused_allocations INTEGER, started_late_ns INTEGER, options TEXT, maps INTEGER, unmaps INTEGER, mapped_bytes INTEGER,
  mapped_peak_bytes INTEGER, mapped_peak_time_ns INTEGER, mapped_end_bytes INTEGER, peak_usable_bytes INTEGER, unfreed_usable_bytes INTEGER, cut TEXT, comm TEXT,
  before TEXT, before_why TEXT, before_blocks INTEGER, before_bytes INTEGER, before_largest INTEGER, before_frees INTEGER, before_freed_bytes INTEGER,
  hooks_missing TEXT, became INTEGER, exec_bytes INTEGER, exec_blocks INTEGER, freed_soon INTEGER, peak_rss_bytes INTEGER,
  allocators_missed TEXT, left_behind TEXT, images_missed INTEGER);
CREATE TABLE snapshot(
  id INTEGER PRIMARY KEY, process INTEGER NOT NULL, label TEXT NOT NULL, time_ns INTEGER, live_bytes INTEGER, live_blocks INTEGER,
  rss_bytes INTEGER, pss_bytes INTEGER, private_bytes INTEGER, swap_bytes INTEGER,
  mapped_bytes INTEGER, usable_bytes INTEGER);
CREATE TABLE module(
  id INTEGER PRIMARY KEY, process INTEGER NOT NULL, path TEXT, build_id TEXT, start INTEGER, end INTEGER, bias INTEGER,
  loaded_ns INTEGER, unloaded_ns INTEGER, kind TEXT, symbols TEXT);
CREATE TABLE frame(
  id INTEGER PRIMARY KEY, process INTEGER NOT NULL, module INTEGER, address INTEGER, function TEXT, file TEXT, line INTEGER,
  inlined INTEGER, runtime INTEGER, note TEXT);
CREATE TABLE stack(id INTEGER PRIMARY KEY, process INTEGER NOT NULL, parent INTEGER, frame INTEGER NOT NULL, depth INTEGER NOT NULL);
CREATE TABLE site(
  id INTEGER PRIMARY KEY, process INTEGER NOT NULL, stack INTEGER, user_frame INTEGER, allocations INTEGER, frees INTEGER, reallocations INTEGER,
  failed_allocations INTEGER, allocated_bytes INTEGER, temporary INTEGER, min_size INTEGER, max_size INTEGER,
  max_live_bytes INTEGER, max_live_blocks INTEGER, first_ns INTEGER, last_ns INTEGER, lifetime_ns INTEGER, lifetime_allocations INTEGER, freed_soon INTEGER, marked INTEGER, verdict TEXT,
  maps INTEGER, mapped_bytes INTEGER, one_time TEXT, key TEXT, entry TEXT);
CREATE TABLE site_stat(
  snapshot INTEGER NOT NULL, site INTEGER NOT NULL, live_bytes INTEGER, live_blocks INTEGER, usable_bytes INTEGER, mapped_bytes INTEGER,
  oldest_ns INTEGER, PRIMARY KEY(snapshot, site)) WITHOUT ROWID;
CREATE TABLE site_thread(
  site INTEGER NOT NULL, thread INTEGER NOT NULL, allocations INTEGER, allocated_bytes INTEGER, live_bytes INTEGER, live_blocks INTEGER,
  PRIMARY KEY(site, thread)) WITHOUT ROWID;
CREATE TABLE site_size(
  site INTEGER NOT NULL, low INTEGER NOT NULL, high INTEGER NOT NULL, allocations INTEGER, allocated_bytes INTEGER, temporary INTEGER,
  peak_bytes INTEGER, peak_blocks INTEGER, live_bytes INTEGER, live_blocks INTEGER, PRIMARY KEY(site, low)) WITHOUT ROWID;
CREATE TABLE site_lifetime(
  site INTEGER NOT NULL, unit TEXT NOT NULL, low INTEGER NOT NULL, high INTEGER, frees INTEGER, PRIMARY KEY(site, unit, low)) WITHOUT ROWID;
-- Live bytes over time: the whole heap (site 0) and the sites whose trend is a step, filling, doubling or growing.
CREATE TABLE growth(
  process INTEGER NOT NULL, site INTEGER NOT NULL, trend TEXT NOT NULL, from_ns INTEGER, to_ns INTEGER, rise_bytes INTEGER,
  bytes_per_minute INTEGER, low INTEGER, high INTEGER, p REAL, confidence REAL, survival_ns INTEGER, survivors INTEGER, victims INTEGER,
  teardown_ns INTEGER, PRIMARY KEY(process, site)) WITHOUT ROWID;
-- Scans of memory for pointers to the live blocks, and what each found of a site's blocks.
CREATE TABLE scan(
  process INTEGER NOT NULL, scan INTEGER NOT NULL, label TEXT, time_ns INTEGER, event INTEGER, state TEXT, pause_ns INTEGER, took_ns INTEGER,
  read_bytes INTEGER, wide INTEGER, blocks INTEGER, bytes INTEGER, unreachable_blocks INTEGER, unreachable_bytes INTEGER,
  late_blocks INTEGER, late_bytes INTEGER, align INTEGER, mask TEXT, ignored_blocks INTEGER, root_ranges INTEGER,
  refused_root_ranges INTEGER,
  PRIMARY KEY(process, scan)) WITHOUT ROWID;
CREATE TABLE site_verdict(
  site INTEGER NOT NULL, scan INTEGER NOT NULL, verdict TEXT NOT NULL, reason TEXT NOT NULL, blocks INTEGER, bytes INTEGER,
  retained_blocks INTEGER, retained_bytes INTEGER, PRIMARY KEY(site, scan, verdict, reason)) WITHOUT ROWID;
-- Of a site's indirect blocks, those that unreachable blocks of site root retain.
CREATE TABLE lost_with(
  site INTEGER NOT NULL, scan INTEGER NOT NULL, root INTEGER NOT NULL, blocks INTEGER, bytes INTEGER, PRIMARY KEY(site, scan, root)) WITHOUT ROWID;
CREATE TABLE resident(
  process INTEGER NOT NULL, moment INTEGER NOT NULL, label TEXT, state TEXT, time_ns INTEGER, event INTEGER, pause_ns INTEGER,
  blocks INTEGER, bytes INTEGER, rss_bytes INTEGER, swap_bytes INTEGER, live_bytes INTEGER, slack_bytes INTEGER, free_bytes INTEGER,
  other_bytes INTEGER, stack_bytes INTEGER, file_bytes INTEGER, recorder_bytes INTEGER, untouched_bytes INTEGER, pinned_bytes INTEGER,
  trim_bytes INTEGER, arenas INTEGER, arena_free_bytes INTEGER, gap_bytes INTEGER, wide INTEGER, PRIMARY KEY(process, moment)) WITHOUT ROWID;
CREATE TABLE resident_site(
  site INTEGER NOT NULL, moment INTEGER NOT NULL, blocks INTEGER, bytes INTEGER, live_bytes INTEGER, untouched_bytes INTEGER,
  pinned_bytes INTEGER, alone_bytes INTEGER, PRIMARY KEY(site, moment)) WITHOUT ROWID;
CREATE TABLE resident_file(process INTEGER NOT NULL, moment INTEGER NOT NULL, file TEXT, bytes INTEGER);
-- Which stacks freed a site's blocks (--free-stacks); stack is null when it was not taken.
CREATE TABLE free_site(process INTEGER NOT NULL, site INTEGER NOT NULL, stack INTEGER, frees INTEGER, freed_bytes INTEGER);
CREATE TABLE thread(
  id INTEGER PRIMARY KEY, process INTEGER NOT NULL, tid INTEGER, name TEXT, start_ns INTEGER, end_ns INTEGER, allocations INTEGER, frees INTEGER,
  allocated_bytes INTEGER, temporary INTEGER, peak_bytes INTEGER, peak_blocks INTEGER, live_bytes INTEGER, live_blocks INTEGER,
  events_lost INTEGER, waited_ns INTEGER);
CREATE TABLE size_class(
  process INTEGER NOT NULL, low INTEGER NOT NULL, high INTEGER NOT NULL, allocations INTEGER, allocated_bytes INTEGER, temporary INTEGER,
  peak_bytes INTEGER, peak_blocks INTEGER, live_bytes INTEGER, live_blocks INTEGER, PRIMARY KEY(process, low)) WITHOUT ROWID;
-- Blocks from before an attachment by usable size, classes as in size_class.
CREATE TABLE before_size(
  process INTEGER NOT NULL, low INTEGER NOT NULL, high INTEGER NOT NULL, blocks INTEGER, bytes INTEGER, PRIMARY KEY(process, low)) WITHOUT ROWID;
CREATE TABLE heap(
  process INTEGER NOT NULL, name TEXT NOT NULL, backing_bytes INTEGER, backing_blocks INTEGER, backing_max_bytes INTEGER, backings INTEGER,
  PRIMARY KEY(process, name)) WITHOUT ROWID;
CREATE TABLE timeline(
  process INTEGER NOT NULL, time_ns INTEGER NOT NULL, live_min INTEGER, live_max INTEGER, live_last INTEGER, blocks_last INTEGER,
  allocations INTEGER, frees INTEGER, allocated_bytes INTEGER, live_low INTEGER, live_high INTEGER, mapped_last INTEGER, PRIMARY KEY(process, time_ns)) WITHOUT ROWID;
CREATE TABLE estimate(
  process INTEGER NOT NULL, snapshot INTEGER NOT NULL, site INTEGER NOT NULL, thread INTEGER NOT NULL, figure TEXT NOT NULL,
  low INTEGER, high INTEGER, seen INTEGER, variance REAL, step REAL, step_variance REAL,
  PRIMARY KEY(process, snapshot, site, thread, figure)) WITHOUT ROWID;
-- What all processes hold together, on the clock that they share: offset_ns of a process is its start there.
CREATE TABLE sum_timeline(
  time_ns INTEGER PRIMARY KEY, live_max INTEGER, live_last INTEGER, processes INTEGER);
CREATE TABLE sample(
  process INTEGER NOT NULL, time_ns INTEGER NOT NULL, rss_bytes INTEGER, pss_bytes INTEGER, private_bytes INTEGER, swap_bytes INTEGER,
  vsz_bytes INTEGER, minor_faults INTEGER, major_faults INTEGER, user_ns INTEGER, system_ns INTEGER, threads INTEGER, heap_bytes INTEGER,
  PRIMARY KEY(process, time_ns)) WITHOUT ROWID;
CREATE TABLE region(
  process INTEGER NOT NULL, snapshot INTEGER, start INTEGER, end INTEGER, kind TEXT, perms TEXT, path TEXT, file_offset INTEGER,
  rss_bytes INTEGER, pss_bytes INTEGER, private_bytes INTEGER, swap_bytes INTEGER, shared_clean_bytes INTEGER, shared_dirty_bytes INTEGER,
  private_clean_bytes INTEGER, private_dirty_bytes INTEGER);
-- Processes of which ms-snap --all could not read the regions, at each time.
CREATE TABLE skipped(time_ns INTEGER NOT NULL, pid INTEGER NOT NULL, name TEXT, reason TEXT NOT NULL, PRIMARY KEY(time_ns, pid)) WITHOUT ROWID;
CREATE TABLE mark(process INTEGER NOT NULL, seq INTEGER NOT NULL, name TEXT, time_ns INTEGER, event INTEGER, thread INTEGER, PRIMARY KEY(process, seq)) WITHOUT ROWID;
CREATE TABLE loss(process INTEGER NOT NULL, from_ns INTEGER, to_ns INTEGER, events INTEGER, reason TEXT, thread INTEGER);
-- What filters took away, one row per filter stage, process and snapshot (snapshot null: the run's totals).
CREATE TABLE hidden(
  stage INTEGER NOT NULL, filter TEXT NOT NULL, process INTEGER NOT NULL, snapshot INTEGER, sites INTEGER, live_bytes INTEGER, live_blocks INTEGER,
  allocations INTEGER, frees INTEGER, reallocations INTEGER, failed_allocations INTEGER, allocated_bytes INTEGER, temporary INTEGER,
  maps INTEGER, mapped_bytes INTEGER, usable_bytes INTEGER);
-- Which lines of suppression files took how much away, in which stage; rows with a note could not be judged everywhere.
CREATE TABLE suppression(
  stage INTEGER NOT NULL, file TEXT NOT NULL, line INTEGER NOT NULL, rule TEXT, sites INTEGER, live_bytes INTEGER, live_blocks INTEGER,
  allocations INTEGER, allocated_bytes INTEGER, not_applicable INTEGER, note TEXT, most_blocks INTEGER, met_blocks INTEGER,
  PRIMARY KEY(stage, file, line)) WITHOUT ROWID;
-- Of ms-diff: what was compared with what and how the totals and the sites changed; no rows in other snapshots.
--   diff             what holds for the whole comparison: old, new, old_point, new_point, old_runs, new_runs, per, old_operations,
--                    new_operations, old_nameless, new_nameless (modules with symbols on the other side only), min_change, old_missing, same_program,
--                    history (of ms-diff --history: the options that chose the old runs; absent else)
--   diff_run         the runs compared; reference = 1 for the one of each side whose figures the others tables show (of new: all of this snapshot)
--   diff_total       totals as in the JSON report; delta = new - old; *_low, *_high: the range over the runs of a side; delta_low,
--                    delta_high: 95 % interval where a side was sampled; significant: 1 = more than noise
--   site_diff        a row per place that allocates, under its site with the most live bytes; a site that is gone is in table site with figures 0
--   site_diff.kind   new, gone, grown, shrunk, unchanged, unmatched; matched: exact, lines, chain, module, frames, renamed, moved, figures, null: one side only
--   site_diff.significant  1 = live or peak bytes, or what was allocated, changed by more than noise; figures: which figures did, with commas;
--                    share: of these changes the one that is most of the whole run's figure, as a share of that, negative = less; kind says its way
--   site_diff_range  of a row's figure: the ranges of both sides, and the interval of delta; only where there is something to say
--   diff_known       sites with a verdict whose place has one in the old runs too, and holds no more than noise more: verdict is theirs, the
--                    worst; unknown where blocks were live there and nobody looked
--   diff_hidden      what filters hid: stage 0 in what was compared, later ones of the comparison. Sites + hidden = total
CREATE TABLE diff(key TEXT PRIMARY KEY, value ANY) WITHOUT ROWID;
CREATE TABLE diff_run(
  id INTEGER PRIMARY KEY, side TEXT NOT NULL, reference INTEGER NOT NULL, name TEXT, point TEXT, exe TEXT, command TEXT, started_ns INTEGER,
  processes INTEGER, complete INTEGER, events_lost INTEGER, sampled_bytes INTEGER, filters TEXT, operations INTEGER,
  live_bytes INTEGER, peak_bytes INTEGER, allocations INTEGER);
CREATE TABLE diff_total(
  figure TEXT PRIMARY KEY, old INTEGER, new INTEGER, delta INTEGER, delta_low INTEGER, delta_high INTEGER,
  old_low INTEGER, old_high INTEGER, new_low INTEGER, new_high INTEGER, significant INTEGER) WITHOUT ROWID;
CREATE TABLE site_diff(
  site INTEGER PRIMARY KEY, kind TEXT NOT NULL, significant INTEGER NOT NULL, figures TEXT, matched TEXT, weak INTEGER, evidence TEXT,
  sites INTEGER, old_sites INTEGER, old_site INTEGER, share REAL,
  old_live_bytes INTEGER, old_live_blocks INTEGER, old_peak_bytes INTEGER, old_peak_blocks INTEGER, old_allocations INTEGER, old_frees INTEGER,
  old_allocated_bytes INTEGER, old_temporary INTEGER,
  new_live_bytes INTEGER, new_live_blocks INTEGER, new_peak_bytes INTEGER, new_peak_blocks INTEGER, new_allocations INTEGER, new_frees INTEGER,
  new_allocated_bytes INTEGER, new_temporary INTEGER,
  delta_live_bytes INTEGER, delta_live_blocks INTEGER, delta_peak_bytes INTEGER, delta_peak_blocks INTEGER, delta_allocations INTEGER,
  delta_frees INTEGER, delta_allocated_bytes INTEGER, delta_temporary INTEGER);
-- Regions of two moments, by name of the process, kind and path ('' = none); change: new, gone, grown, shrunk, unchanged.
CREATE TABLE region_diff(
  process TEXT NOT NULL, kind TEXT NOT NULL, path TEXT NOT NULL, change TEXT,
  old_regions INTEGER, old_bytes INTEGER, old_rss_bytes INTEGER, old_pss_bytes INTEGER, old_private_bytes INTEGER, old_swap_bytes INTEGER,
  new_regions INTEGER, new_bytes INTEGER, new_rss_bytes INTEGER, new_pss_bytes INTEGER, new_private_bytes INTEGER, new_swap_bytes INTEGER,
  delta_bytes INTEGER, delta_rss_bytes INTEGER, delta_pss_bytes INTEGER, delta_private_bytes INTEGER, delta_swap_bytes INTEGER,
  PRIMARY KEY(process, kind, path)) WITHOUT ROWID;
CREATE TABLE site_diff_range(
  site INTEGER NOT NULL, figure TEXT NOT NULL, old_low INTEGER, old_high INTEGER, new_low INTEGER, new_high INTEGER,
  delta_low INTEGER, delta_high INTEGER, PRIMARY KEY(site, figure)) WITHOUT ROWID;
CREATE TABLE diff_known(site INTEGER PRIMARY KEY, verdict TEXT NOT NULL);
CREATE TABLE diff_hidden(
  stage INTEGER PRIMARY KEY, filter TEXT, sites INTEGER,
  old_live_bytes INTEGER, old_live_blocks INTEGER, old_peak_bytes INTEGER, old_peak_blocks INTEGER, old_allocations INTEGER, old_frees INTEGER,
  old_allocated_bytes INTEGER, old_temporary INTEGER,
  new_live_bytes INTEGER, new_live_blocks INTEGER, new_peak_bytes INTEGER, new_peak_blocks INTEGER, new_allocations INTEGER, new_frees INTEGER,
  new_allocated_bytes INTEGER, new_temporary INTEGER);
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
CREATE VIEW by_thread AS SELECT name, tid, allocations, allocated_bytes, live_bytes, process FROM thread ORDER BY allocated_bytes DESC;
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
