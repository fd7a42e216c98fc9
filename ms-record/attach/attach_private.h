/* SPDX-License-Identifier: MIT
 * What the files of attaching share: one process, what is to be hooked in it, what is mapped.
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

/* A page of slots, and the entries that it has to be near to. */
struct near {
	uint64_t low, high; /* entries of the module lie there */
	uint64_t page;      /* 0 = not mapped yet */
	uint32_t taken;     /* slots of before, */
	uint32_t used;      /* and with ours */
	uint32_t count;     /* functions that are to have one */
	bool fresh;
};

/* A function that is to be hooked. */
struct target {
	struct patch patch; /* and the hook */
	char name[32], module[64];
	uint64_t size; /* as its symbol says; 0 = not known */
	uint32_t near; /* index */
	bool must;     /* --hook names it, or without it the figures would be wrong */
	bool fresh;    /* no slot has been written for it yet */
};

/* Holds the arguments and results of the helper's functions, in memory that it shares with us. */
struct attach_shared {
	struct ms_err err;
	/* mapped */
	uint64_t image, gate, session, private;
	struct near near[NEAR_MOST];
	bool blind;      /* the borrowed thread may not read the processor's clock */
	uint64_t one_tp; /* its thread pointer */
	pid_t one_tid;
	/* patched */
	uint64_t tps[ATTACH_TPS]; /* of the threads that were stopped */
	uint32_t tp_count;
	uint64_t main_tp;
	uint32_t tid_offset;
	uint64_t stack_field;
	/* left */
	bool untouched; /* no entry is replaced */
	bool stuck;     /* an entry could not be put back */
	bool restored;
	struct attach_times times;
};

struct attach {
	pid_t pid;
	struct hijack h;
	struct hook_late *late;   /* of its session, while there is one */
	bool launched;            /* by us: it begins only */
	const char *socket;       /* see attach_tells; NULL = it does not */
	uint64_t entry_sp;        /* its stack pointer at its beginning; 0 = as the kernel says */
	struct hijack_stop *held; /* its threads are stopped already; NULL = they are not */
	struct attach_maps maps;
	struct attach_memory memory;
	char exe[4097];

	struct attach_image image; /* content once its address is known */
	bool adopted;              /* image, gate and slots are there already */
	bool foreign;              /* another version's image is there */
	struct mg_manifest manifest;
	uint64_t manifest_at;

	uint32_t near_count;       /* of shared.near */
	const struct hooks *hooks; /* --hook */
	bool placed[MG_HOOKS_MAX]; /* of each of them: it is there */
	bool throws;               /* exceptions may come, and cannot pass the image */
	struct target targets[MG_HOOKS_MAX];
	uint32_t target_count;
	char allocator[128];

	struct range release[RELEASE_MOST]; /* of earlier sessions, or ours when it leaves */
	uint32_t release_count;
	uint64_t session_bytes, private_bytes;
	int channel[2]; /* the session's descriptor comes this way */
	int memfd;

	unsigned tries;  /* of stopping all threads, so far */
	unsigned leaves; /* of finding nobody inside */
	bool forks;      /* forked children are recorded, too */
	bool entered;    /* entries were replaced */
	struct attach_shared shared;
};

/* -1, with the reason in `err` why it cannot be attached to. */
#define ATTACH_REFUSE(a, err, fmt, ...)                                                            \
	ms_err_set((err), "cannot attach to process %d: " fmt, (int)(a)->pid, ##__VA_ARGS__)

/* ---- attach_plan.c ---- */

/* Finds what an earlier recorder left (a->manifest, if it is of our image). 0, or -1 with `err`
 * set: somebody records it, or the memory is another version's. */
int attach_find_earlier(struct attach *a, struct ms_err *err);
/* Finds the functions to hook. 0, or -1 with `err` set: there are none, or one that has to be
 * cannot be hooked. */
int attach_find_targets(struct attach *a, struct ms_err *err);
/* One more function, or NULL: it is one already, or there is no room. */
struct target *attach_add_target(struct attach *a, const struct attach_module *m, const char *name,
				 uint32_t kind, uint64_t address, uint64_t bytes);
/* attach_hooks.c: those that --hook names, and known ones besides malloc's. 0, or -1 with `err`
 * set: one that was named cannot be had. */
int attach_find_hooks(struct attach *a, struct ms_err *err);
/* Plans each jump, now that pages for slots are known (or supposed). 0, or -1 with `err` set. */
int attach_plan(struct attach *a, struct ms_err *err);

/* ---- attach_sharers.c ---- */

/* Who else has its memory, and keeps it: a second is given to all that do. 0 = nobody; *seen is for
 * attach_is_alone. */
pid_t attach_sharer(const struct attach *a, pid_t *seen);
/* All threads are stopped: is nobody there since? */
bool attach_is_alone(const struct attach *a, const struct hijack_stop *s, pid_t seen);
/* -1, with the reason in `err`: that process. what: "attach to". */
int attach_refuse_sharer(const struct attach *a, const char *what, pid_t pid, struct ms_err *err);

/* ---- attach_remote.c, attach_mapping.c: run in the helper; each an enum ---- */

/* INSIDE: threads are in the image; try again when they have had time to leave. */
enum { ATTACH_DONE, ATTACH_FAILED, ATTACH_AGAIN, ATTACH_TRACED, ATTACH_INSIDE };

int attach_map(void *arg, void *shared);
int attach_map_near(void *arg, void *shared); /* pages for slots only */
int attach_patch(void *arg, void *shared);
int attach_restore(void *arg, void *shared);

#define ATTACH_LEAVES 24u
#define ATTACH_STOP_NS UINT64_C(100000000) /* stopped for longer would be felt */

/* ---- attach_rewrite.c ---- */

/* Can the entries be rewritten while some threads are left alone? */
bool attach_may_hold(const struct attach *a);
/* 0, or -1: later. */
typedef int attach_move(struct attach *a, struct hijack_stop *s, struct attach_shared *out);
/* Entries become jumps or, `back`, what they were, but for those that somebody else wrote to; all
 * threads are stopped, or held. move: before anything but the first bytes changes, none of them may
 * be where other bytes will be; NULL: none can. ATTACH_DONE, _FAILED or _AGAIN. */
int attach_rewrite(struct attach *a, struct hijack_stop *s, bool back, attach_move *move,
		   struct attach_shared *out);

/* Mends, for hijack_guard, each entry at which threads still wait because attach_rewrite was killed
 * before it was done. */
void attach_mend(void *unused);
/* Mends, after hijack_resume, the entries of children that were still being forked then. */
void attach_mend_late(void);

/* Before anything stops: what can be known then, and the best nice value that is permitted (see
 * hijack_helper, too). */
void attach_prepare_stop(struct attach *a);
