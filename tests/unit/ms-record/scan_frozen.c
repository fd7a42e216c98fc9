/* SPDX-License-Identifier: MIT
 * The copy of a process for a scan: whether there is memory for it, what it lacks, how it is made,
 * and that nothing is left of it, whatever fails. Processes and the kernel are made up here.
 */
#include "ms-record/scan/scan_frozen.c" /* it belongs to a tool, of which there is no library */

#include <sys/mman.h>

#include "tests/unit/held.h"
#include "noted.h"

#define KB UINT64_C(1024)

static struct session session = {.process.folder = 3, .process.pid = 5};
static struct work w;
static struct hijack_thread threads[12];
static const char *smaps; /* NULL = it cannot be opened */

/* Other files, and what is in them. */
static struct {
	int folder;
	const char *name;
	char text[200];
} files[12];
static size_t file_count;

/* Says what the calls of the rest of the recorder do, and counts them. */
static struct {
	int opens, borrows; /* hijack_borrow: from such a try on; 0 = never */
	bool copies, given_back, stops, gone, no_folder, closed, not_live;
	int why, why_back;
	unsigned alive, reaps; /* so often; from such a try on */
	unsigned borrowed, reaped, naps, killed;
} will;
static uint64_t unread; /* an address that cannot be read */

/* ---- the system ---- */

