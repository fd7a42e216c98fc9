# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# Databases for the tests of ms-report, made in the current folder from run.sql and what follows.
fixture() { # NAME SQL: run.sql with changes
	rm -f "$1"
	{
		echo 'PRAGMA synchronous = off; PRAGMA journal_mode = memory; BEGIN;'
		"$SRC/libcommon/snapshot/columns" schema
		cat "$SRC/tests/cli/report/run.sql"
		echo "$2; COMMIT;"
	} | sqlite3 "$1" >/dev/null
}
fixture run.db ''
# the recorder was killed
fixture cut.db "UPDATE process SET complete = 0, state = 'no end', exit_status = NULL, end_reason = NULL"
# some blocks of the trace could not be read
fixture damaged.db "UPDATE process SET complete = 0, state = 'damaged', damaged_bytes = 4096, damaged_places = 1"
fixture growing.db "UPDATE process SET state = 'growing', exit_status = NULL, end_reason = NULL"
# events were lost, or sampled: what that makes unknowable is null
unknowable="UPDATE process SET temporary_allocations = NULL; UPDATE site SET temporary = NULL, lifetime_ns = NULL, lifetime_allocations = NULL;
	UPDATE thread SET temporary = NULL; DELETE FROM size_class; DELETE FROM site_size; DELETE FROM site_lifetime"
fixture lost.db "UPDATE process SET events_lost = 12; $unknowable"
fixture killed.db "UPDATE process SET exit_status = NULL, exit_signal = 9"
# estimates: of each figure a hundredth was seen
estimate="sampled_bytes = 524288, reallocations = NULL, peak_time_ns = NULL; $unknowable;
	UPDATE site SET reallocations = NULL, min_size = NULL, max_size = NULL, max_live_bytes = NULL, max_live_blocks = NULL, first_ns = NULL, last_ns = NULL;
	UPDATE thread SET peak_bytes = NULL, peak_blocks = NULL;
	UPDATE timeline SET blocks_last = NULL, allocations = NULL, frees = NULL, allocated_bytes = NULL, live_low = live_last * 9 / 10, live_high = live_last * 11 / 10;
	CREATE TEMP TABLE f(process, snapshot, site, thread, figure, value);
	INSERT INTO f SELECT id, 0, 0, 0, 'allocations', allocations FROM process UNION ALL SELECT id, 0, 0, 0, 'allocated_bytes', allocated_bytes FROM process
	UNION ALL SELECT id, 0, 0, 0, 'frees', frees FROM process UNION ALL SELECT id, 0, 0, 0, 'peak_bytes', peak_bytes FROM process
	UNION ALL SELECT id, 0, 0, 0, 'peak_blocks', peak_blocks FROM process UNION ALL SELECT id, 0, 0, 0, 'unfreed_bytes', unfreed_bytes FROM process
	UNION ALL SELECT id, 0, 0, 0, 'unfreed_blocks', unfreed_blocks FROM process UNION ALL SELECT process, 0, id, 0, 'allocations', allocations FROM site
	UNION ALL SELECT process, 0, id, 0, 'allocated_bytes', allocated_bytes FROM site UNION ALL SELECT process, 0, id, 0, 'frees', frees FROM site
	UNION ALL SELECT process, 0, 0, id, 'allocations', allocations FROM thread UNION ALL SELECT process, 0, 0, id, 'allocated_bytes', allocated_bytes FROM thread
	UNION ALL SELECT process, 0, 0, id, 'frees', frees FROM thread UNION ALL SELECT process, 0, 0, id, 'live_bytes', live_bytes FROM thread
	UNION ALL SELECT process, 0, 0, id, 'live_blocks', live_blocks FROM thread UNION ALL SELECT process, id, 0, 0, 'live_bytes', live_bytes FROM snapshot
	UNION ALL SELECT process, id, 0, 0, 'live_blocks', live_blocks FROM snapshot
	UNION ALL SELECT t.process, t.id, c.site, 0, 'live_bytes', c.live_bytes FROM snapshot t JOIN site_stat c ON c.snapshot = t.id
	UNION ALL SELECT t.process, t.id, c.site, 0, 'live_blocks', c.live_blocks FROM snapshot t JOIN site_stat c ON c.snapshot = t.id;
	INSERT INTO estimate SELECT process, snapshot, site, thread, figure, value * 9 / 10, value * 11 / 10, value / 100,
	value * iif(figure LIKE '%bytes', 524288.0, 100.0), iif(figure LIKE '%bytes', 524288.0, 100.0), iif(figure LIKE '%bytes', 524288.0 * 524288.0, 10000.0) FROM f"
