/* SPDX-License-Identifier: MIT
 * Finds an interpreter in a process and passes the positions of its data to the guest.
 *
 * The fields of code objects have offsets that depend on the version of CPython. The guest checks
 * the data it reads there as far as possible.
 */
#include "interpreter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpreter_private.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/order.h"
#include "libcommon/base/path.h"
#include "ms-record/ptrace/attach_elf.h"
#include "ms-record/ptrace/cpu.h"
#include "code.h"

#define EVAL_MOST (1u << 20)  /* largest code searched for jumps, in bytes */
#define TABLE_MOST (1u << 20) /* most functions in the unwind table */
#define COLD_LEAST 4u         /* fewest jumps that identify a cold part */

/* ---- the cold part of a function ---- */

struct function {
	int32_t start, entry; /* offsets from the table's header, as in .eh_frame_hdr */
};

/* Finds the cold part of a function: compilers move rarely executed code elsewhere. Takes the entry
 * of the module's unwind table to which most jumps of the function lead. */
static void find_cold(const struct attach_memory *mem, const struct attach_module *m,
		      const struct attach_symbol *eval, uint64_t cold[2])
{
	uint8_t head[12];
	uint32_t n;
	if (!m->eh_frame_hdr || eval->bytes > EVAL_MOST ||
	    !mem->read(mem->arg, m->eh_frame_hdr, head, sizeof head) || head[3] != 0x3b)
		return;
	memcpy(&n, head + 8, sizeof n);
	if (n < 2 || n > TABLE_MOST)
		return;
	struct function *f = ms_xcalloc(n, sizeof *f);
	uint32_t *jumps = ms_xcalloc(n, sizeof *jumps), most = 0;
	uint8_t *code = ms_xcalloc(eval->bytes + CPU_JUMP_MOST, 1);
	bool good = mem->read(mem->arg, m->eh_frame_hdr + sizeof head, f, n * sizeof *f) &&
		    mem->read(mem->arg, eval->address, code, eval->bytes);
	for (uint64_t i = 0, to; good && i < eval->bytes; i++) {
		if (!cpu_far_jump(code + i, eval->address + i, &to) ||
		    to - eval->address < eval->bytes ||
		    to - m->code_low >= m->code_high - m->code_low)
			continue;
		int64_t at = (int64_t)(to - m->eh_frame_hdr);
		size_t k = MS_COUNT_UP_TO(f, n, start, at);
		if (k && ++jumps[k - 1] > jumps[most])
			most = (uint32_t)k - 1;
	}
	if (good && jumps[most] >= COLD_LEAST) {
		cold[0] = m->eh_frame_hdr + (uint64_t)(int64_t)f[most].start;
		cold[1] = most + 1 < n ? m->eh_frame_hdr + (uint64_t)(int64_t)f[most + 1].start
				       : m->code_high;
	}
	MS_FREE(f, jumps, code);
}

/* ---- versions ---- */

/* Offsets in frames and thread states, from frameobject.h, pycore_frame.h and cpython/pystate.h.
 * Version 3.11.0 is not supported: it clears a frame before unlinking it. */
#define FRAME_TO_3_10 .now = 24, .thread = 176, .code = 32, .previous = 24
#define FRAME_FROM_3_12 .code = 0, .previous = 8, .instruction = 56
#define STATE_OF_3_13 .chunk = 232, .now = 72, .thread = 152
/* Offsets in code objects, from cpython/code.h. */
#define CODE_TO_3_10                                                                               \
	.first_line = 40,                                                                          \
	.object = {[MG_CODE_NAME] = 112, [MG_CODE_FILE] = 104, [MG_CODE_LINES] = 120}
#define CODE_FROM_3_11                                                                             \
	.lines = MG_LINES_COLUMNS,                                                                 \
	.object = {[MG_CODE_NAME] = 128, [MG_CODE_FILE] = 112, [MG_CODE_LINES] = 136}
/* Offsets in str and bytes objects, from cpython/unicodeobject.h and bytesobject.h. */
#define TEXT .length = 16, .state = 32, .bytes = 32
#define TEXT_TO_3_11 TEXT, .ascii = 48, .compact = 72
#define TEXT_FROM_3_12 TEXT, .ascii = 40, .compact = 56
#define FROM_3_14                                                                                  \
	FRAME_FROM_3_12, .owner = 74, CODE_FROM_3_11, .first_line = 68, .traceable = 192,          \
			 .instructions = 208, TEXT_FROM_3_12

static const struct version {
	uint32_t from, to; /* the row is for versions in [from, to), numbered like PY_VERSION_HEX */
	struct mg_python offsets;
} versions[] = {
	{0x03080000,
	 0x030a0000,
	 {FRAME_TO_3_10, .instruction = 104, .unit = 2, CODE_TO_3_10, .lines = MG_LINES_BEHIND,
	  TEXT_TO_3_11}},
	{0x030a0000,
	 0x030b0000,
	 {FRAME_TO_3_10, .instruction = 96, .unit = 1, CODE_TO_3_10, .lines = MG_LINES_BEFORE,
	  TEXT_TO_3_11}},
	{0x030b01f0,
	 0x030c0000,
	 {.root = 336,
	  .chunk = 296,
	  .now = 56,
	  .current = 8,
	  .outer = 16,
	  .code = 32,
	  .previous = 48,
	  .instruction = 56,
	  .entry = 68,
	  .owner = 69,
	  CODE_FROM_3_11,
	  .first_line = 72,
	  .traceable = 168,
	  .instructions = 184,
	  TEXT_TO_3_11}},
	{0x030c00f0,
	 0x030d0000,
	 {.root = 272,
	  .chunk = 232,
	  .now = 56,
	  .current = 0,
	  .outer = 8,
	  FRAME_FROM_3_12,
	  .owner = 70,
	  CODE_FROM_3_11,
	  .first_line = 68,
	  .traceable = 176,
	  .instructions = 192,
	  TEXT_FROM_3_12}},
	{0x030d00f0,
	 0x030e0000,
	 {STATE_OF_3_13, FRAME_FROM_3_12, .owner = 70, CODE_FROM_3_11, .first_line = 68,
	  .traceable = 184, .instructions = 200, TEXT_FROM_3_12}},
	{0x030e00f0, 0x030f0000, {STATE_OF_3_13, FROM_3_14}},
	{0x030f00f0, 0x03100000, {.chunk = 256, .now = 72, .thread = 176, FROM_3_14}},
};

