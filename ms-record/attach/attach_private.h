/* SPDX-License-Identifier: MIT
 * Shared by the files that attach: the process, the functions to hook, the mappings.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "attach.h"
#include "ms-record/ptrace/attach_elf.h"
#include "attach_image.h"
#include "ms-record/ptrace/attach_maps.h"
#include "ms-record/ptrace/hijack.h"
#include "libcommon/base/err.h"
#include "ms-record/guest/layout.h"
#include "patch.h"

#define NEAR_MOST 16u
#define RELEASE_MOST 24u
#define ATTACH_TPS 1024u

struct range {
	uint64_t start, bytes;
};

/* Describes a page of hook slots that must be within jump distance of a module's entries. */
struct near {
	uint64_t low, high; /* address range of the module's entries */
	uint64_t page;      /* 0 = not mapped yet */
	uint32_t taken;     /* hook slots taken by an earlier attachment */
	uint32_t used;      /* hook slots taken, ours included */
	uint32_t count;     /* functions that need a hook slot */
	bool fresh;
};

/* Describes a function that is to be hooked. */
struct target {
	struct patch patch; /* the planned jump and the hook that it leads to */
	char name[32], module[64];
	uint64_t size; /* bytes of the function, by its symbol; 0 = not known */
	uint32_t near; /* index into shared.near */
	bool must;     /* the function is required: --hook names it, or figures would be wrong
			  without its hook */
	bool fresh;    /* the target's hook slot is not written yet */
};

/* Holds the arguments and results of functions that the helper runs, in memory that the helper
 * shares with us. */
struct attach_shared {
	struct ms_err err;
	/* results of attach_map */
	uint64_t image, gate, session, private;
	struct near near[NEAR_MOST];
	bool blind;      /* the thread that made the system calls may not read the processor's
			    clock */
	uint64_t one_tp; /* thread pointer of the thread that made the system calls */
	pid_t one_tid;
	/* results of attach_patch */
	uint64_t tps[ATTACH_TPS]; /* thread pointers of the stopped threads */
	uint32_t tp_count;
	uint64_t main_tp;
	int32_t tid_offset;
	uint64_t stack_field;
	/* results of attach_patch (`untouched`, `stuck`) and attach_restore */
	bool untouched; /* no entry was replaced */
	bool stuck;     /* writing code failed: entries may be partly replaced */
	bool restored;
	struct attach_times times;
};

struct attach {
	pid_t pid;
	struct hijack h;
	struct hook_late *late;   /* functions to hook in modules loaded later; NULL = no session */
	bool launched;            /* started by ms-record, and not running yet */
	const char *socket;       /* path of the socket to which the guest reports an exec
				     (attach_tells); NULL = none */
	uint64_t entry_sp;        /* stack pointer at program start; 0 = as the kernel reports it */
	struct hijack_stop *held; /* threads of the process, if stopped by the caller; NULL =
				     running */
	struct attach_maps maps;
	struct attach_memory memory;
	char exe[4097];

	struct attach_image image; /* content is set once the address is known */
	bool adopted;              /* guest image, gate and hook slots of an earlier attachment are
				      reused */
	bool foreign;              /* an guest image of another version is mapped */
	struct mg_manifest manifest;
	uint64_t manifest_at;

	uint32_t near_count;       /* entries used in shared.near */
	const struct hooks *hooks; /* --hook */
	bool placed[MG_HOOKS_MAX]; /* by index in hooks: the function was found */
	bool throws;               /* the program may throw, and exceptions cannot be unwound
				      through hooks */
	struct target targets[MG_HOOKS_MAX];
	uint32_t target_count;
	char allocator[128];

	struct range release[RELEASE_MOST]; /* mappings to unmap */
	uint32_t release_count;
	uint64_t session_bytes, private_bytes;
	int channel[2]; /* socket pair over which the helper sends memfd to us */
	int memfd;

	unsigned tries;  /* failed attempts so far to stop all threads */
	unsigned leaves; /* attempts that found threads inside the guest image */
	bool forks;      /* forked children are recorded too */
	bool entered;    /* entries were replaced */
	struct attach_shared shared;
};

