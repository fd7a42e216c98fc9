-- A small recording by hand, whose numbers add up. 4 s of "orderd", two threads, eight sites:
--   site  function            allocations   frees   bytes     temporary  end             peak (2.5 s)    1.5 s
--   1     Arena::Arena                  1       0   1048576           0  1048576/1       1048576/1       1048576/1
--   2     PriceCache::insert         5000    2000    320000           0   192000/3000     256000/4000     128000/2000
--   3     Parser::dup                 120       0      2880           0     2880/120        2400/100         960/40
--   4     (libz, no symbols)            2       1      2000           1     1000/1          1000/1             0/0
--   5     a hostile name                3       0       300           0      300/3           300/3             0/0
--   6     (recursion, cut)              1       0         0           0        0/1             0/1             0/0
--   7     OrderBook::snapshot          10      10   4194304           0        0/0       2097152/5             0/0
--   8     Logger::fmt              100000  100000   4800000       94000        0/0            48/1            48/1
--   total                          105137  102011  10368060       94001  1244756/3126    3405476/4112    1177584/2042
PRAGMA application_id = 0x4d53636f;
PRAGMA user_version = 2;
INSERT INTO meta VALUES ('complete', 1), ('processes', 1), ('symbols', 1), ('sum_peak_bytes', 3405476), ('sum_peak_time_ns', 2500000000);
INSERT INTO process(id, pid, ppid, exe, command, host, kernel, cwd, started_ns, offset_ns, duration_ns, exit_status, end_reason, machine, page_size,
  allocator, trace, complete, state, events, events_lost, sampled_bytes, stacks_cut, stacks_truncated, stacks_not_taken, attached, inferred_frees,
  unknown_frees, damaged_bytes, damaged_places, waited_ns, waited_max_ns, frames_without_symbol, allocations, frees, reallocations,
  failed_allocations, allocated_bytes, temporary_allocations, peak_bytes, peak_blocks, peak_time_ns, unfreed_bytes, unfreed_blocks)
 VALUES (1, 4117, 4000, '/home/ann/orderd/bin/orderd', '["/home/ann/orderd/bin/orderd","--config","prod.toml"]', 'web-3', '6.1.0',
  '/home/ann/orderd', 1795183331123456789, 0, 4000000000, 0, 'exit', 'x86_64', 4096, 'glibc 2.36', 'run.trace', 1, 'complete', 207150, 0, 0, 1, 0, 0, 0,
  0, 0, 0, 0, 8400000, 190000, 1, 105137, 102011, 4, 2, 10368060, 94001, 3405476, 4112, 2500000000, 1244756, 3126);
INSERT INTO snapshot(id, process, label, time_ns, live_bytes, live_blocks, rss_bytes, pss_bytes, private_bytes, swap_bytes) VALUES
 (1, 1, 'peak', 2500000000, 3405476, 4112, 9300000, NULL, NULL, 0),
 (2, 1, 'end', 4000000000, 1244756, 3126, 8900000, NULL, NULL, 0),
 (3, 1, '1.5s', 1500000000, 1177584, 2042, 6400000, NULL, NULL, 0);
INSERT INTO module(id, process, path, build_id, start, end, bias, loaded_ns, kind, symbols) VALUES
 (1, 1, '/home/ann/orderd/bin/orderd', '0123456789abcdef0123456789abcdef01234567', 4194304, 8388608, 0, 0, 'file', 'dwarf'),
 (2, 1, '/usr/lib/x86_64-linux-gnu/libc.so.6', 'c0ffee', 140000000000000, 140000002000000, 140000000000000, 0, 'file', 'dwarf'),
 (3, 1, '/usr/lib/x86_64-linux-gnu/libstdc++.so.6', 'beef', 141000000000000, 141000002000000, 141000000000000, 0, 'file', 'elf'),
 (4, 1, '/usr/lib/x86_64-linux-gnu/libz.so.1', NULL, 142000000000000, 142000002000000, 142000000000000, 0, 'file', 'none');