fixture sampled.db "UPDATE process SET $estimate"
fixture sampled-lost.db "UPDATE process SET events_lost = 12, $estimate"
# recorded with --mmap, --usable-size and --free-stacks; then with an allocator that maps its heap itself
beside="UPDATE process SET options = 'mmap,usable-size,free-stacks', maps = 40, unmaps = 12, mapped_bytes = 9000000, mapped_peak_bytes = 5000000,
		mapped_peak_time_ns = 2000000000, mapped_end_bytes = 4500000, peak_usable_bytes = 3500000, unfreed_usable_bytes = 1300000;
	UPDATE snapshot SET usable_bytes = 3500000, mapped_bytes = 4800000 WHERE id = 1;
	UPDATE snapshot SET usable_bytes = 1300000, mapped_bytes = 4500000 WHERE id = 2;
	UPDATE snapshot SET usable_bytes = 1200000, mapped_bytes = 9000000 WHERE id = 3;
	UPDATE site SET maps = 0, mapped_bytes = 0; UPDATE timeline SET mapped_last = 3000000 + time_ns / 2000;
	UPDATE site SET maps = 10, mapped_bytes = 8000000 WHERE id = 1;
	UPDATE site SET maps = 30, mapped_bytes = 1000000 WHERE id = 2;
	UPDATE site_stat SET mapped_bytes = 0, usable_bytes = live_bytes + CASE site WHEN 1 THEN 24 WHEN 2 THEN 48000 WHEN 3 THEN 4520 WHEN 4 THEN 1000
		WHEN 5 THEN 1700 ELSE 0 END WHERE snapshot = 2;
	UPDATE site_stat SET mapped_bytes = 4096000 WHERE snapshot = 2 AND site = 1;
	UPDATE site_stat SET mapped_bytes = 404000 WHERE snapshot = 2 AND site = 2;
	UPDATE site_stat SET mapped_bytes = 9000000 WHERE snapshot = 3 AND site = 1;
	INSERT INTO free_site VALUES (1, 2, 8, 1500, 96000), (1, 2, 14, 450, 28800), (1, 2, NULL, 30, 1920), (1, 2, 15, 10, 640), (1, 2, 16, 5, 320),
		(1, 2, 20, 4, 256), (1, 2, 22, 1, 64);"
fixture beside.db "$beside"
fixture own-heap.db "$beside UPDATE process SET allocator = 'libjemalloc.so.2'"
# two stages of filters: the hostile name, then what is small
hidden="(stage, filter, process, snapshot, sites, live_bytes, live_blocks, allocations, frees, reallocations,
	failed_allocations, allocated_bytes, temporary)"
hide="INSERT INTO hidden$hidden SELECT %s, '%s', 1, NULL, count(*), NULL, NULL, sum(allocations), sum(frees), sum(reallocations),
	sum(failed_allocations), sum(allocated_bytes), sum(temporary) FROM site WHERE %s;
	INSERT INTO hidden$hidden SELECT %s, '%s', 1, t.id, count(c.site), coalesce(sum(c.live_bytes), 0), coalesce(sum(c.live_blocks), 0), NULL, NULL,
	NULL, NULL, NULL, NULL FROM snapshot t LEFT JOIN site_stat c ON c.snapshot = t.id AND c.site IN (SELECT id FROM site WHERE %s) GROUP BY t.id;
	DELETE FROM site_stat WHERE site IN (SELECT id FROM site WHERE %s); DELETE FROM site_thread WHERE site IN (SELECT id FROM site WHERE %s);
	DELETE FROM site_size WHERE site IN (SELECT id FROM site WHERE %s); DELETE FROM site_lifetime WHERE site IN (SELECT id FROM site WHERE %s);
	DELETE FROM site WHERE %s;"
