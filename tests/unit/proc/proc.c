/* SPDX-License-Identifier: MIT
 * Texts of /proc: figures, hostile names, kinds of regions; bars of a sparkline.
 */
#include "libcommon/proc/proc.h"
#include "libcommon/proc/proc_sample.h"
#include "libcommon/stats/sparkline.h"

#include <inttypes.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int failures;

static void check(const char *what, uint64_t got, uint64_t want)
{
	if (got == want)
		return;
	printf("%s: %" PRIu64 " instead of %" PRIu64 "\n", what, got, want);
	failures++;
}

static void check_text(const char *what, const char *got, const char *want)
{
	if (strcmp(got, want) == 0)
		return;
	printf("%s: '%s' instead of '%s'\n", what, got, want);
	failures++;
}

static void test_statm(void)
{
	struct ms_proc_statm m;
	check("statm", ms_proc_parse_statm("700 300 100 20 0 90 0\n", 4096, &m), true);
	check("statm vsz", m.vsz, 700 * 4096);
	check("statm rss", m.rss, 300 * 4096);
	check("statm shared", m.shared, 100 * 4096);
	check("zombie", ms_proc_parse_statm("0 0 0 0 0 0 0\n", 4096, &m), false);
	check("statm short", ms_proc_parse_statm("700 300", 4096, &m), false);
	check("statm words", ms_proc_parse_statm("7 x 3", 4096, &m), false);
	check("statm empty", ms_proc_parse_statm("", 4096, &m), false);
	check("statm huge", ms_proc_parse_statm("18446744073709551615 1 1", 4096, &m), true);
	check("statm huge vsz", m.vsz, UINT64_MAX);
}

#define STAT_TAIL                                                                                  \
	" R 41 42 42 34816 42 4194304 100 0 7 0 11 22 0 0 20 -5 3 0 1234567 5554176 1073 "         \
	"18446744073709551615 1 1 0 0 0 0 65536 4 65538 0 0 0 17 1 0 0 0 0 0 1 2 3 4 5 6 7 9\n"

static void test_stat(void)
{
	struct ms_proc_stat s;
	check("stat", ms_proc_parse_stat("42 (a) S 1 (b)" STAT_TAIL, &s), true);
	check_text("stat name", s.name, "a) S 1 (b");
	check("stat state", (uint64_t)s.state, 'R');
	check("stat ppid", s.field[MS_STAT_PPID], 41);
	check("stat minflt", s.field[MS_STAT_MINFLT], 100);
	check("stat majflt", s.field[MS_STAT_MAJFLT], 7);
	check("stat utime", s.field[MS_STAT_UTIME], 11);
	check("stat stime", s.field[MS_STAT_STIME], 22);
	check("stat nice", s.field[19], -(uint64_t)5);
	check("stat threads", s.field[MS_STAT_THREADS], 3);
	check("stat start", s.field[MS_STAT_START], 1234567);
	check("stat vsz", s.field[MS_STAT_VSZ], 5554176);
	check("stat rss", s.field[MS_STAT_RSS], 1073);
	check("stat exit", s.field[MS_STAT_EXIT], 9);
	check("stat fields", s.fields, MS_STAT_FIELDS);
	check("stat no name", ms_proc_parse_stat("42 a R 1", &s), false);
	check("stat short", ms_proc_parse_stat("42 (a) R 1 2 3", &s), false);
	check("stat turned", ms_proc_parse_stat(")(" STAT_TAIL, &s), false);
	check("stat nothing behind", ms_proc_parse_stat("42 (a)", &s), false);
	check("stat no state", ms_proc_parse_stat("42 (a) ", &s), false);
}

static void test_status(void)
{
	static const char text[] = "Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t1\nVmHWM:\t  77 kB\n";
	check("status", ms_proc_status_number(text, "\nSeccomp:", 9), 2);
	check("status blanks", ms_proc_status_number(text, "\nVmHWM:", 9), 77);
	check("status none", ms_proc_status_number(text, "\nUid:", 9), 9);
	check("status no number", ms_proc_status_number("\nName:\tx", "\nName:", 9), 9);
	check("status mask", ms_proc_status_mask("\nSigBlk:\t00000000fffe0a01\n", "\nSigBlk:"),
	      0xfffe0a01);
	check("status no mask", ms_proc_status_mask(text, "\nSigBlk:"), 0);
	check("status inner", ms_proc_status_inner("Pid:\t7\nNSpid:\t417\t33\t1\nNSpgid:\t9\n"), 1);
	check("status same", ms_proc_status_inner("Pid:\t7\nNSpid:\t7\n"), 7);
	check("status no inner", ms_proc_status_inner(text), 0);
}