enum { RUNTIME, VERSION, EVAL, CODE_TYPE, IN_3_10, IN_3_9, IN_3_8, FREE_THREADED, SYMBOLS };

#define NO_PATCH 0xffu /* value of the patch level if not known */

/* Returns the version in the format of PY_VERSION_HEX; 0 = before 3.8. */
static uint32_t version_of(const struct attach_memory *mem, const struct attach_symbol *found)
{
	uint32_t hex = 0;
	if (found[VERSION].address) /* a symbol of Python 3.11 and later */
		mem->read(mem->arg, found[VERSION].address, &hex, sizeof hex);
	else if (found[IN_3_10].address)
		hex = 0x030a0000 | NO_PATCH << 8;
	else if (found[IN_3_9].address)
		hex = 0x03090000 | NO_PATCH << 8;
	else if (found[IN_3_8].address)
		hex = 0x03080000 | NO_PATCH << 8;
	return hex;
}

static void tell(struct modules *all, const struct version *v, const struct attach_memory *mem,
		 const struct attach_module *m, const struct attach_symbol *found)
{
	struct mg_python p = v->offsets;
	p.code_type = found[CODE_TYPE].address;
	p.eval[0][0] = found[EVAL].address;
	p.eval[0][1] = found[EVAL].address + found[EVAL].bytes;
	find_cold(mem, m, &found[EVAL], p.eval[1]);
	all->mem->python = p;
	__atomic_store_n(&all->mem->python.ready, 1, __ATOMIC_RELEASE);
	__atomic_add_fetch(&all->mem->epoch, 1, __ATOMIC_SEQ_CST); /* threads read the addresses
								      when they see a new epoch */
}

static void note_unknown(struct modules *all, uint32_t hex, bool another, bool free_threaded)
{
	struct interpreter *i = interpreter_of(all);
	char version[16] = "before 3.8";
	uint32_t patch = hex >> 8 & 0xff;
	if (hex)
		snprintf(version, sizeof version, patch == NO_PATCH ? "%u.%u" : "%u.%u.%u",
			 hex >> 24, hex >> 16 & 0xff, patch);
	snprintf(i->unknown, sizeof i->unknown, "%s%sPython %s", another ? "another " : "",
		 free_threaded ? "free-threaded " : "", version);
}

/* Tells whether the module may be a Python interpreter, by its name. If `another` was found
 * already, the name must begin with "python" or "libpython". */
static bool may_be_one(const char *name, bool another)
{
	return another ? !strncmp(name, "libpython", 9) || !strncmp(name, "python", 6)
		       : strstr(name, "python") != NULL;
}

void interpreter_look(struct modules *all, const struct attach_map *map)
{
	const struct attach_memory mem = attach_memory_of_process(all->process);
	struct attach_module m;
	struct attach_symbol found[SYMBOLS] = {
		[RUNTIME] = {.name = "_PyRuntime"},
		[VERSION] = {.name = "Py_Version"},
		[EVAL] = {.name = "_PyEval_EvalFrameDefault"},
		[CODE_TYPE] = {.name = "PyCode_Type"},
		[IN_3_10] = {.name = "PyIter_Send"},
		[IN_3_9] = {.name = "PyFrame_GetCode"},
		[IN_3_8] = {.name = "PyCode_NewWithPosOnlyArgs"},
		[FREE_THREADED] = {.name = "_Py_MergeZeroLocalRefcount"}};
	bool another = all->image->python.ready;
	if (all->no_interpreter || map->offset || !may_be_one(ms_base_name(map->path), another) ||
	    !attach_elf_module(&mem, &all->maps, map, &m))
		return;
	attach_elf_dynamic(&mem, &m, found, SYMBOLS);
	if (!found[RUNTIME].address ||
	    (another && found[EVAL].address == all->image->python.eval[0][0]))
		return;
	uint32_t hex = version_of(&mem, found);
	bool free_threaded = found[FREE_THREADED].address;
	for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
		if (all->image == all->mem && !another && !free_threaded &&
		    hex >= versions[i].from && hex < versions[i].to && found[EVAL].bytes &&
		    found[CODE_TYPE].address) {
			tell(all, &versions[i], &mem, &m, found);
			return;
		}
	note_unknown(all, hex, another, free_threaded);
}

void interpreter_missed(struct modules *all, const char *path)
{
	if (all->no_interpreter || !may_be_one(ms_base_name(path), true))
		return;
	struct interpreter *i = interpreter_of(all);
	if (!*i->unknown)
		snprintf(i->unknown, sizeof i->unknown,
			 all->image->python.ready ? "another Python" : "Python");
}

void interpreter_find(struct modules *all)
{
	for (size_t i = 0; i < all->maps.n; i++)
		interpreter_look(all, &all->maps.v[i]);
}

const char *interpreter_unknown(const struct modules *all)
{
	return all->interpreter && *all->interpreter->unknown ? all->interpreter->unknown : NULL;
}