hidden() { # STAGE FILTER CONDITION
	# shellcheck disable=SC2059
	printf "$hide" "$1" "$2" "$3" "$1" "$2" "$3" "$3" "$3" "$3" "$3" "$3"
}
fixture hidden.db "$(hidden 1 "--not-function evil" "id = 5") $(hidden 2 "--min 2k" "max_live_bytes < 2048")"
fixture allhidden.db "$(hidden 1 "--min 1G" "1")"
# a program that allocated nothing
fixture nothing.db "DELETE FROM site; DELETE FROM site_stat; DELETE FROM site_thread; DELETE FROM thread; DELETE FROM size_class; DELETE FROM site_size;
	DELETE FROM site_lifetime; DELETE FROM timeline;
	UPDATE snapshot SET live_bytes = 0, live_blocks = 0; UPDATE process SET allocations = 0, frees = 0, reallocations = 0,
	failed_allocations = 0, allocated_bytes = 0, temporary_allocations = 0, peak_bytes = 0, peak_blocks = 0, unfreed_bytes = 0,
	unfreed_blocks = 0, peak_time_ns = 0, allocator = 'none found'"
# a second process, a child that began half a second later and kept 7 blocks of 1000 bytes
second="INSERT INTO process(id, pid, ppid, parent, exe, command, started_ns, offset_ns, duration_ns, exit_signal, end_reason, trace, complete,
	state, events, events_lost, sampled_bytes, stacks_cut, attached, allocations, frees, reallocations, failed_allocations, allocated_bytes,
	temporary_allocations, peak_bytes, peak_blocks, peak_time_ns, unfreed_bytes, unfreed_blocks, frames_without_symbol, stacks_truncated, stacks_not_taken,
	inferred_frees, unknown_frees, damaged_bytes, damaged_places)
	VALUES (2, 4120, 4117, 1, '/usr/bin/gzip', NULL, 1795183331623456789, 500000000, 2000000000, 15, 'exit', 'gzip.trace', 1, 'complete', 10, 0, 0, 0,
	0, 8, 1, 0, 0, 8000, 0, 7000, 7, 1500000000, 7000, 7, 0, 0, 0, 0, 0, 0, 0);
	INSERT INTO snapshot(id, process, label, time_ns, live_bytes, live_blocks, rss_bytes, pss_bytes, private_bytes, swap_bytes) VALUES (4, 2, 'peak', 2000000000, 7000, 7, NULL, NULL, NULL, NULL), (5, 2, 'end', 2000000000, 7000, 7, NULL, NULL, NULL, NULL);
	INSERT INTO stack VALUES (23, 2, NULL, 17, 0);
	INSERT INTO site(id, process, stack, user_frame, allocations, frees, reallocations, failed_allocations, allocated_bytes, temporary)
	VALUES (9, 2, 23, 23, 8, 1, 0, 0, 8000, 0);
	INSERT INTO site_stat(snapshot, site, live_bytes, live_blocks) VALUES (4, 9, 7000, 7), (5, 9, 7000, 7);
	INSERT INTO thread VALUES (3, 2, 4120, 'gzip', NULL, NULL, 0, 2000000000, 8, 1, 8000, 0, 7000, 7, 7000, 7, 0, 0);
	INSERT INTO site_thread VALUES (9, 3, 8, 8000, 7000, 7);
	INSERT INTO size_class VALUES (2, 512, 1023, 8, 8000, 0, 7000, 7, 7000, 7);
	INSERT INTO site_size VALUES (9, 512, 1023, 8, 8000, 0, 7000, 7, 7000, 7);
	INSERT INTO site_lifetime VALUES (9, 'ns', 0, 999999, 1), (9, 'allocations', 1, 9, 1);
	UPDATE meta SET value = 3406476 WHERE key = 'sum_peak_bytes'; UPDATE meta SET value = 2 WHERE key = 'processes';
	UPDATE process SET at_sum_peak_bytes = 1000 WHERE id = 2;
	INSERT INTO timeline(process, time_ns, live_min, live_max, live_last, blocks_last, allocations, frees, allocated_bytes) VALUES (2, 0, 0, 7000, 7000, 7, 8, 1, 8000);"