static void test_rollup(void)
{
	struct ms_proc_memory m;
	static const char text[] =
		"55a0-7ffd ---p 00000000 00:00 0 [rollup]\nRss: 100 kB\nPss: 50 kB\n"
		"Pss_Anon: 7 kB\nShared_Clean: 1 kB\nShared_Dirty: 2 kB\nPrivate_Clean: 3 kB\n"
		"Private_Dirty: 4 kB\nAnonymous: 5 kB\nSwap: 6 kB\nSwapPss: 8 kB\n";
	check("rollup", ms_proc_parse_rollup(text, &m), true);
	const uint64_t got[] = {m.rss,           m.pss,           m.shared_clean, m.shared_dirty,
				m.private_clean, m.private_dirty, m.anonymous,    m.swap};
	const uint64_t want[] = {100, 50, 1, 2, 3, 4, 5, 6};
	for (size_t i = 0; i < 8; i++)
		check("rollup figure", got[i], want[i] * 1024);
	check("rollup empty", ms_proc_parse_rollup("", &m), false);
}

static void test_kinds(void)
{
	static const struct {
		const char *line;
		enum ms_region_kind kind;
		bool heap;
	} t[] = {
		{"1000-2000 rw-p 00000000 00:00 0                          [heap]", MS_REGION_HEAP,
		 true},
		{"1000-2000 rw-p 00000000 00:00 0 [stack]", MS_REGION_STACK, false},
		{"1000-2000 rw-p 00000000 00:00 0 [stack:77]", MS_REGION_STACK, false},
		{"1000-2000 r-xp 00000000 00:00 0 [vdso]", MS_REGION_VDSO, false},
		{"1000-2000 r--p 00000000 00:00 0 [vvar]", MS_REGION_VVAR, false},
		{"1000-2000 r--p 00000000 00:00 0 [vvar_vclock]", MS_REGION_VVAR, false},
		{"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]",
		 MS_REGION_VSYSCALL, false},
		{"1000-2000 r-xp 00000000 00:00 0 [uprobes]", MS_REGION_UNKNOWN, false},
		{"1000-2000 rw-p 00000000 00:00 0 [anon:arena]", MS_REGION_ANONYMOUS, true},
		{"1000-2000 rw-s 00000000 00:00 0 [anon_shmem:x]", MS_REGION_ANONYMOUS, false},
		{"1000-2000 rw-p 00000000 00:00 0", MS_REGION_ANONYMOUS, true},
		{"1000-2000 rw-p 00000000 00:00 0 ", MS_REGION_ANONYMOUS, true},
		{"1000-2000 rwxp 00000000 00:00 0 ", MS_REGION_ANONYMOUS, true},
		{"1000-2000 rw-p 00000000 fe:01 77 ", MS_REGION_UNKNOWN, false},
		{"1000-2000 r-xp 00001000 fe:01 77 /usr/bin/app", MS_REGION_CODE, false},
		{"1000-2000 r--p 00000000 fe:01 77 /usr/bin/app", MS_REGION_MAPPED_FILE, false},
		{"1000-2000 r-xp 00000000 fe:01 77 /lib/libc.so.6", MS_REGION_SHARED_LIB, false},
		{"1000-2000 rw-p 00000000 fe:01 77 /lib/libc.so", MS_REGION_SHARED_LIB, false},
		{"1000-2000 r--p 00000000 fe:01 77 /lib/libc.so.6 (deleted)", MS_REGION_SHARED_LIB,
		 false},
		{"1000-2000 r--p 00000000 fe:01 77 /a.so/data", MS_REGION_MAPPED_FILE, false},
		{"1000-2000 r--p 00000000 fe:01 77 /a.sound", MS_REGION_MAPPED_FILE, false},
		{"1000-2000 rw-s 00000000 00:01 77 /memfd:x (deleted)", MS_REGION_MAPPED_FILE,
		 false},
		{"1000-2000 rw-s 00000000 00:0f 77 anon_inode:[perf_event]", MS_REGION_MAPPED_FILE,
		 false},
		{"1000-2000 r--p 00000000 fe:01 77 /a file\\012with b", MS_REGION_MAPPED_FILE,
		 false},
	};
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		struct ms_proc_map m;
		if (!ms_proc_parse_map(t[i].line, &m)) {
			printf("not taken: %s\n", t[i].line);
			failures++;
			continue;
		}
		check_text(t[i].line, ms_region_word(ms_region_kind_of(&m)),
			   ms_region_word(t[i].kind));
		check(t[i].line, ms_region_is_heap(t[i].kind, m.perms), t[i].heap);
	}
}

