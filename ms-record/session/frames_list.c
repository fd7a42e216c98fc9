/* SPDX-License-Identifier: MIT
 * Lists the functions of modules without .eh_frame_hdr where the guest finds them.
 */
#include "frames_list.h"

#include <stdlib.h>
#include <sys/uio.h>

#include "ms-record/ptrace/attach_elf.h"
#include "frames.h"
#include "pool.h"
#include "session.h"

bool session_read_memory(void *arg, uint64_t address, void *to, size_t bytes)
{
	const struct session *s = arg;
	struct iovec here = {to, bytes}, there = {(void *)(uintptr_t)address, bytes};
	return process_vm_readv(s->pid, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

uint32_t frames_list(struct session *s, const struct attach_map *map)
{
	const struct attach_memory mem = {session_read_memory, s};
	struct frames_table t;
	if (!frames_find(&mem, s->proc, map, &t))
		return 0;
	uint32_t listed = pool_list_frames(s->pool, map->start, &t);
	free(t.entries.v);
	return listed;
}

void frames_list_all(struct session *s)
{
	for (size_t i = 0; i < s->modules.maps.n; i++) {
		const struct attach_map *m = &s->modules.maps.v[i];
		if (!m->offset && m->path[0] == '/')
			frames_list(s, m);
	}
}