fixture two.db "$second"
# --from 100ms, and a late --at that was read from a checkpoint on
fixture part.db "UPDATE process SET whole = 0, from_ns = 100000000, to_ns = 3000000000"
fixture span.db "UPDATE process SET whole = 0, from_ns = 1000000000, to_ns = 2000000000"
fixture dropped.db "UPDATE process SET whole = 0, dropped_events = 5000, dropped_until_ns = 2000000000"
fixture dropped-since.db "UPDATE process SET whole = 0, dropped_events = 5000, dropped_until_ns = 2000000000, options = 'keep=last', from_ns = 2000000000"
fixture headless.db "UPDATE process SET whole = 0, temporary_allocations = NULL; DELETE FROM site_thread; DELETE FROM timeline; DELETE FROM size_class;
	UPDATE site SET allocations = NULL, frees = NULL, reallocations = NULL, failed_allocations = NULL, allocated_bytes = NULL, temporary = NULL,
	min_size = NULL, max_size = NULL, max_live_bytes = NULL, max_live_blocks = NULL, first_ns = NULL, last_ns = NULL, lifetime_ns = NULL;
	DELETE FROM site_size; DELETE FROM site_lifetime; UPDATE thread SET allocations = NULL, frees = NULL, allocated_bytes = NULL, temporary = NULL"
# live memory over time: half an hour of it
fixture grown.db "INSERT INTO growth VALUES (1, 0, 'growing', 10000000000, 1800000000000, 1200000, 40000, 39000, 42000, 1e-9, 0.97, NULL, NULL, NULL, NULL),
	(1, 1, 'step', 10000000000, 1800000000000, 1048576, 0, 0, 10, 0.002, 0, 600000000000, 1, 0, NULL), (1, 2, 'growing', 10000000000, 1800000000000, 1100000, 38000, -100, 40000, 0.004, 0.815, 600000000000, 2990, 23, NULL),
	(1, 5, 'filling', 10000000000, 1800000000000, 300, 5, 2, 9, 0.001, 0, 60000000000, 2, 2, NULL); UPDATE site SET verdict = 'growing' WHERE id = 2"
fixture grown-sampled.db "UPDATE process SET $estimate; INSERT INTO growth VALUES (1, 0, 'growing', 10000000000, 1800000000000, 1200000, 40000, 30000, 50000,
	1e-9, 0.97, NULL, NULL, NULL, NULL), (1, 2, 'growing', 10000000000, 1800000000000, 1100000, 38000, -7000, 83000, 0.004, 0.815, NULL, NULL, NULL, NULL)"
# its peak was before what grew by 20 samples of 512 KiB
fixture risen-sampled.db "UPDATE process SET $estimate; INSERT INTO growth VALUES (1, 0, 'steady', 10000000000, 1800000000000, 0, 0, -30000, 30000,
	1, 0, NULL, NULL, NULL, NULL), (1, 2, 'growing', 10000000000, 1800000000000, 10485760, 351000, 200000, 520000, 0.004, 0.815, NULL, NULL, NULL, NULL)"