static void test_bad_maps(void)
{
	static const char *const lines[] = {"",
					    "1000",
					    "1000-",
					    "2000-1000 rw-p 0 00:00 0",
					    "1000-2000 rw",
					    "1000-2000 rw-p",
					    "1000-2000 rw-p x 00:00 0",
					    "1000-2000 rw-p 0 0000 0",
					    "1000-2000 rw-p 0 00:00 ",
					    "g000-2000 rw-p 0 00:00 0"};
	struct ms_proc_map m;
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		check(lines[i], ms_proc_parse_map(lines[i], &m), false);
}

static void test_regions(void)
{
	char text[] = "Rss: 99 kB\n1000-3000 rw-p 00000000 00:00 0 [heap]\nSize: 8 kB\n"
		      "Rss: 8 kB\nPss: 8 kB\nPss: none\n"
		      "Private_Dirty: 8 kB\nVmFlags: rd wr\n"
		      "4000-5000 rw-p 00000000 00:00 0 \nRss: 4 kB\nPss: 2 kB\nShared_Dirty: 4 kB\n"
		      "7000-8000 rw-p 00000000 00:00 0 [stack]\nRss: 4 kB\nPss: 4 kB\n"
		      "9000-a000 r-xp 00002000 fe:01 9 /bin/x y\nRss: 0 kB\nSwap: 4 kB\n"
		      "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n";
	struct ms_regions r = {0};
	struct ms_proc_memory all;
	uint64_t size;
	ms_regions_parse(&r, text);
	ms_regions_sum(&r, &all, &size);
	check("regions", r.n, 5);
	check("regions rss", all.rss, 16384);
	check("regions pss", all.pss, 14336);
	check("regions swap", all.swap, 4096);
	check("regions size", size, 5 * 4096);
	check("regions heap", ms_regions_heap(&r), 12288);
	check("region offset", r.n > 3 ? r.v[3].map.offset : 0, 0x2000);
	check("region inode", r.n > 3 ? r.v[3].map.inode : 0, 9);
	check_text("region path", r.n > 3 ? r.v[3].map.path : "", "/bin/x y");
	ms_regions_free(&r);
}

/* A mapping that grew while smaps was read stands there twice. */
static void test_grown(void)
{
	char text[] = "1000-2000 rw-p 00000000 00:00 0 \nRss: 4 kB\n"
		      "4000-5000 rw-p 00000000 00:00 0 \nRss: 4 kB\n"
		      "4000-9000 rw-p 00000000 00:00 0 \nRss: 16 kB\n"
		      "9000-a000 r--p 00000000 00:00 0 \nRss: 4 kB\n";
	struct ms_regions r = {0};
	struct ms_proc_memory all;
	ms_regions_parse(&r, text);
	ms_regions_sum(&r, &all, NULL);
	check("grown regions", r.n, 3);
	check("grown rss", all.rss, 24 * 1024);
	ms_regions_free(&r);
}

/* Checks what the kernel says of this process. */
static void test_self(void)
{
	struct ms_proc p;
	struct ms_regions r = {0};
	struct ms_proc_statm m;
	struct ms_proc_memory roll;
	check("open", (uint64_t)ms_proc_open(&p, NULL, getpid(), NULL), 0);
	check("alive", ms_proc_alive(&p), true);
	check("statm of self", ms_proc_read_statm(&p, &m), true);
	check("rollup of self", ms_proc_read_rollup(&p, &roll), true);
	check("regions of self", (uint64_t)ms_regions_read(&p, true, &r), 0);
	check("some", r.n > 10, true);
	ms_regions_free(&r);
	ms_proc_close(&p);
	struct ms_proc none;
	check("none", ms_proc_open(&none, NULL, 0x3fffffff, NULL) == -1, true);
	ms_proc_close(&none);
}

/* ---- samples of a process made up ---- */

static void put(const char *name, const char *text)
{
	char path[64];
	snprintf(path, sizeof path, "made/77/%s", name);
	FILE *f = fopen(path, "w"); /* the same file, for who has it open */
	if (!f || fputs(text, f) < 0 || fclose(f))
		abort();
}

static struct ms_proc_sampler sampler;

static void sample(const char *what, uint64_t ns, bool detail, bool exact, uint64_t rss_kb,
		   uint64_t heap_kb)
{
	struct ms_proc_sample s;
	check(what, ms_proc_sample_take(&sampler, ns, detail, &s), true);
	check(what, s.exact, exact);
	check(what, s.rss, rss_kb * 1024);
	check(what, s.heap, heap_kb * 1024);
	check(what, s.ns, ns);
}

/* Between two looks at all pages statm's figures are moved by what they were off, and are never
 * below 0. */
