-- Two processes, three points in the first and two in the second, eight sites. Totals equal the sums over sites.
PRAGMA application_id = 0x4d53636f;
PRAGMA user_version = 2;
INSERT INTO meta VALUES('complete', 1), ('processes', 2), ('symbols', 1);
INSERT INTO process(id, pid, exe, complete, state, allocations, frees, reallocations, failed_allocations, allocated_bytes,
	temporary_allocations, peak_bytes, peak_blocks, unfreed_bytes, unfreed_blocks) VALUES
	(1, 4117, '/usr/bin/orderd', 1, 'complete', 1000, 950, 50, 3, 100000, 440, 70000, 80, 50000, 50),
	(2, 4202, '/opt/quote/bin/quoted', 1, 'complete', 300, 260, 0, 0, 30000, 200, 12000, 50, 9000, 40);
INSERT INTO snapshot(id, process, label, time_ns, live_bytes, live_blocks, rss_bytes) VALUES
	(1, 1, 'peak', 2000, 70000, 80, 900000), (2, 1, 'end', 3000, 50000, 50, 800000), (3, 1, 'mark:warm', 1000, 4000, 8, 100000),
	(4, 2, 'peak', 2500, 12000, 50, 90000), (5, 2, 'end', 3000, 9000, 40, 80000);
INSERT INTO module(id, process, path, kind) VALUES
	(1, 1, '/usr/bin/orderd', 'file'), (2, 1, '/lib/x86_64-linux-gnu/libc.so.6', 'file'),
	(3, 1, '/usr/lib/libfontconfig.so.1', 'file'), (4, 2, '/opt/quote/bin/quoted', 'file');
INSERT INTO frame(id, process, module, address, function, file, line, inlined, runtime, note) VALUES
	(1, 1, 2, 100, '_start', NULL, NULL, 0, 1, NULL),
	(2, 1, 1, 200, 'main', 'src/main.cpp', 10, 0, 0, NULL),
	(3, 1, 1, 300, 'orderd::Parser::dup(char const*)', 'src/parser.cpp', 218, 0, 0, NULL),
	(4, 1, 2, 400, 'strdup', 'string/strdup.c', 42, 0, 1, NULL),
	(5, 1, 3, 500, 'FcConfigParse', NULL, NULL, 0, 0, NULL),
	(6, 1, 2, 600, 'init_cacheinfo', NULL, NULL, 0, 1, NULL),
	(7, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'not taken'),
	(8, 2, 4, 700, 'main', 'quote.c', 5, 0, 0, NULL),
	(9, 2, 4, 800, 'load', 'quote.c', 77, 0, 0, NULL),
	(10, 1, 1, 310, 'orderd::Logger::fmt(int)', 'src/log.cpp', 61, 0, 0, NULL);
-- 1 _start, 2 main, 3 Parser, 4 strdup under it, 5 FcConfigParse under main, 6 a runtime frame under _start, 7 no stack, 10 Logger
INSERT INTO stack(id, process, parent, frame, depth) VALUES
	(1, 1, NULL, 1, 0), (2, 1, 1, 2, 1), (3, 1, 2, 3, 2), (4, 1, 3, 4, 3), (5, 1, 2, 5, 2), (6, 1, 1, 6, 1), (7, 1, NULL, 7, 0),
	(8, 2, NULL, 8, 0), (9, 2, 8, 9, 1), (10, 1, 2, 10, 2);
INSERT INTO thread(id, process, tid, name, allocations, frees, allocated_bytes, live_bytes, live_blocks) VALUES
	(1, 1, 4117, 'orderd', 700, 660, 89000, 49000, 40), (2, 1, 4118, 'io-1', 300, 290, 11000, 1000, 10),
	(3, 2, 4202, 'quoted', 300, 260, 30000, 9000, 40);
INSERT INTO site(id, process, stack, user_frame, allocations, frees, reallocations, failed_allocations, allocated_bytes, temporary) VALUES
	(1, 1, 4, 3, 200, 190, 20, 1, 60000, 5),
	(2, 1, 5, 5, 100, 90, 30, 0, 20000, 0),
	(3, 1, 3, 3, 250, 240, 0, 0, 8000, 5),
	(4, 1, 6, NULL, 10, 0, 0, 0, 1000, 0),
	(5, 1, 7, NULL, 40, 40, 0, 0, 1000, 40),
	(6, 1, 10, 10, 400, 390, 0, 2, 10000, 390),
	(7, 2, 9, 9, 100, 60, 0, 0, 20000, 0),
	(8, 2, 8, 8, 200, 200, 0, 0, 10000, 200);