INSERT INTO frame(id, process, module, address, function, file, line, inlined, runtime, note) VALUES
 (1, 1, 1, 4198400, '_start', NULL, NULL, 0, 1, NULL),
 (2, 1, 2, 159050, '__libc_start_main', './csu/../csu/libc-start.c', 381, 0, 1, NULL),
 (3, 1, 1, 4202496, 'main', '/home/ann/orderd/src/main.cpp', 31, 0, 0, NULL),
 (4, 1, 2, 166000, 'start_thread', './nptl/pthread_create.c', 442, 0, 1, NULL),
 (5, 1, 1, 4206592, 'orderd::io::Worker::run()', '/home/ann/orderd/src/io/worker.cpp', 48, 0, 0, NULL),
 (6, 1, 1, 4210688, 'orderd::Arena::Arena(unsigned long)', '/home/ann/orderd/src/arena.cpp', 19, 0, 0, NULL),
 (7, 1, 3, 704000, 'operator new(unsigned long)', NULL, NULL, 0, 1, NULL),
 (8, 1, 1, 4214784, 'orderd::Feed::tick(orderd::Frame const&)', '/home/ann/orderd/src/feed.cpp', 130, 0, 0, NULL),
 (9, 1, 1, 4218880, 'orderd::PriceCache::insert(orderd::Symbol const&, orderd::Price)', '/home/ann/orderd/src/cache.cpp', 77, 0, 0, NULL),
 (10, 1, 1, 4218888, 'std::_Rb_tree<orderd::Symbol, std::pair<orderd::Symbol const, orderd::Price>, std::_Select1st<std::pair<orderd::Symbol const, orderd::Price> >, std::less<orderd::Symbol> >::_M_create_node(orderd::Symbol const&)', '/usr/include/c++/12/bits/stl_tree.h', 610, 1, 1, NULL),
 (11, 1, 1, 4222976, 'orderd::Session::onFrame(orderd::Frame const&)', '/home/ann/orderd/src/session.cpp', 91, 0, 0, NULL),
 (12, 1, 1, 4227072, 'orderd::Parser::dup(char const*)', '/home/ann/orderd/src/parser.cpp', 218, 0, 0, NULL),
 (13, 1, 2, 570000, 'strdup', './string/strdup.c', 42, 0, 1, NULL),
 (14, 1, 4, 43981, NULL, NULL, NULL, 0, 0, NULL),
 (15, 1, 1, 4231168, 'evil|<img src=x>`;, "q"' || char(10) || char(27) || '[31m' || char(8238) || 'x = @all', '/tmp/a|b`c;d,"e' || char(10) || '.c', 7, 0, 0, NULL),
 (16, 1, NULL, NULL, NULL, NULL, NULL, 0, 0, 'cut'),
 (17, 1, 1, 4235264, 'walk', '/home/ann/orderd/src/walk.c', 12, 0, 0, NULL),
 (18, 1, 1, 4239360, 'std::vector<orderd::Level, std::allocator<orderd::Level> > orderd::OrderBook::snapshot<orderd::Level, 16>(unsigned long) const', '/home/ann/orderd/src/book.cpp', 344, 0, 0, NULL),
 (19, 1, 1, 4243456, 'orderd::Logger::fmt[abi:cxx11](char const*, ...)', '/home/ann/orderd/src/log.cpp', 61, 0, 0, NULL);
INSERT INTO stack(id, process, parent, frame, depth) VALUES
 (1, 1, NULL, 1, 0), (2, 1, 1, 2, 1), (3, 1, 2, 3, 2), (4, 1, 3, 6, 3), (5, 1, 4, 7, 4),           -- 5: Arena
 (6, 1, NULL, 4, 0), (7, 1, 6, 5, 1), (8, 1, 7, 8, 2), (9, 1, 8, 9, 3), (10, 1, 9, 10, 4), (11, 1, 10, 7, 5), -- 11: PriceCache
 (12, 1, 3, 11, 3), (13, 1, 12, 12, 4), (14, 1, 13, 13, 5),                                        -- 14: Parser
 (15, 1, 3, 14, 3),                                                                                 -- 15: libz
 (16, 1, 3, 15, 3),                                                                                 -- 16: hostile
 (17, 1, 3, 17, 3), (18, 1, 17, 16, 4), (19, 1, 18, 17, 5),                                        -- 19: walk, cut
 (20, 1, 8, 18, 3), (21, 1, 3, 18, 3),                                                              -- 21: OrderBook
 (22, 1, 7, 19, 2);                                                                                 -- 22: Logger
INSERT INTO site(id, process, stack, user_frame, allocations, frees, reallocations, failed_allocations, allocated_bytes, temporary, min_size, max_size,
  max_live_bytes, max_live_blocks, first_ns, last_ns, lifetime_ns, lifetime_allocations, marked) VALUES
 (1, 1, 5, 4, 1, 0, 0, 0, 1048576, 0, 1048576, 1048576, 1048576, 1, 100000, 100000, 0, 0, 0),
 (2, 1, 11, 9, 5000, 2000, 0, 0, 320000, 0, 64, 64, 257024, 4016, 600000000, 3900000000, 1000000000000, 40000000, 0),
 (3, 1, 14, 13, 120, 0, 0, 0, 2880, 0, 24, 24, 2880, 120, 700000000, 3950000000, 0, 0, 0),
 (4, 1, 15, 15, 2, 1, 0, 0, 2000, 1, 1000, 1000, 1000, 1, 1600000000, 1700000000, 50000, 0, 0),
 (5, 1, 16, 16, 3, 0, 0, 0, 300, 0, 100, 100, 300, 3, 1600000000, 1600000000, 0, 0, 0),
 (6, 1, 19, 19, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1800000000, 1800000000, 0, 0, 0),
 (7, 1, 21, 21, 10, 10, 4, 2, 4194304, 0, 419430, 419431, 2097152, 5, 2400000000, 2900000000, 3000000000, 60000, 0),
 (8, 1, 22, 22, 100000, 100000, 0, 0, 4800000, 94000, 48, 48, 48, 1, 500000000, 3990000000, 20000000000, 6000, 0);
