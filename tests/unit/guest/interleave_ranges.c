/* SPDX-License-Identifier: MIT
 * Lists of mapped ranges under every order of the recorder and the guest's threads that differs in
 * a few places: a range that is found is one that a single list held.
 *
 * The code is the guest's (searching) and the recorder's (writing, publishing); files and clocks
 * are not used.
 */
#include "interleave.h"

#include <fcntl.h>

#include "ms-record/guest/core.h"

#include "ms-record/guest/stack.c"

#define fallocate(fd, how, at, bytes) ((void)(fd), (void)(at), (void)(bytes), 0)
#include "ms-record/code/ranges.c"
#undef fallocate

enum { RANGES = 2, LISTS = 4 };
#define LOW 0x100000u
#define HIGH 0x200000u
#define STEP 0x1000u

struct mg_core mg;

/* Holds what the threads share. */
static struct memory {
	struct mg_session session;
	struct mg_range list[2 * RANGES];
} * memory;

static struct scenario {
	const char *name;
	unsigned bound;
	unsigned published; /* lists that the recorder writes while the others search */
	unsigned searches;  /* searches of each thread of the guest */
} now;

/* ---- what the guest's code calls ---- */

void mg_wake_recorder(void)
{
}

bool mg_filtered(void)
{
	return false;
}

uint64_t mg_code_rule(uint64_t ip, const struct mg_range *code)
{
	return code ? ip : 0;
}

/* ---- the threads ---- */

/* Publishes list `k`: two ranges that are `k` steps longer at both ends than those of list 0. */
static void publish_list(uint64_t k)
{
	struct ms_region v[RANGES] = {{.map = {.start = LOW - k * STEP,
					       .end = LOW + k * STEP,
					       .perms = "rw-p",
					       .path = ""}},
				      {.map = {.start = HIGH - k * STEP,
					       .end = HIGH + k * STEP,
					       .perms = "rw-p",
					       .path = ""}}};
	const struct ms_regions r = {.v = v, .n = RANGES};
	struct ranges all = {
		.mem = &memory->session, .list = memory->list, .max = RANGES, .memfd = -1};
	publish(&all, &r);
}

static void record(void)
{
	for (unsigned k = 0; k < now.published; k++)
		publish_list(k + 2);
}

static void search(void)
{
	for (unsigned i = 0; i < now.searches; i++) {
		uint64_t middle = i & 1 ? HIGH : LOW;
		struct mg_range r;
		if (!find_listed(middle, &r))
			il_fail("%#lx, which every list has, is not found", (unsigned long)middle);
		if (middle - r.start != r.end - middle)
			il_fail("%#lx to %#lx is of no list", (unsigned long)r.start,
				(unsigned long)r.end);
	}
}

/* ---- a run ---- */

static void begin(void)
{
	memset(memory, 0, sizeof *memory);
	memory->session.ranges_offset = offsetof(struct memory, list);
	memory->session.range_max = RANGES;
	publish_list(1);
}

static const char *end(void)
{
	return memory->session.ranges_round == now.published + 1 ? NULL
								 : "a list was not published";
}

static bool explore(const struct scenario *what, unsigned more)
{
	now = *what;
	now.bound += more;
	il_share(&memory->session.ranges_round, sizeof memory->session.ranges_round, false);
	il_share(&memory->session.ranges_count, sizeof memory->session.ranges_count, false);
	il_share(memory->list, sizeof memory->list, false);
	il_thread("recorder", record);
	il_thread("guest 1", search);
	il_thread("guest 2", search);
	unsigned long runs = il_explore(now.name, now.bound, begin, end);
	printf("%s: %lu runs with up to %u changes\n", now.name, runs, now.bound);
	return !il.failed;
}

int main(int argc, char **argv)
{
	const struct scenario all[] = {
		{"one list more", 3, 1, 2},
		{"the list in use is written to again", 3, 2, 1},
		{"three lists more", 3, 3, 2},
	};
	bool good = true;
	memory = calloc(1, sizeof *memory);
	mg.session = &memory->session;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		good &= explore(&all[i], argc > 1 ? (unsigned)atoi(argv[1]) : 0);
	free(memory);
	return !good;
}
