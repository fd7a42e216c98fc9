/* SPDX-License-Identifier: MIT
 * Room code: the code of a process image that is recorded.
 *   In:  the process, its clock and the guest's tables in shared memory.
 *   Out: modules (modules.h) and call stacks (stacks.h), as the trace numbers them; for the guest,
 *        lists of functions (frame_lists.h) and of mappings (ranges.h), and where an interpreter is
 *        (interpreter.h).
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
	uint32_t epoch_loaded, epoch_closed; /* epochs (numbers of the module list's state) at
						loading and at closing; epoch_closed UINT32_MAX =
						still open */
	uint32_t kind;                       /* module kind as in the trace (MS_MODULE_KIND) */
	bool guest;
	struct held_file *file; /* NULL = the file is not known */
	uint8_t build_id_size, build_id[MG_BUILD_ID_MOST];
	uint64_t loaded; /* stamp when it was loaded */
	uint32_t same;   /* id of the first module of the same file; 0 = this module is the first,
			    or has no file */
	char *path;      /* path of the file, owned by its first module */
	char *name;      /* name used by the dynamic linker, if not an absolute path; owned like
			    `path` */
};

/* Lists the values of MS_MODULE_KIND in the trace. */
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

/* Maximum number of closed modules remembered because they may be opened again. */
#define MODULES_CLOSED 1024u
#define MODULES_ROOM (2 * MODULES_CLOSED)

struct module_file {
	uint32_t module; /* id of the module */
	const struct held_file *file;
};

/* Holds the modules of a session. The creator fills in the members before the empty line; pointers
 * there are borrowed. */
struct modules {
	const struct process *process;
	const struct clock *clock;
	struct mg_session *mem;    /* header shared with the guest */
	struct mg_session *image;  /* shared header of the program image (process between two execs)
				      from which the session was forked, or `mem` */
	struct mg_module *table;   /* the guest's table of modules */
	uint32_t table_max;        /* capacity of `table` */
	uint32_t backed;           /* entries of `table` that have memory */
	struct frame_lists *lists; /* function tables of modules that have no unwind tables */
	bool no_interpreter;       /* do not search for an interpreter */

	struct attach_modules *attached;    /* state by which we update the guest's table of an
					       attached process; NULL = not attached */
	struct interpreter *interpreter;    /* NULL = none found */
	struct ms_record_writer records;    /* records for the next batch */
	MS_ARRAY(struct module_file) files; /* files of all modules so far */
	MS_ARRAY(struct module) all;        /* module i has id i + 1 */
	MS_ARRAY(uint32_t) open;            /* indexes of the modules that are not closed */
	struct {
		uint32_t v[MODULES_ROOM];
		size_t next, n; /* next: index of the entry to be replaced next; n: number of
				   entries */
	} reopened; /* most recently closed modules that are not the first of their file */
	/* epochs that began when a module was opened or closed, in order of stamp */
	MS_ARRAY(struct module_epoch) epochs;
	struct attach_maps maps; /* mappings of files and of code */
	uint32_t seen;           /* number of entries of the guest's table processed */
	struct module_entry {
		uint64_t loaded; /* load stamp; a different stamp means a different module */
		uint32_t number; /* index into `all` */
		bool closed;
	} * entries;           /* one for each entry of `table` */
	uint32_t closed_epoch; /* epoch when closed modules were last searched for */
	uint64_t maps_read_ns, maps_stamp;
	bool maps_old; /* the mappings have changed since they were read */
};
