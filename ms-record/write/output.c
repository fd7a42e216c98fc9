/* SPDX-License-Identifier: MIT
 * One trace being written.
 */
#include "output.h"

#include <elf.h>
#include <string.h>
#include <sys/stat.h>

#include "format/trace.h"
#include "libcommon/base/arena.h"

struct output *output_new(int fd, const char *path)
{
	struct output *o = ms_xcalloc(1, sizeof *o);
	o->fd = fd;
	o->folder = -1;
	o->path = strdup(path);
	o->level = 3;
	return o;
}

void output_identify(struct output *o)
{
	struct stat st;
	if (o->folder < 0 || fstat(o->fd, &st))
		return;
	o->dev = st.st_dev;
	o->ino = st.st_ino;
}

void output_place(struct output *o, int folder, const char *name)
{
	o->folder = folder;
	o->name = strdup(name);
	if (o->fd >= 0)
		output_identify(o);
}

struct ms_trace_head output_head(const struct output *o)
{
	return (struct ms_trace_head){.major = MS_TRACE_MAJOR,
				      .minor = MS_TRACE_MINOR,
				      .hint = o->addresses ? MS_FEATURE_ADDRESSES : 0,
				      .machine = EM_X86_64,
				      .address_bytes = 8,
				      .tick_ns = MS_TRACE_TICK_NS};
}
