/* SPDX-License-Identifier: MIT
 * Room code: the code of a process image that is recorded.
 *   In:  the process, its clock and the guest's tables in shared memory.
 *   Out: modules (modules.h) and call stacks (stacks.h), as the trace numbers them; the files of
 *        modules (held_files.h); for the guest, lists of functions (frame_lists.h) and of mappings
 *        (ranges.h), and where an interpreter is (interpreter.h).
 *   Used by: session, which has one of each, heap, drain, control.
 *
 * Modules as everything here knows them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/record.h"
#include "libcommon/base/arena.h"
#include "ms-record/guest/layout.h"
#include "ms-record/ptrace/attach_maps.h"

struct attach_modules;
struct clock;
struct frame_lists;
struct held_file;
struct interpreter;
struct process;

#define MODULES_MOST 4096u

struct module {
	uint64_t start, end, bias;
	uint64_t eh_frame_hdr, eh_frame_hdr_bytes;
	uint32_t epoch_loaded, epoch_closed; /* closed: UINT32_MAX = still there */
	uint32_t kind;                       /* MS_MODULE_KIND of the trace */
	bool guest;
	struct held_file *file; /* NULL = none is known to be it */
	uint8_t build_id_size, build_id[MG_BUILD_ID_MOST];
	uint64_t loaded; /* stamp */
	uint32_t same; /* id of the first that is of the same file; 0 = it is the first, or gone */
	char *path;    /* of the first */
	char *name;    /* as the dynamic linker calls it, if that is no whole path; of the first */
};

/* MS_MODULE_KIND of the trace. */
enum {
	MODULE_FILE = 0,
	MODULE_VDSO = 1,
	MODULE_ANONYMOUS = 2,
	MODULE_GUEST = 3,
	MODULE_HEAP = 4,
	MODULE_SOURCE = 5
};

struct module_epoch {
	uint64_t stamp;
	uint32_t epoch;
};

/* Limits how many modules are remembered of those that are opened and closed over and over. */
#define MODULES_CLOSED 1024u
#define MODULES_ROOM (2 * MODULES_CLOSED)

struct module_file {
	uint32_t module; /* id */
	const struct held_file *file;
};

/* Holds the modules of a session. Whoever makes one fills in the first part, which is borrowed. */
struct modules {
	const struct process *process;
	const struct clock *clock;
	struct mg_session *mem;    /* shared with the guest, */
	struct mg_session *image;  /* that of the image that it was forked in, or the same one, */
	struct mg_module *table;   /* and its modules, */
	uint32_t table_max;        /* of which there may be so many */
	struct frame_lists *lists; /* of modules without unwind tables of their own */
	bool no_interpreter;       /* none is looked for */

	struct attach_modules *attached;    /* attached: we keep the guest's table; else NULL */
	struct interpreter *interpreter;    /* or NULL */
	struct ms_record_writer records;    /* for the next batch */
	MS_ARRAY(struct module_file) files; /* of all modules that there were */
	MS_ARRAY(struct module) all;        /* module i has id i + 1 */
	MS_ARRAY(uint32_t) open;            /* of them, those that are not closed */
	struct {
		uint32_t v[MODULES_ROOM];
		size_t next, n; /* where the next one goes; how many there are */
	} reopened; /* of those that are not the first of their file, the latest that were closed */
	/* which epoch began with each module that came or went, in order */
	MS_ARRAY(struct module_epoch) epochs;
	struct attach_maps maps; /* of files, and of code */
	uint32_t seen;           /* entries of the guest's table taken over */
	struct module_entry {
		uint64_t loaded; /* stamp: another one is another module */
		uint32_t number; /* index into `all` */
		bool closed;
	} * entries;           /* of each of them */
	uint32_t closed_epoch; /* epoch at which `closed` was looked at */
	uint64_t maps_read_ns, maps_stamp;
	bool maps_old; /* there are others since */
};
