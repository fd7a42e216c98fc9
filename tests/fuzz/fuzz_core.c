/* SPDX-License-Identifier: MIT
 * Fuzzes the reader of core dumps: headers and notes. A dump is refused with a message, or its mappings are
 * in order, its contents lie in the file, and all of its memory can be asked for.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "libcommon/base/err.h"
#include "libcommon/base/io.h"
#include "ms-record/dump/dump_blocks.h"
#include "ms-record/dump/dump_file.h"

static void check(const struct dump_file *d)
{
	const struct attach_memory m = dump_memory(d);
	uint8_t some[256];
	uint64_t last = 0, parts = 0;
	for (size_t i = 0; i < d->maps.n; i++) {
		const struct attach_map *p = &d->maps.v[i];
		const struct dump_contents *c = &d->contents[i];
		if (p->start < last || p->end <= p->start || c->bytes > p->end - p->start ||
		    (c->bytes && (c->offset > d->bytes || c->bytes > d->bytes - c->offset)))
			abort();
		last = p->end;
		m.read(m.arg, p->start, some, sizeof some);
		m.read(m.arg, p->end - sizeof some / 2, some, sizeof some);
		for (uint64_t at = p->start, end = p->end; dump_part(d, &at, &end);
		     at = end, end = p->end, parts++)
			if (at >= end || end > p->end)
				abort();
	}
	for (size_t i = 0; i < d->thread_count; i++)
		if (d->threads[i].vector_bytes)
			memcpy(some, d->notes + d->threads[i].vectors,
			       d->threads[i].vector_bytes < sizeof some ? d->threads[i].vector_bytes
									: sizeof some);
	if (parts > d->bytes)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct ms_err err = {0};
	struct dump_file d;
	struct dump_blocks b = {0};
	char path[32];
	int fd = memfd_create("core", 0);
	if (fd < 0 || ms_write_all(fd, data, n) != 0)
		exit(2);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	int rc = dump_open(&d, path, NULL, &err);
	if (rc && !err.text[0])
		abort();
	if (!rc)
		check(&d);
	if (!rc && dump_find_blocks(&d, NULL, &b, &err) == 0 && b.count)
		b.v[0].size++;
	free(b.v);
	dump_close(&d);
	close(fd);
	return 0;
}