fixture young.db "INSERT INTO growth VALUES (1, 0, 'too short', 1000000000, 4000000000, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL)"
# what grew is freed in the end, some of it
grows="INSERT INTO growth VALUES (1, 0, 'growing', 10000000000, 1780000000000, 1200000, 40000, 39000, 42000, 1e-9, 0.97, NULL, NULL, NULL, 1790500000000),
	(1, 2, 'growing', 10000000000, 1780000000000, 1100000, 38000, 37000, 40000, 0.004, 0.815, NULL, NULL, NULL, 1790500000000),
	(1, 8, 'growing', 10000000000, 1780000000000, 90000, 3000, 2900, 3100, 0.004, 0.7, NULL, NULL, NULL, 1790500000000)"
fixture freed.db "$grows"
# attached to: how it grows comes first; or that it does not
fixture attached.db "UPDATE process SET attached = 1; $grows; UPDATE growth SET teardown_ns = NULL"
fixture attached-steady.db "UPDATE process SET attached = 1;
	INSERT INTO growth VALUES (1, 0, 'steady', 10000000000, 1800000000000, 12, 4, -300, 420, 0.5, 0, NULL, NULL, NULL, NULL)"
# a scan found two sites that nothing points to, one with a hostile name, which retains a third; a fourth came after it
fixture leaky.db "UPDATE site SET verdict = 'unreachable' WHERE id IN (3, 5); UPDATE site SET verdict = 'growing' WHERE id = 1;
	UPDATE site SET verdict = 'indirect' WHERE id = 2; UPDATE site SET verdict = 'unknown' WHERE id = 4;
	UPDATE process SET unreachable_bytes = 195180, unreachable_blocks = 3123;
	INSERT INTO scan(process, scan, label, time_ns, state, blocks, bytes, unreachable_blocks, unreachable_bytes, late_blocks, late_bytes) VALUES
	(1, 3, 'end', 3990000000, 'done', 3125, 1243756, 3123, 195180, 1, 1000);
	INSERT INTO site_verdict VALUES (1, 3, 'reachable', '', 1, 1048576, NULL, NULL), (2, 3, 'indirect', '', 3000, 192000, NULL, NULL),
	(3, 3, 'unreachable', '', 120, 2880, 120, 2880), (4, 3, 'unknown', 'after_scan', 1, 1000, NULL, NULL),
	(5, 3, 'unreachable', '', 3, 300, 3003, 192300), (6, 3, 'reachable', '', 1, 0, NULL, NULL), (5, 2, 'unreachable', '', 2, 200, 2, 200);
	INSERT INTO lost_with VALUES (2, 3, 5, 3000, 192000), (2, 2, 5, 9, 9)"
# two retention scans: a list that a map holds, with strings below it; what two indexes hold together; a buffer of a thread's frame
keepers="INSERT INTO keeper(process, scan, id, kind, name, module, size, file, line, type, thread, observes) VALUES
	(1, %d, 1, 'variable', 'orderd::g_cache', '/home/ann/orderd/bin/orderd', 48, '/home/ann/orderd/src/cache.cpp', 12,
		'std::map<orderd::Symbol, orderd::Price, std::less<orderd::Symbol>, std::allocator<std::pair<orderd::Symbol const, orderd::Price> > >', NULL, NULL),
	(1, %d, 2, 'variable', 'g_by_name', '/home/ann/orderd/bin/orderd', 56, NULL, NULL, NULL, NULL, NULL),
	(1, %d, 3, 'variable', 'g_by_id', '/home/ann/orderd/bin/orderd', 56, NULL, NULL, NULL, NULL, NULL),
	(1, %d, 4, 'frame', 'orderd::Arena::run(unsigned long)', NULL, 96, NULL, NULL, NULL, 'io-1', NULL),
	(1, %d, 5, 'section', 'libz.so.1 .bss', '/usr/lib/x86_64-linux-gnu/libz.so.1', 4096, NULL, NULL, NULL, NULL, 1),
	(1, %d, 6, 'thread_local', 't_<img>|' || char(27) || '[31m', NULL, 8, NULL, NULL, 'char *', 'io-1', NULL);
	INSERT INTO keeper_set(process, scan, id, keeper) VALUES (1, %d, 1, 2), (1, %d, 1, 3);"