/* Sets `err` to the reason why the process cannot be attached to, and is -1. */
#define ATTACH_REFUSE(a, err, fmt, ...)                                                            \
	ms_err_set((err), "cannot attach to process %d: " fmt, (int)(a)->pid, ##__VA_ARGS__)

/* ---- attach_plan.c ---- */

/* Finds an guest image left by an earlier ms-record: sets a->manifest if the image is of this
 * version. Returns 0, or -1 with `err` set: the process is being recorded, or has memory of another
 * version. */
int attach_find_earlier(struct attach *a, struct ms_err *err);
/* Finds the functions to hook. Returns 0, or -1 with `err` set: none exists, or a required one
 * cannot be hooked. */
int attach_find_targets(struct attach *a, struct ms_err *err);
/* Adds a function to hook. Returns NULL if it is a target already or there is no room. */
struct target *attach_add_target(struct attach *a, const struct attach_module *m, const char *name,
				 uint32_t kind, uint64_t address, uint64_t bytes);
/* Finds functions that --hook names and those of known custom allocators (attach_hooks.c). Returns
 * 0, or -1 with `err` set if one named cannot be hooked. */
int attach_find_hooks(struct attach *a, struct ms_err *err);
/* Plans each target's jump. The pages for hook slots are mapped, or their expected addresses are
 * known. Returns 0, or -1 with `err` set. */
int attach_plan(struct attach *a, struct ms_err *err);

/* ---- attach_sharers.c ---- */

/* Returns a process that shares the memory without being a thread of it, waiting up to 1 s for it
 * to stop sharing (vfork); 0 = none. *seen is the argument of attach_is_alone. */
pid_t attach_sharer(const struct attach *a, pid_t *seen);
/* Tells whether still no other process shares the memory. Call while all threads are stopped.
 * `seen`: from attach_sharer. */
bool attach_is_alone(const struct attach *a, const struct hijack_stop *s, pid_t seen);
/* Sets `err`: cannot attach or detach, because process `pid` shares the memory. `what`: "attach to"
 * or "detach from". Returns -1. */
int attach_refuse_sharer(const struct attach *a, const char *what, pid_t pid, struct ms_err *err);

/* ---- attach_remote.c, attach_mapping.c: run in the helper; each an enum ---- */

/* ATTACH_INSIDE: threads are inside the guest image; try again after they had time to leave. */
enum { ATTACH_DONE, ATTACH_FAILED, ATTACH_AGAIN, ATTACH_TRACED, ATTACH_INSIDE };

int attach_map(void *arg, void *shared);
int attach_map_near(void *arg, void *shared); /* maps only the pages for hook slots */
int attach_patch(void *arg, void *shared);
int attach_restore(void *arg, void *shared);

#define ATTACH_LEAVES 24u
#define ATTACH_STOP_NS UINT64_C(100000000) /* users would notice longer stops */

/* ---- attach_rewrite.c ---- */

/* Tells whether the entries can be rewritten even if threads that wait in the kernel are not
 * stopped. */
bool attach_may_hold(const struct attach *a);
/* Moves threads out of code that will change. Returns 0, or -1 if that is not possible now. */
typedef int attach_move(struct attach *a, struct hijack_stop *s, struct attach_shared *out);
/* Replaces entries by jumps or, if `back`, restores them, except entries that other code has
 * changed. Each thread is stopped or waits in the kernel. `move` moves threads out of the bytes
 * after the first two of each entry before those bytes change; NULL = no thread can be there.
 * Returns ATTACH_DONE, ATTACH_FAILED or ATTACH_AGAIN. */
int attach_rewrite(struct attach *a, struct hijack_stop *s, bool back, attach_move *move,
		   struct attach_shared *out);

/* Called by hijack_guard if attach_rewrite was killed halfway: repairs the entries at which threads
 * wait. */
void attach_mend(void *unused);
/* Call after hijack_resume: repairs entries in children whose fork had not finished before
 * hijack_resume. */
void attach_mend_late(void);

/* Prepares for stopping threads: finds code for system calls in the process, and sets the best
 * permitted nice value (see also hijack_helper). */
void attach_prepare_stop(struct attach *a);
