/* SPDX-License-Identifier: MIT
 * Fuzzes the reading of traces by libmemscope: events with what they free, stacks, info. By the
 * first byte, checksums are made to fit before.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "mend.h"
#include "libcommon/api/memscope-read.h"

#define LARGEST ((size_t)64 << 10)

static void look(struct memscope_trace *t, uint32_t stack)
{
	struct memscope_frame frames[8];
	size_t n = memscope_trace_stack(t, stack, frames, 8);
	for (size_t i = 0; i < n && i < 8; i++)
		if ((frames[i].module && strlen(frames[i].module) > LARGEST) ||
		    (frames[i].function && strlen(frames[i].function) > LARGEST) ||
		    (frames[i].file && strlen(frames[i].file) > LARGEST))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static uint8_t copy[LARGEST];
	char path[64], error[MEMSCOPE_ERROR] = "";
	if (n < 1 || n - 1 > LARGEST)
		return 0;
	memcpy(copy, data + 1, n - 1);
	if (data[0] & 1)
		fuzz_mend(copy, n - 1);
	int fd = memfd_create("fuzz", MFD_CLOEXEC), rc = 1;
	if (fd < 0 || pwrite(fd, copy, n - 1, 0) != (ssize_t)(n - 1))
		abort();
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	struct memscope_trace *t = memscope_trace_open(path, error);
	close(fd);
	if (!t && !error[0])
		abort();
	struct memscope_event ev;
	for (unsigned i = 0; t && i < 100000 && (rc = memscope_trace_next(t, &ev, error)) > 0; i++)
		if (i < 1000) {
			look(t, ev.stack);
			look(t, ev.old_stack);
		}
	if (rc < 0 && !error[0])
		abort();
	struct memscope_trace_info info;
	struct memscope_sample s;
	const char *name;
	uint64_t ns;
	if (t) {
		memscope_trace_info(t, &info);
		for (size_t i = 0; memscope_trace_mark(t, i, &ns, &name); i++)
			if (strlen(name) > LARGEST)
				abort();
		for (size_t i = 0; memscope_trace_sample(t, i, &s); i++)
			free(memscope_sample_json(&s));
	}
	memscope_trace_close(t);
	return 0;
}