INSERT INTO site_stat(snapshot, site, live_bytes, live_blocks) VALUES
	(1, 1, 30000, 10), (1, 2, 30000, 20), (1, 3, 8000, 30), (1, 4, 1000, 10), (1, 6, 1000, 10),
	(2, 1, 40000, 10), (2, 2, 5000, 10), (2, 3, 3000, 10), (2, 4, 1000, 10), (2, 6, 1000, 10),
	(3, 3, 4000, 8),
	(4, 7, 9000, 40), (4, 8, 3000, 10),
	(5, 7, 9000, 40);
INSERT INTO site_thread(site, thread, allocations, allocated_bytes, live_bytes, live_blocks) VALUES
	(1, 1, 200, 60000, 40000, 10), (2, 1, 100, 20000, 5000, 10), (3, 1, 200, 5000, 2000, 5), (3, 2, 50, 3000, 1000, 5),
	(4, 1, 10, 1000, 1000, 10), (5, 2, 40, 1000, 0, 0), (6, 1, 190, 3000, 1000, 5), (6, 2, 210, 7000, 0, 5),
	(7, 3, 100, 20000, 9000, 40), (8, 3, 200, 10000, 0, 0);
-- The first process was recorded with --mmap, --usable-size and --free-stacks. Stack 11 only freed blocks, of site 1.
UPDATE site SET maps = id, mapped_bytes = 1000 * id WHERE process = 1;
UPDATE site_stat SET usable_bytes = live_bytes + 8 * live_blocks, mapped_bytes = 100 * site WHERE snapshot <= 3;
INSERT INTO site_stat(snapshot, site, live_bytes, live_blocks, usable_bytes, mapped_bytes) VALUES (3, 5, 0, 0, 0, 700);
UPDATE process SET maps = 21, mapped_bytes = 21000 WHERE id = 1;
UPDATE snapshot SET usable_bytes = live_bytes + 8 * live_blocks, mapped_bytes = CASE id WHEN 3 THEN 1000 ELSE 1600 END WHERE process = 1;
INSERT INTO stack VALUES (11, 1, 2, 6, 2);
INSERT INTO free_site VALUES (1, 1, 11, 190, 20000), (1, 1, NULL, 1, 100), (1, 2, 4, 90, 9000), (1, 6, 10, 390, 9000);
-- Each site with two sizes and two lifetimes.
INSERT INTO site_size SELECT id, 16, 31, allocations / 2, 20 * (allocations / 2), temporary, 0, 0, 0, 0 FROM site;
INSERT INTO site_size SELECT id, 64, 127, allocations - allocations / 2, allocated_bytes - 20 * (allocations / 2), 0, 0, 0, 0, 0 FROM site;
INSERT INTO site_lifetime SELECT id, 'ns', 0, 999999, frees FROM site UNION ALL SELECT id, 'allocations', 1, 9, frees FROM site;
-- Times, ages, verdicts and known one-time allocations. One block of site 7 is large.
UPDATE process SET duration_ns = 100000000;
INSERT INTO mark(process, seq, name, time_ns) VALUES (1, 1, 'warm', 4000000);
UPDATE site SET first_ns = 1000000 * id, last_ns = 10000000 * id, lifetime_ns = 1000000 * id * frees, min_size = 20, max_size = iif(id = 7, 5000, 100);
UPDATE site_stat SET oldest_ns = 5000000 * site WHERE snapshot IN (2, 5);
UPDATE site_stat SET oldest_ns = 50000000 WHERE snapshot = 3 AND live_blocks > 0;
UPDATE site SET verdict = CASE id WHEN 1 THEN 'unreachable' WHEN 2 THEN 'reachable' WHEN 3 THEN 'growing' WHEN 7 THEN 'unknown' END;
UPDATE site SET one_time = CASE id WHEN 4 THEN 'C start-up' WHEN 6 THEN 'locale' END;
UPDATE site_size SET low = 4096, high = 8191 WHERE site = 7 AND low = 64;
