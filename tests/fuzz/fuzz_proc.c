/* SPDX-License-Identifier: MIT
 * Fuzzes what ms-record reads of a process: stat, statm, smaps_rollup, maps, the names of its
 * threads, smaps and status. The process chooses its name and those of its files.
 *
 * Input: the seven texts, each ended by a NUL.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "folder.h"
#include "fuzz.h"
#include "libcommon/base/arena.h"
#include "libcommon/proc/proc.h"
#include "ms-record/code/modules.h"
#include "ms-record/session/session_options.h"
#include "ms-record/session/samples.h"
#include "ms-record/session/session.h"
#include "ms-record/session/threads.h"

static const char *const files[] = {"stat",        "statm", "smaps_rollup", "maps",
				    "task/7/comm", "smaps", "status"};

/* Checks what must hold of the regions that any text gives. */
static void regions(int folder)
{
	struct ms_proc p;
	struct ms_regions r = {0};
	struct ms_proc_memory all;
	uint64_t size;
	char text[4096];
	ms_proc_open_at(&p, folder);
	for (int smaps = 0; smaps < 2; smaps++) {
		if (ms_regions_read(&p, smaps, &r) != 0)
			continue;
		ms_regions_sum(&r, &all, &size);
		ms_regions_heap(&r);
		for (size_t i = 0; i < r.n; i++)
			if (r.v[i].map.end < r.v[i].map.start || r.v[i].kind >= MS_REGION_KINDS ||
			    strlen(r.v[i].map.perms) > 4 || !ms_region_word(r.v[i].kind))
				abort();
	}
	if (ms_proc_text_at(folder, "status", text, sizeof text))
		ms_proc_status_number(text, "\nSeccomp:", 0);
	ms_regions_free(&r);
	ms_proc_close(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct session_options opt;
	static struct writer writer;
	static struct mg_session shared;
	static uint64_t used;
	int folder = fuzz_folder();
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		const uint8_t *end = n ? memchr(data, 0, n) : NULL;
		size_t size = end ? (size_t)(end - data) : n;
		fuzz_file(folder, files[i], data, size);
		data += size + (end != NULL);
		n -= size + (end != NULL);
	}
	struct session *s = ms_xrealloc(NULL, 1, sizeof *s);
	memset(s, 0, sizeof *s);
	*s = (struct session){.opt = &opt,
			      .writer = &writer,
			      .process.pidfd = -1,
			      .process.folder = dup(folder),
			      .same_pidns = true,
			      .mem = &shared,
			      .buffer_used = &used};
	pthread_mutex_init(&s->queued.lock, NULL);
	pthread_mutex_init(&writer.lock, NULL);
	clock_start(&s->clock, NULL);
	session_link(s);
	process_signature(s->process.folder);
	samples_take(s, false);
	modules_read_maps(&s->modules);
	for (size_t i = 0; i < s->modules.maps.n; i++) {
		uint64_t ip = s->modules.maps.v[i].start;
		modules_find(&s->modules, &ip, 0);
	}
	threads_add(s, 7, 1);
	threads_look(s, true);
	samples_take(s, true);
	samples_rss_at(s, 1, &(uint64_t){0});
	regions(folder);
	session_free(s);
	return 0;
}
