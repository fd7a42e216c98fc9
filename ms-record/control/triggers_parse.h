/* SPDX-License-Identifier: MIT
 * What --when and --retention-at ask for: conditions and actions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/base/operator.h"
#include "ms-record/base/cgroup.h"

struct ms_err;

#define TRIGGER_TIMES 10u /* firings in a program image, unless the trigger says otherwise */

enum trigger_kind {
	TRIGGER_LEVEL, /* a figure is larger or smaller than `limit` */
	TRIGGER_GROWS, /* a figure rises by `limit` within `ns` */
	TRIGGER_EVENT, /* an allocation failed, or memory.events of the control group has one more */
	TRIGGER_EVERY, /* `ns` have passed */
};
enum trigger_figure { TRIGGER_RSS, TRIGGER_LIVE, TRIGGER_CGROUP, TRIGGER_FAILED, TRIGGER_TIME };
enum {
	TRIGGER_SCAN = 1,      /* leak-check, and unless it is off what keeps blocks reachable */
	TRIGGER_RETENTION = 2, /* the same scan, which must tell what keeps blocks */
	TRIGGER_RESIDENT = 4,
	TRIGGER_START = 8,
	TRIGGER_STOP = 16,
	TRIGGER_CHECKPOINT = 32,
};

struct trigger {
	char *text; /* the condition as typed, which names its mark; its other texts follow it */
	const char *label; /* of its scan; NULL = "mark:TEXT". With one no mark is set */
	enum trigger_kind kind;
	enum trigger_figure figure;
	enum ms_op op;
	bool percent; /* the figure of a control group is a share of its limit */
	uint64_t limit, ns;
	enum cgroup_event event;
	uint64_t times;   /* most firings in a program image; 0 = any number */
	unsigned actions; /* bit set of TRIGGER_* */
	struct {
		const char **v;
		size_t n, cap;
	} marks;           /* mark:NAME */
	char *command;     /* exec, for sh -c: values are in its environment; NULL = none */
	const char *typed; /* the command as typed */
};

struct triggers {
	struct trigger *v;
	size_t n, cap;
};

/* Adds a trigger "CONDITION[, N times]: ACTION[, ACTION...]", as described in ms-record(1).
 * Returns 0, or -1 with `err` set. */
int triggers_add(struct triggers *t, const char *text, struct ms_err *err);
/* Adds a scan of --retention-at, with the label that its trace gets; copied. */
void triggers_add_moment(struct triggers *t, enum trigger_kind kind, enum trigger_figure figure,
			 uint64_t value, const char *label);
/* Returns the first action of the bit set `actions` that a trigger has, by its name, or NULL;
 * `figures`: only of triggers on these figures (bit set). */
const char *triggers_action(const struct triggers *t, unsigned actions, unsigned figures);
/* Tells whether a trigger depends on what the merge finds: live blocks, failed allocations. */
bool triggers_need_merge(const struct triggers *t);
void triggers_free(struct triggers *t);
