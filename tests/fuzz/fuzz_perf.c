/* SPDX-License-Identifier: MIT
 * Fuzzes the map of code made at run time: the file is what a program left under a name that anyone
 * may write.
 *
 * Input: its text. Every address in it is asked for, and what lies around.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "folder.h"
#include "fuzz.h"
#include "libcommon/symbols/symbols_perf.h"

#define PID 7

static volatile size_t sum; /* so that every byte is really read */

static void find(const struct ms_perf_map *m, uint64_t address)
{
	for (uint64_t i = 0; i < 3; i++) {
		const char *name = ms_perf_map_find(m, address + i - 1);
		if (name && (!name[0] || strchr(name, '\n')))
			abort();
		sum += name ? strlen(name) : 0;
	}
}

static void find_all(const struct ms_perf_map *m, const char *text)
{
	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line != 0) {
		char *end;
		uint64_t start = strtoull(line, &end, 16), size = strtoull(end, NULL, 16);
		find(m, start);
		find(m, start + size);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static char text[(1 << 17) + 1];
	char prefix[64], path[128], name[32];
	int folder = fuzz_folder();
	if (n >= sizeof text)
		return 0;
	memcpy(text, data, n);
	text[n] = '\0';
	mkdirat(folder, "root/tmp", 0700);
	snprintf(name, sizeof name, "root/tmp/perf-%d.map", PID);
	fuzz_file(folder, name, data, n);
	snprintf(prefix, sizeof prefix, "%s/root", fuzz_folder_path);
	struct ms_perf_map *m = ms_perf_map_open(prefix, PID, 0, UINT64_MAX);
	snprintf(path, sizeof path, "%s/tmp/perf-%d.map", prefix, PID);
	if (!m || strcmp(ms_perf_map_path(m), path) != 0)
		abort();
	find_all(m, text);
	find(m, 0);
	find(m, UINT64_MAX - 1);
	ms_perf_map_free(m);
	return 0;
}