INSERT INTO site_stat(snapshot, site, live_bytes, live_blocks) VALUES
 (1, 1, 1048576, 1), (1, 2, 256000, 4000), (1, 3, 2400, 100), (1, 4, 1000, 1), (1, 5, 300, 3), (1, 6, 0, 1), (1, 7, 2097152, 5), (1, 8, 48, 1),
 (2, 1, 1048576, 1), (2, 2, 192000, 3000), (2, 3, 2880, 120), (2, 4, 1000, 1), (2, 5, 300, 3), (2, 6, 0, 1),
 (3, 1, 1048576, 1), (3, 2, 128000, 2000), (3, 3, 960, 40), (3, 8, 48, 1);
INSERT INTO thread VALUES
 (1, 1, 4117, 'orderd', NULL, NULL, 0, 4000000000, 1137, 511, 5312060, 1, 3205428, 986, 1084756, 626, 0, 400000),
 (2, 1, 4118, 'io-1', NULL, NULL, 400000000, 3990000000, 104000, 101500, 5056000, 94000, 200048, 3126, 160000, 2500, 0, 8000000);
INSERT INTO site_thread VALUES
 (1, 1, 1, 1048576, 1048576, 1), (2, 1, 1000, 64000, 32000, 500), (2, 2, 4000, 256000, 160000, 2500), (3, 1, 120, 2880, 2880, 120),
 (4, 1, 2, 2000, 1000, 1), (5, 1, 3, 300, 300, 3), (6, 1, 1, 0, 0, 1), (7, 1, 10, 4194304, 0, 0), (8, 2, 100000, 4800000, 0, 0);
INSERT INTO size_class VALUES
 (1, 0, 0, 1, 0, 0, 0, 1, 0, 1), (1, 16, 31, 120, 2880, 0, 2400, 100, 2880, 120), (1, 32, 63, 100000, 4800000, 94000, 48, 1, 0, 0),
 (1, 64, 127, 5003, 320300, 0, 256300, 4003, 192300, 3003), (1, 512, 1023, 2, 2000, 1, 1000, 1, 1000, 1),
 (1, 262144, 524287, 10, 4194304, 0, 2097152, 5, 0, 0), (1, 1048576, 2097151, 1, 1048576, 0, 1048576, 1, 1048576, 1);
INSERT INTO site_size VALUES
 (1, 1048576, 2097151, 1, 1048576, 0, 1048576, 1, 1048576, 1), (2, 64, 127, 5000, 320000, 0, 256000, 4000, 192000, 3000),
 (3, 16, 31, 120, 2880, 0, 2400, 100, 2880, 120), (4, 512, 1023, 2, 2000, 1, 1000, 1, 1000, 1), (5, 64, 127, 3, 300, 0, 300, 3, 300, 3),
 (6, 0, 0, 1, 0, 0, 0, 1, 0, 1), (7, 262144, 524287, 10, 4194304, 0, 2097152, 5, 0, 0), (8, 32, 63, 100000, 4800000, 94000, 48, 1, 0, 0);
INSERT INTO site_lifetime VALUES
 (2, 'ns', 100000000, 999999999, 1500), (2, 'ns', 1000000000, 9999999999, 500), (2, 'allocations', 10000, 99999, 2000),
 (4, 'ns', 0, 999999, 1), (4, 'allocations', 0, 0, 1), (7, 'ns', 100000000, 999999999, 10), (7, 'allocations', 1000, 9999, 10),
 (8, 'ns', 0, 999999, 99000), (8, 'ns', 1000000, 9999999, 1000), (8, 'allocations', 0, 0, 94000), (8, 'allocations', 1, 9, 6000);
INSERT INTO timeline(process, time_ns, live_min, live_max, live_last, blocks_last, allocations, frees, allocated_bytes) VALUES
 (1, 0, 0, 1048576, 1048576, 1, 1, 0, 1048576), (1, 500000000, 1048576, 1113624, 1112624, 1001, 20000, 19000, 1000000),
 (1, 1000000000, 1112624, 1178000, 1177584, 2042, 20041, 19000, 1000000), (1, 1500000000, 1177584, 1246000, 1244000, 3042, 20000, 19000, 1000000),
 (1, 2000000000, 1244000, 3405476, 3405476, 4112, 21070, 20000, 4000000), (1, 2500000000, 1300000, 3405476, 1310000, 3612, 10000, 10500, 1000000),
 (1, 3000000000, 1270000, 1310000, 1270000, 3212, 10000, 10400, 1000000), (1, 3500000000, 1244000, 1270000, 1244756, 3126, 4025, 4111, 319484);
INSERT INTO sample(process, time_ns, rss_bytes) VALUES
 (1, 0, 3000000), (1, 500000000, 4200000), (1, 1000000000, 5300000), (1, 1500000000, 6400000), (1, 2000000000, 6600000), (1, 2500000000, 9300000),
 (1, 2600000000, 9412608), (1, 3000000000, 9200000), (1, 3500000000, 9000000), (1, 4000000000, 8900000);
INSERT INTO mark VALUES (1, 1, 'warm', 600000000, 30000, 0), (1, 2, 'reload', 2400000000, 120000, 0);
UPDATE process SET at_sum_peak_bytes = peak_bytes;