# shellcheck disable=SC2059
keepers() { # SCAN
	printf "$keepers" "$1" "$1" "$1" "$1" "$1" "$1" "$1" "$1"
}
scans="INSERT INTO scan(process, scan, label, time_ns, state) VALUES (1, 1, 'mark:warm', 600000000, 'done'), (1, 2, 'request', 3500000000, 'done');"
kept="$scans INSERT INTO retention(process, scan, state, live_bytes, kept_bytes, unreachable_bytes, blocks, edges, took_ns) VALUES
		(1, 1, 'done', 1112616, 1112616, 0, 1001, 1100, 1000000), (1, 2, 'done', 1244756, 1243456, 1300, 3126, 3500, 2000000);
	$(keepers 1) $(keepers 2)
	INSERT INTO kept(process, scan, id, parent, keeper, set_id, site, bytes, blocks, retained_bytes, retained_blocks, \"offset\", depth, type, path) VALUES
	(1, 1, 1, NULL, 4, NULL, NULL, 0, 0, 1048576, 1, NULL, NULL, NULL, NULL), (1, 1, 2, 1, NULL, NULL, 1, 1048576, 1, 1048576, 1, 16, 1, NULL, NULL),
	(1, 1, 3, NULL, 1, NULL, NULL, 0, 0, 64000, 1000, NULL, NULL, NULL, NULL), (1, 1, 4, 3, NULL, NULL, 2, 64000, 1000, 64000, 1000, 8, 900, NULL, NULL),
	(1, 1, 5, NULL, NULL, 1, NULL, 0, 0, 40, 1, NULL, NULL, NULL, NULL), (1, 1, 6, 5, NULL, NULL, 3, 40, 1, 40, 1, NULL, 1, NULL, NULL),
	(1, 2, 1, NULL, 4, NULL, NULL, 0, 0, 1048576, 1, NULL, NULL, NULL, NULL), (1, 2, 2, 1, NULL, NULL, 1, 1048576, 1, 1048576, 1, 16, 1, NULL, NULL),
	(1, 2, 3, NULL, 1, NULL, NULL, 0, 0, 192960, 3040, NULL, NULL, NULL, NULL),
	(1, 2, 4, 3, NULL, NULL, 2, 192000, 3000, 192960, 3040, 8, 2900, NULL, '[1,[2,16]]'),
	(1, 2, 5, 4, NULL, NULL, 3, 936, 39, 936, 39, 40, 1, 'orderd::Name', '[1,[2,3],[3,1]]'), (1, 2, 6, 4, NULL, NULL, NULL, 24, 1, 24, 1, NULL, NULL, NULL, NULL),
	(1, 2, 7, NULL, NULL, 1, NULL, 0, 0, 1920, 80, NULL, NULL, NULL, NULL), (1, 2, 8, 7, NULL, NULL, 3, 1920, 80, 1920, 80, NULL, 1, NULL, '[3,[3,1]]'),
	(1, 2, 9, NULL, 6, NULL, NULL, 0, 0, 0, 1, NULL, NULL, NULL, NULL), (1, 2, 10, 9, NULL, NULL, 6, 0, 1, 0, 1, 0, 1, NULL, NULL);
	UPDATE kept SET rest = scan = 2 AND id = 6"
fixture kept.db "$kept"
fixture kept-grown.db "$kept; INSERT INTO growth VALUES (1, 0, 'growing', 10000000000, 1800000000000, 1200000, 40000, 39000, 42000, 1e-9, 0.97, NULL, NULL, NULL, NULL),
	(1, 2, 'growing', 10000000000, 1800000000000, 1100000, 38000, -100, 40000, 0.004, 0.815, 600000000000, 2990, 23, NULL),
	(1, 3, 'growing', 10000000000, 1800000000000, 2000, 100, 90, 110, 0.004, 0.815, NULL, NULL, NULL, NULL)"
fixture kept-scan.db "$kept; UPDATE snapshot SET label = 'scan:1', time_ns = 100 WHERE label = '1.5s'"
fixture kept-memory.db "$scans INSERT INTO retention(process, scan, state) VALUES (1, 2, 'memory')"
fixture kept-hidden.db "$kept; UPDATE kept SET site = NULL WHERE site = 2; $(hidden 1 "--not-function insert" "id = 2")"
# many rows: nested deeper than is indented, functions that call each other, rows without a keeper, and a mapping below one
fixture kept-odd.db "INSERT INTO retention(process, scan, state, live_bytes, kept_bytes, unreachable_bytes) VALUES (1, 7, 'done', 1000, 1000, NULL);
	INSERT INTO keeper(process, scan, id, kind) VALUES (1, 7, 1, 'variable'), (1, 7, 2, 'frame'), (1, 7, 3, 'registers'), (1, 7, 4, 'mapping'),
	(1, 7, 5, 'other'), (1, 7, 6, 'control'), (1, 7, 7, 'thread_local'), (1, 7, 8, 'section');
	UPDATE keeper SET thread = 'x' WHERE id IN (3, 6); UPDATE keeper SET size = 8388608, observes = 99 WHERE id = 4;
	INSERT INTO keeper_set(process, scan, id, keeper) SELECT 1, 7, 1, id FROM keeper; INSERT INTO keeper_set(process, scan, id) VALUES (1, 7, 1), (1, 7, 2);
	INSERT INTO kept(process, scan, id, keeper, retained_bytes, retained_blocks, bytes, blocks) SELECT 1, 7, id, id, 100 - id, 1, 0, 0 FROM keeper;
	INSERT INTO kept(process, scan, id, set_id, retained_bytes, retained_blocks, bytes, blocks) VALUES (1, 7, 9, 1, 50, 1, 0, 0), (1, 7, 10, 2, 40, 1, 0, 0),
	(1, 7, 11, 3, 30, 1, 0, 0), (1, 7, 12, NULL, 20, 1, 0, 0);
	UPDATE keeper SET site = 1 WHERE id = 4;
	WITH RECURSIVE deep(id) AS (SELECT 20 UNION ALL SELECT id + 1 FROM deep WHERE id < 40)
	INSERT INTO kept(process, scan, id, parent, site, bytes, blocks, retained_bytes, retained_blocks, \"offset\", depth)
		SELECT 1, 7, id, iif(id = 20, 1, id - 1), 6 + id % 3, 1, 1, 41 - id, 41 - id, 0, 1 FROM deep;
	INSERT INTO kept(process, scan, id, parent, site, bytes, blocks, retained_bytes, retained_blocks) VALUES (1, 7, 41, 2, 1000, 5, 1, 5, 1), (1, 7, 42, 3, 3, 0, 0, 6, 1), (1, 7, 43, 42, 2, 6, 1, 6, 1);
	UPDATE kept SET mapped_bytes = 2097152 WHERE id = 42; UPDATE kept SET path = '[1,[null,3],[3,1,1],[2,1]]', path_cut = 1 WHERE id = 43"
# two processes, each with a scan of its own
fixture kept-two.db "$second $kept;
	INSERT INTO scan(process, scan, label, time_ns, state) VALUES (2, 1, 'end', 1900000000, 'done');
	INSERT INTO retention(process, scan, state, live_bytes, kept_bytes, unreachable_bytes) VALUES (2, 1, 'done', 7000, 7000, 0);
	INSERT INTO keeper(process, scan, id, kind, name) VALUES (2, 1, 1, 'variable', 'window');
	INSERT INTO kept(process, scan, id, parent, keeper, site, bytes, blocks, retained_bytes, retained_blocks, depth) VALUES (2, 1, 1, NULL, 1, NULL, 0, 0, 7000, 7, NULL),
	(2, 1, 2, 1, NULL, 9, 7000, 7, 7000, 7, 1)"
# types of variables: what is left of their templates
fixture kept-types.db "INSERT INTO retention(process, scan, state, live_bytes, kept_bytes, unreachable_bytes) VALUES (1, 7, 'done', 1000, 1000, 0);
	INSERT INTO keeper(process, scan, id, kind, name, type) VALUES
	(1, 7, 1, 'variable', 'g_sessions', 'std::unordered_map<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >, Session*, std::hash<int>, std::equal_to<int> >'),
	(1, 7, 2, 'variable', 'Bus::instance()::bus', 'Bus'), (1, 7, 3, 'variable', 'app::Map<int, std::less<int> >::all', 'app::Map<int, std::less<int> > *'),
	(1, 7, 4, 'variable', 'rows', 'std::vector<std::pair<int, std::unique_ptr<Row, std::default_delete<Row> > >, std::allocator<int> > const *'),
	(1, 7, 5, 'variable', 'wide', 'std::__cxx11::basic_string<wchar_t, std::char_traits<wchar_t>, std::allocator<wchar_t> >'),
	(1, 7, 6, 'variable', 'call', 'std::map<int, void (*)(int, char), std::less<int> >'), (1, 7, 7, 'variable', 'odd', '>>,<<(,<std::'),
	(1, 7, 8, 'variable', 'deep', replace(hex(zeroblob(30)), '00', 'std::list<') || 'int' || replace(hex(zeroblob(30)), '00', ', A>')),
	(1, 7, 9, 'variable', 'c', 'struct a_name_of_a_type_that_is_longer_than_forty_columns *');
	INSERT INTO kept(process, scan, id, keeper, retained_bytes, retained_blocks, bytes, blocks) SELECT 1, 7, id, id, 100 - id, 1, 0, 0 FROM keeper;
	INSERT INTO kept(process, scan, id, parent, site, retained_bytes, retained_blocks, bytes, blocks, type) VALUES
	(1, 7, 20, 1, 1, 50, 1, 50, 1, 'std::_Sp_counted_ptr_inplace<Widget, std::allocator<void>, (__gnu_cxx::_Lock_policy)2>'),
	(1, 7, 21, 20, 2, 40, 1, 40, 1, 'std::_Sp_counted_ptr<std::vector<int, std::allocator<int> >*, (__gnu_cxx::_Lock_policy)2>'),
	(1, 7, 22, 2, 1, 30, 1, 30, 1, 'PyUnicode_Type'), (1, 7, 23, 22, 2, 20, 1, 20, 1, 'PyFrozenSet_Type'), (1, 7, 24, 23, 3, 10, 1, 10, 1, 'PyOwn_Type')"
# a server in one variable: its two large parts are told, its third is not
fixture kept-server.db "INSERT INTO retention(process, scan, state, live_bytes, kept_bytes, unreachable_bytes) VALUES (1, 7, 'done', 1000000, 1000000, 0);
	INSERT INTO keeper(process, scan, id, kind, name) VALUES (1, 7, 1, 'variable', 'server'), (1, 7, 2, 'variable', 'other');
	INSERT INTO kept(process, scan, id, parent, keeper, site, bytes, blocks, retained_bytes, retained_blocks) VALUES
	(1, 7, 1, NULL, 1, NULL, 0, 0, 980000, 30), (1, 7, 2, 1, NULL, 1, 600000, 10, 600000, 10), (1, 7, 3, 1, NULL, 2, 300000, 10, 300000, 10),
	(1, 7, 4, 1, NULL, 3, 80000, 10, 80000, 10), (1, 7, 5, NULL, 2, NULL, 0, 0, 20000, 5), (1, 7, 6, 5, NULL, 8, 20000, 5, 20000, 5)"
