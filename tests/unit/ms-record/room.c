/* SPDX-License-Identifier: MIT
 * Room near code in another process: what the recorder maps itself may have taken the nearest places.
 */
#include "ms-record/ptrace/attach_maps.c" /* it belongs to a tool, of which there is no library */

#include "tests/unit/check.h"

#define LIBRARY UINT64_C(0x7f0000000000)
#define BYTES UINT64_C(8192)
#define REACH (UINT64_C(1) << 31)

static struct attach_map list[] = {
	{.start = 0x400000, .end = 0x500000, .path = "/bin/prog"},
	{.start = LIBRARY - 0x104000, .end = LIBRARY - 0x3000, .path = "/lib/a.so"},
	{.start = LIBRARY, .end = LIBRARY + 0x200000, .path = "/lib/libc.so.6"},
	{.start = LIBRARY + 0x300000, .end = LIBRARY + 0x321000, .path = "[stack]"},
};
static const struct attach_maps maps = {.v = list, .n = sizeof list / sizeof *list};

static bool is_free(uint64_t at)
{
	for (size_t i = 0; i < maps.n; i++)
		if (at < list[i].end && at + BYTES > list[i].start)
			return false;
	return true;
}

/* How far the further end of the library's code is. */
static uint64_t reach(uint64_t at)
{
	uint64_t up = at > LIBRARY ? at + BYTES - LIBRARY : 0;
	uint64_t down = LIBRARY + 0x100000 > at ? LIBRARY + 0x100000 - at : 0;
	return up > down ? up : down;
}

int main(void)
{
	uint64_t last = 0, n = 0, at;
	while ((at = attach_maps_room(&maps, LIBRARY, LIBRARY + 0x100000, BYTES, (unsigned)n))) {
		CHECK(!(at % BYTES) && is_free(at) && reach(at) > last && reach(at) < REACH,
		      "place %u at %#llx, %#llx away after %#llx", (unsigned)n,
		      (unsigned long long)at, (unsigned long long)reach(at),
		      (unsigned long long)last);
		last = reach(at);
		n++;
	}
	/* 16 below, one between them, 16 above, 16 behind the stack */
	CHECK(n == 49, "%u places", (unsigned)n);
	return failures != 0;
}