static void test_samples(void)
{
	const uint64_t second = 1000000000;
	struct ms_proc_sample s;
	mkdir("made", 0700);
	mkdir("made/77", 0700);
	put("stat", "77 (x)" STAT_TAIL);
	put("status", "Name:\tx\nVmPeak:\t 9 kB\nVmHWM:\t 1300 kB\n");
	put("statm", "700 300 100 1 0 9 0\n");
	put("smaps", "1000-9000 rw-p 00000000 00:00 0 [heap]\nRss: 400 kB\nPss: 300 kB\n"
		     "Private_Dirty: 250 kB\nPrivate_Clean: 50 kB\nShared_Clean: 90 kB\n"
		     "Shared_Dirty: 10 kB\nSwap: 7 kB\n"
		     "9000-a000 r--p 00000000 fe:01 5 /x\nRss: 200 kB\n");
	check("open", (uint64_t)ms_proc_open(&sampler.proc, "made", 77, NULL), 0);
	sampler.proc.page_bytes = 4096;
	check("the first", ms_proc_sample_take(&sampler, 0, true, &s), true);
	check("exact", s.exact && s.counted, true);
	check("rss", s.rss, 600 * 1024);
	check("heap", s.heap, 400 * 1024);
	check("vsz", s.vsz, 700 * 4096);
	check("pss", s.pss, 300 * 1024);
	check("private", s.private, 300 * 1024);
	check("shared", s.shared, 100 * 1024);
	check("swap", s.swap, 7 * 1024);
	check("peak", s.peak_rss, 1300 * 1024);
	check("faults", s.minflt * 100 + s.majflt, 10007);
	check("threads", s.threads, 3);
	put("statm", "700 310 100 1 0 9 0\n");
	sample("40 kB more", 1, false, false, 640, 440);
	put("statm", "700 140 90 1 0 9 0\n");
	sample("less than it was off", 2, false, false, 0, 0);
	put("statm", "700 160 170 1 0 9 0\n");
	sample("more shared than there is", 3, false, false, 40, 0);
	put("smaps", "1000-9000 rw-p 00000000 00:00 0 [heap]\nRss: 1000 kB\n");
	sample("a second later", second, false, true, 1000, 1000);
	put("statm", "700 170 150 1 0 9 0\n");
	sample("more than statm has", second + 1, false, false, 1040, 1080);
	put("smaps", "");
	sample("it has ended, nearly", second + 2, true, false, 1040, 1080);
	put("statm", "0 0 0 0 0 0 0\n");
	check("it has ended", ms_proc_sample_take(&sampler, second + 3, true, &s), false);
	ms_regions_free(&sampler.regions);
	ms_proc_close(&sampler.proc);
}

/* The longest list that the kernel has, and one that just fits. */
static void test_groups(void)
{
	static const size_t counts[] = {65536, 1, 650};
	char text[4096];
	int folder = open("made/77", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		char *all = NULL;
		size_t n;
		FILE *f = open_memstream(&all, &n);
		fputs("Name:\ta\nFDSize:\t64\nGroups:\t", f);
		for (size_t k = 0; k < counts[i]; k++)
			fprintf(f, "%zu ", 10000 + k % 80000);
		fputs("\nNSpid:\t77\t5\nVmHWM:\t  321 kB\nThreads:\t3\nSeccomp:\t2\n", f);
		fclose(f);
		put("status", all);
		free(all);
		check("read", ms_proc_text_at(folder, "status", text, sizeof text), true);
		check("the number of its own", ms_proc_status_inner(text), 5);
		check("threads", ms_proc_status_number(text, "\nThreads:", 0), 3);
		check("a filter", ms_proc_status_number(text, "\nSeccomp:", 0), 2);
		check("what is before", ms_proc_status_number(text, "\nFDSize:", 0), 64);
		check("peak", ms_proc_peak_rss(&(struct ms_proc){.folder = folder}), 321 * 1024);
	}
	close(folder);
}

static void test_sparkline(void)
{
	static const double up[] = {0, 1, 2, 3, 4, 5, 6, 7}, flat[] = {5, 5, 5};
	char line[MS_SPARKLINE_COLUMNS * 3 + 1];
	ms_sparkline(line, up, 8, 8, true);
	check_text("up", line, "_.:-=+*#");
	ms_sparkline(line, up, 8, 4, true);
	check_text("up in 4", line, ".-+#");
	ms_sparkline(line, flat, 3, 8, true);
	check_text("flat", line, "___");
}

int main(void)
{
	test_statm();
	test_stat();
	test_status();
	test_rollup();
	test_kinds();
	test_bad_maps();
	test_regions();
	test_grown();
	test_self();
	test_samples();
	test_groups();
	test_sparkline();
	return failures != 0;
}