int openat(int folder, const char *name, int flags, ...)
{
	if (folder != 3 || strcmp(name, "task/6/smaps") || flags != (O_RDONLY | O_CLOEXEC))
		note("openat?");
	if (!smaps)
		return -1;
	int fd = memfd_create("smaps", MFD_CLOEXEC);
	if (write(fd, smaps, strlen(smaps)) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		note("write?");
	return fd;
}

bool ms_proc_text_at(int folder, const char *name, char *text, size_t room)
{
	text[0] = '\0';
	for (size_t i = 0; i < file_count; i++)
		if (files[i].folder == folder && !strcmp(files[i].name, name))
			snprintf(text, room, "%s", files[i].text);
	return text[0];
}

int usleep(useconds_t us)
{
	will.naps += us == 20000;
	return 0;
}

int process_folder(pid_t pid)
{
	note("folder of %d", pid);
	return will.no_folder ? -1 : 0;
}

void descriptor_close(int fd)
{
	note("close %d", fd);
}

/* ---- the rest of the recorder ---- */

int hijack_open(struct hijack *h, pid_t pid, const char *proc_root, struct ms_err *err)
{
	h->proc = 3;
	strcpy(err->text, "you may not");
	note("open %d %s", pid, proc_root);
	return will.opens;
}

void hijack_close(struct hijack *h)
{
	note("close%s", h == &w.request.copy.h ? "" : "?");
}

int hijack_find_code(struct hijack *h)
{
	if (h != &w.request.copy.h)
		note("find?");
	return 0;
}

bool timed_read(pid_t pid, int mem, uint64_t address, void *to, size_t bytes)
{
	memset(to, (int)(address >> 12), bytes);
	CHECK(bytes == (address == 0xb00000 ? 0x1000 : 0x3000), "%zu bytes", bytes);
	return pid == 5 && mem == w.request.copy.h.mem && address != unread;
}

int hijack_borrow(struct hijack_call *c, struct hijack *h, struct hijack_thread *t, unsigned flags,
		  struct ms_err *err)
{
	bool good = h == &w.request.copy.h && !flags;
	c->t = t;
	will.borrowed++;
	note("borrow %d%s", t->tid, good ? "" : "?");
	if (err)
		sprintf(err->text + strlen(err->text), "not %d", t->tid);
	return will.borrows && will.borrowed >= (unsigned)will.borrows ? 0 : -1;
}

int hijack_copy(struct hijack_call *c, pid_t *own, pid_t *its)
{
	note("copy by %d", c->t->tid);
	*own = will.copies ? 90 : 0;
	*its = will.copies ? 91 : 0;
	errno = will.why;
	return will.copies ? 0 : -1;
}

int hijack_give_back(struct hijack_call *c)
{
	note("give back %d", c->t->tid);
	errno = will.why_back;
	return will.given_back ? 0 : -1;
}

int hijack_stop_one(struct hijack_stop *s, const struct hijack *h, uint64_t patience_ns)
{
	bool good = h == &w.request.copy.h && patience_ns == 100000000;
	*s = (struct hijack_stop){.threads = {threads, 1, 1}, .longest_ns = 30};
	note("stop%s", good ? "" : "?");
	return will.stops ? 0 : -1;
}

void hijack_resume(struct hijack_stop *s, int proc)
{
	note("resume%s", s->threads.v == threads && proc == 3 ? "" : "?");
}

int hijack_reap(struct hijack_call *c, pid_t its)
{
	note("reap %d by %d", its, c->t->tid);
	return will.reaps && ++will.reaped >= will.reaps ? 0 : -1;
}

void hijack_kill(pid_t own)
{
	will.killed++;
	note("kill %d", own);
}

bool hijack_alive(const struct hijack *h)
{
	bool alive = h == &w.request.copy.h && will.alive;
	will.alive -= alive;
	return alive;
}

int memory_open(struct memory *m, int proc, pid_t tid, uint64_t deadline_ns)
{
	note("memory%s", m == &w.memory && !proc && tid == 90 && deadline_ns == 7 ? "" : "?");
	return will.closed ? -1 : 0;
}

int memory_set_live(struct memory *m, int proc, pid_t tid)
{
	note("live%s", m == &w.memory && proc == 3 && tid == 5 ? "" : "?");
	return will.not_live ? -1 : 0;
}

void memory_set_apart(struct memory *m, const struct memory_part *v, size_t n)
{
	note("apart%s", m == &w.memory && v == w.request.copy.apart.v && n == 2 ? "" : "?");
}

/* ---- the state of things ---- */

static void why(const char *what, const char *want)
{
	const char *got = w.request.copy.why;
	CHECK(!strcmp(got, want), "%s: '%s', not '%s'", what, got, want);
}

static void begin(void)
{
	memset(&will, 0, sizeof will);
	will.borrows = 1;
	will.copies = will.given_back = will.stops = true;
	will.reaps = 1;
	will.alive = 1000;
	for (size_t i = 0; i < 12; i++)
		threads[i] = (struct hijack_thread){.tid = 5 + (pid_t)i};
	w = (struct work){.s = &session, .stopped.threads = {threads, 2, 2}};
	file_count = 0;
	smaps = "";
	unread = 0;
	done[0] = '\0';
}

static __attribute__((format(printf, 3, 4))) void put(int folder, const char *name, const char *fmt,
						      ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(files[file_count].text, sizeof files[0].text, fmt, ap);
	va_end(ap);
	files[file_count].folder = folder;
	files[file_count++].name = name;
}

/* ---- is there memory for it? ---- */

static void check_numbers(void)
{
	static const struct {
		const char *text, *label;
		uint64_t number;
	} cases[] = {{"a: 1\nb:\t 23 kB\nc: 4\n", "\nb:", 23},
		     {"b: 5\n", "\nb:", NO_LIMIT},
		     {"09", "", 9},
		     {"90", "", 90},
		     {"max\n", "", NO_LIMIT},
		     {":", "", NO_LIMIT},
		     {"/", "", NO_LIMIT},
		     {"", "", NO_LIMIT}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		begin();
		put(3, "file", "%s", cases[i].text);
		is(cases[i].text, number_in(3, "file", cases[i].label), cases[i].number);
	}
	is("there is none", number_in(3, "other", ""), NO_LIMIT);
}

/* Groups from the lowest one up: most, and what is used. The highest one is the container's. */
static void check_group(void)
{
	static const char *const names[] = {
		"/sys/fs/cgroup/a/b/memory.max", "/sys/fs/cgroup/a/b/memory.current",
		"/sys/fs/cgroup/a/memory.max",   "/sys/fs/cgroup/a/memory.current",
		"/sys/fs/cgroup/memory.max",     "/sys/fs/cgroup/memory.current"};
	static const char *const figures[] = {"100", "30", "60", "max", ""};
	static const uint64_t numbers[] = {100, 30, 60};
	for (unsigned how = 0; how < 15625; how++) {
		unsigned which[6] = {how % 5,       how / 5 % 5,   how / 25 % 5,
				     how / 125 % 5, how / 625 % 5, how / 3125};
		uint64_t least = UINT64_MAX / 2;
		begin();
		put(3, "cgroup", how % 2 ? "1:name=systemd:/x\n0::/a/b\n" : "0::/a/b\n");
		for (size_t i = 0; i < 6; i++)
			put(AT_FDCWD, names[i], "%s\n", figures[which[i]]);
		for (size_t i = 0; i < 6; i += 2) {
			bool known = which[i] < 3 && which[i + 1] < 3;
			uint64_t most = known ? numbers[which[i]] : UINT64_MAX;
			uint64_t now = known ? numbers[which[i + 1]] : 0;
			uint64_t room = most < now ? 0 : most - now;
			least = known && room < least ? room : least;
		}
		is("room", group_room(3), least);
	}
	begin();
	put(3, "cgroup", "0::/\n");
	put(AT_FDCWD, "/sys/fs/cgroup/memory.max", "9\n");
	put(AT_FDCWD, "/sys/fs/cgroup/memory.current", "4\n");
	is("in the highest one alone", group_room(3), 5);
	strcpy(files[0].text, "1:name=systemd:/\n");
	is("of another kind", group_room(3), NO_LIMIT);
}

static void check_enough(void)
{
	static const struct {
		uint64_t system_kb, group;
		bool enough;
	} cases[] = {{300, 400000, true},  {299, 400000, false}, {400, 307200, true},
		     {400, 307199, false}, {300, 307200, true},  {0, 0, false}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		begin();
		put(3, "status", "Name:\tx\nVmRSS:\t    1000 kB\n");
		put(3, "cgroup", "0::/a\n");
		put(AT_FDCWD, "/proc/meminfo", "MemTotal: 9 kB\nMemAvailable:   %lu kB\n",
		    (long)cases[i].system_kb);
		put(AT_FDCWD, "/sys/fs/cgroup/a/memory.max", "%lu\n", (long)cases[i].group);
		put(AT_FDCWD, "/sys/fs/cgroup/a/memory.current", "0\n");
		is("enough", frozen_prepare(&w), cases[i].enough);
		why("enough", cases[i].enough ? "" : "too little memory is free");
		is("opened", w.request.copy.open, true);
		did("opened", "open 5 /proc");
	}
}

/* ---- what is not in a copy ---- */

static const char map[] = /* more of each is in smaps; that matters not */
	"00400000-00402000 r-xp 00000000 08:01 11                /bin/prog\n"
	"Size:                  8 kB\nVmFlags: rd ex mr mw me dc \n"
	"00a00000-00a02000 rw-p 00000000 00:00 0                 [heap]\n"
	"Rss:                   4 kB\nVmFlags: rd wr mr mw me ac sd \n"
	"00b00000-00b01000 rw-p 00000000 00:00 0 \nVmFlags: rd wr mr mw me dc ac \n"
	"00c00000-00c02000 rw-s 00000000 00:01 7 /dev/zero (deleted)\nVmFlags: rd wr dc \n"
	"00d00000-00d03000 rw-p 00000000 00:00 0 \nTHPeligible: 0\n\nVmFlags: rd wr wf \n"
	"00e00000-00e01000 r--p 00000000 00:00 0 \nVmFlags: rd wf \n";

static void check_apart(void)
{
	begin();
	smaps = map;
	is("looked at", frozen_look(&w, 6), true);
	is("prepared", frozen_prepare(&w), true);
	why("prepared", "");
	is("two parts", w.request.copy.apart.n, 2);
	const struct memory_part *p = w.request.copy.apart.v;
	is("one is left out", p[0].start, 0xb00000);
	is("to", p[0].end, 0xb01000);
	is("left out", p[0].left_out, true);
	is("one is empty", p[1].start, 0xd00000);
	is("to", p[1].end, 0xd03000);
	is("not left out", p[1].left_out, false);
	is("not read yet", p[0].bytes || p[1].bytes, false);
	frozen_end(&w);
	for (int i = 0; i < 3; i++) {
		begin();
		smaps = i == 0   ? "10000000-10ff0000 rw-p 0 0:0 0\nVmFlags: dc\n"
				   "20000000-20010000 rw-p 0 0:0 0\nVmFlags: rd wf\n"
			: i == 1 ? "10000000-10ff0000 rw-p 0 0:0 0\nVmFlags: rd dc\n"
				   "20000000-20011000 rw-p 0 0:0 0\nVmFlags: rd dc\n"
				 : NULL;
		is("prepared", frozen_look(&w, 6) && frozen_prepare(&w), i == 0);
		is("parts", w.request.copy.apart.n, i < 2 ? 2 : 0);
		why("prepared", i == 0   ? ""
				: i == 1 ? "much of its memory is MADV_DONTFORK or MADV_WIPEONFORK"
					 : "its mappings cannot be read");
		frozen_end(&w);
	}
	begin();
	will.opens = -1;
	is("refused", frozen_prepare(&w), false);
	why("refused", "you may not");
	frozen_end(&w);
	did("nothing is open", "open 5 /proc");
}

/* Pages that userfaultfd serves: some are not there, or all are; or it only protects them. */
static void check_served(void)
{
	static const struct {
		const char *map;
		bool served, copied;
	} cases[] = {
		{"10000000-10004000 rw-p 0 0:0 0\nRss: 12 kB\nSwap: 0 kB\nVmFlags: rd wr um \n",
		 true, false},
		{"10000000-10004000 rw-p 0 0:0 0\nRss: 12 kB\nSwap: 4 kB\nVmFlags: rd wr um \n",
		 false, false},
		{"10000000-10004000 rw-s 0 0:0 9 /memfd:x\nRss: 8 kB\nVmFlags: rd wr ui \n", true,
		 false},
		{"10000000-10004000 rw-p 0 0:0 0\nRss: 0 kB\nVmFlags: rd wr uw \n", false, false},
		{"10000000-10004000 rw-p 0 0:0 0\nRss: 16 kB\nVmFlags: rd um \n"
		 "20000000-20004000 rw-p 0 0:0 0\nRss: 0 kB\nVmFlags: rd wr \n",
		 false, false},
		{"20000000-20004000 rw-p 0 0:0 0\nRss: 0 kB\nVmFlags: rd wr sd \n", false, true}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		begin();
		smaps = cases[i].map;
		is("looked at", frozen_look(&w, 6), true);
		is("served", w.request.copy.served, cases[i].served);
		is("copied", frozen_prepare(&w), cases[i].copied);
		why("served", cases[i].copied ? "" : "it serves its own page faults (userfaultfd)");
		frozen_end(&w);
	}
}

/* ---- the copy ---- */

static void make_case(const char *what, bool made, const char *was_done, const char *reason)
{
	is(what, frozen_make(&w), made);
	is(what, w.request.copy.made, made);
	did(what, was_done);
	why(what, reason);
}

static void check_make(void)
{
	begin();
	make_case("at once", true, "borrow 5, copy by 5, give back 5", "");
	is("its number", (uint64_t)w.request.copy.own * 100 + (uint64_t)w.request.copy.its, 9091);
	begin();
	threads[0].gone = true;
	make_case("one is gone", true, "borrow 6, copy by 6, give back 6", "");
	begin();
	will.borrows = 2;
	make_case("one cannot", true, "borrow 5, borrow 6, copy by 6, give back 6", "");
	begin();
	will.borrows = 0;
	make_case("none can", false, "borrow 5, borrow 6", "not 6");
	begin();
	w.stopped.threads.n = 12;
	threads[1].gone = true;
	will.borrows = 8;
	make_case("the eighth", true,
		  "borrow 5, borrow 7, borrow 8, borrow 9, borrow 10, borrow 11, borrow 12, "
		  "borrow 13, copy by 13, give back 13",
		  "");
	begin();
	w.stopped.threads.n = 12;
	will.borrows = 9;
	make_case("no more than eight", false,
		  "borrow 5, borrow 6, borrow 7, borrow 8, borrow 9, borrow 10, borrow 11, "
		  "borrow 12",
		  "not 12");
	begin();
	w.stopped.threads.n = 0;
	make_case("nobody", false, "", "");
}

/* Why there is none. */
static void check_errors(void)
{
	static const struct {
		bool copies;
		int why, why_back;
		const char *words;
	} cases[] = {{false, EAGAIN, 0, "its process limit is reached (RLIMIT_NPROC or pids.max)"},
		     {false, ENOMEM, 0, "too little memory is free"},
		     {false, EPERM, 0, "Operation not permitted"},
		     {false, EPERM, ESRCH, "Operation not permitted"},
		     {true, 0, ESRCH, "No such process"}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		begin();
		will.copies = cases[i].copies;
		will.given_back = !cases[i].why_back;
		will.why = cases[i].why;
		will.why_back = cases[i].why_back;
		make_case("none", false, "borrow 5, copy by 5, give back 5", cases[i].words);
	}
}

static void check_parts(void)
{
	for (int i = 0; i < 2; i++) {
		begin();
		smaps = map;
		unread = 0xb00000;
		will.copies = i;
		frozen_look(&w, 6);
		frozen_prepare(&w);
		frozen_make(&w);
		const struct memory_part *p = w.request.copy.apart.v;
		is("read", p[0].bytes && p[1].bytes, i);
		for (size_t k = 0; i && k < 0x3000; k++) {
			is("one is there no more", p[0].bytes[k % 0x1000], 0);
			is("the other one", p[1].bytes[k], 0xd00 % 256);
		}
		frozen_end(&w);
		is("no parts",
		   w.request.copy.apart.v || w.request.copy.apart.n || w.request.copy.apart.cap,
		   false);
	}
}

static void check_open(void)
{
	static const struct {
		bool no_folder, closed, not_live;
		const char *did;
	} cases[] = {{0, 0, 0, "folder of 90, memory, close 0, live, apart"},
		     {1, 0, 0, "folder of 90"},
		     {0, 1, 0, "folder of 90, memory, close 0"},
		     {0, 0, 1, "folder of 90, memory, close 0, live"}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		begin();
		smaps = map;
		frozen_look(&w, 6);
		frozen_prepare(&w);
		frozen_make(&w);
		done[0] = '\0';
		will.no_folder = cases[i].no_folder;
		will.closed = cases[i].closed;
		will.not_live = cases[i].not_live;
		is("opened", (uint64_t)!frozen_open(&w, &w.memory, 7), i == 0);
		did("opened", cases[i].did);
		frozen_end(&w);
	}
}

/* ---- and its end ---- */

static void end_case(const char *what, unsigned tries, uint64_t ns, const char *each)
{
	char want[4000] = "kill 90";
	frozen_prepare(&w);
	frozen_make(&w);
	will.borrowed = will.naps = 0;
	will.borrows = will.gone ? 0 : 1;
	done[0] = '\0';
	frozen_end(&w);
	for (unsigned i = 0; i < tries; i++)
		sprintf(want + strlen(want), ", %s", each);
	strcat(want, ", close");
	did(what, want);
	is(what, will.naps, tries && will.reaps == tries ? tries - 1 : tries);
	is("stopped for", w.request.copy.reap_ns, ns);
	is("nothing is left", w.request.copy.own || w.request.copy.its || w.request.copy.open,
	   false);
	frozen_end(&w);
	did("once", "");
}

static void check_end(void)
{
	static const char reap[] = "stop, borrow 5, reap 91 by 5, give back 5, resume";
	begin();
	end_case("at once", 1, 30, reap);
	begin();
	will.reaps = 3;
	end_case("at last", 3, 90, reap);
	begin();
	will.stops = false;
	will.alive = 2;
	will.reaps = 9;
	end_case("it cannot be stopped", 2, 0, "stop");
	begin();
	will.gone = true;
	will.alive = 1;
	will.reaps = 9;
	end_case("it cannot be borrowed", 1, 30, "stop, borrow 5, resume");
	begin();
	will.alive = 0;
	will.reaps = 9;
	end_case("its parent is gone", 0, 0, "");
	begin();
	will.reaps = 0;
	end_case("never", 50, 1500, reap);
	begin();
	frozen_end(&w);
	did("there was none", "");
}

/* Checks that reaping is tried again when the parent is not given back. */
static void check_not_back(void)
{
	begin();
	frozen_prepare(&w);
	frozen_make(&w);
	will.given_back = false;
	will.alive = 2;
	done[0] = '\0';
	frozen_end(&w);
	did("tried again", "kill 90, stop, borrow 5, reap 91 by 5, give back 5, resume, "
			   "stop, borrow 5, reap 91 by 5, give back 5, resume, close");
	is("it waits", will.naps, 2);
}

int main(void)
{
	close(STDIN_FILENO); /* 0 is a descriptor like any other */
	unsigned before = held_files();
	check_numbers();
	check_group();
	check_enough();
	check_apart();
	check_served();
	check_make();
	check_errors();
	check_parts();
	check_open();
	check_end();
	check_not_back();
	is("all is given back", (uint64_t)held_blocks, 0);
	is("files", held_files(), before);
	return failures != 0;
}
