/* SPDX-License-Identifier: MIT
 * Fuzzes what a program left for perf(1) of code made at run time: a file under a name that anyone
 * may write.
 *
 * Input: a jitdump where it begins as one, else a perf map. Every address in it is asked for, and
 * what lies around.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "folder.h"
#include "fuzz.h"
#include "libcommon/symbols/symbols_made.h"

#define PID 7

static volatile size_t sum; /* so that every byte is really read */

static void find(struct ms_made *m, uint64_t address)
{
	for (uint64_t i = 0; i < 3; i++) {
		struct ms_location l;
		ms_made_find(m, address + i - 1, &l);
		if (l.function && (!l.function[0] || l.inlined))
			abort();
		sum += l.function ? strlen(l.function) : 0;
		sum += l.file ? strlen(l.file) : 0;
	}
}

static void find_in_text(struct ms_made *m, const char *text)
{
	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line != 0) {
		char *end;
		uint64_t start = strtoull(line, &end, 16), size = strtoull(end, NULL, 16);
		find(m, start);
		find(m, start + size);
	}
}

static void find_in_dump(struct ms_made *m, const uint8_t *data, size_t n)
{
	for (size_t i = 0; i + 8 <= n; i += 4) {
		uint64_t address;
		memcpy(&address, data + i, 8);
		find(m, address);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static char text[(1 << 17) + 1];
	char prefix[64], path[128], map[32], dump[32];
	int folder = fuzz_folder();
	if (n >= sizeof text)
		return 0;
	memcpy(text, data, n);
	text[n] = '\0';
	bool is_dump = !strncmp(text, "DTiJ", 4);
	mkdirat(folder, "root/tmp", 0700);
	snprintf(map, sizeof map, "root/tmp/perf-%d.map", PID);
	snprintf(dump, sizeof dump, "root/tmp/jit-%d.dump", PID);
	fuzz_file(folder, is_dump ? dump : map, data, n);
	unlinkat(folder, is_dump ? map : dump, 0);
	snprintf(prefix, sizeof prefix, "%s/root", fuzz_folder_path);
	const struct ms_made_by is = {
		.pid = PID, .uid = (uint64_t)getuid(), .to_ns = UINT64_MAX, .cwd = "/nowhere"};
	struct ms_made *m = ms_made_open(prefix, &is);
	snprintf(path, sizeof path, "%s/%s", fuzz_folder_path, is_dump ? dump : map);
	if (!m && !is_dump)
		abort();
	if (!m)
		return 0;
	if (strcmp(ms_made_path(m), path) != 0)
		abort();
	if (is_dump)
		find_in_dump(m, data, n);
	else
		find_in_text(m, text);
	find(m, 0);
	find(m, UINT64_MAX - 1);
	ms_made_free(m);
	return 0;
}
