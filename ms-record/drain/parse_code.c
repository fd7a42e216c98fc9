/* SPDX-License-Identifier: MIT
 * Assembles code objects of an interpreter from the pieces in a ring.
 */
#include "parse_code.h"

#include <string.h>

#include "libcommon/base/arena.h"
#include "ms-record/code/interpreter.h"
#include "ms-record/session/session.h"

enum { PARTS = 3 };

struct reader_codes {
	uint32_t number[MG_CODE_SLOTS]; /* number of the code object in each slot of the guest; 0 =
					   none */
	/* The code object being assembled. */
	uint32_t slot, next; /* guest's slot of the code object; number of the part expected next */
	struct interpreter_code code;
	uint8_t *bytes[PARTS];
	size_t room[PARTS];
};

static uint8_t *room_for(struct reader_codes *k, unsigned part, size_t n)
{
	if (n > k->room[part]) {
		k->room[part] = n * 2;
		k->bytes[part] = ms_xrealloc(k->bytes[part], k->room[part], 1);
	}
	return k->bytes[part];
}

/* Ends a part of the code object. The last part completes it. */
static void end_part(struct session *s, struct reader_codes *k)
{
	if (++k->next < PARTS)
		return;
	for (unsigned p = 0; p < PARTS; p++)
		k->code.part[p].bytes = k->bytes[p];
	k->number[k->slot] = interpreter_add_code(&s->modules, &k->code);
}

int parse_code(struct session *s, struct reader *r, const struct record *c, uint64_t *words)
{
	uint64_t head = word(c, 1), total = word(c, 2), done = word(c, 3);
	unsigned part = head >> 32 & 0xff, width = head >> 40 & 0xff;
	uint64_t most = part == MG_CODE_LINES ? MG_CODE_LINES_MOST : MG_CODE_TEXT_MOST;
	uint64_t n = c->count * UINT64_C(8);
	*words += c->count;
	if (*words * 8 > c->left)
		return session_damaged(s, "a Python code object runs past its buffer");
	if (!r->codes)
		r->codes = ms_xcalloc(1, sizeof *r->codes);
	struct reader_codes *k = r->codes;
	if (part == MG_CODE_NAME && !done) { /* a new code object begins: drops an unfinished one */
		k->next = 0;
		k->slot = c->keep;
		k->code = (struct interpreter_code){.first_line = (uint32_t)head};
		if (k->slot < MG_CODE_SLOTS)
			k->number[k->slot] = 0;
	}
	if (c->keep >= MG_CODE_SLOTS || part >= PARTS || part != k->next || c->keep != k->slot ||
	    total > most || done > total || done != k->code.part[part].n ||
	    (width != 1 && width != 2 && width != 4) || n > total - done + 7)
		return session_damaged(s, "a Python code object is out of range");
	n = n < total - done ? n : total - done;
	if (n)
		memcpy(room_for(k, part, total) + done, c->w + 4, n);
	k->code.part[part] = (struct interpreter_text){NULL, done + n, width};
	if (done + n == total)
		end_part(s, k);
	return 0;
}

void parse_code_forget(struct reader *r)
{
	if (r->codes)
		memset(r->codes->number, 0, sizeof r->codes->number);
}

void parse_code_free(struct reader *r)
{
	if (r->codes)
		MS_FREE(r->codes->bytes[0], r->codes->bytes[1], r->codes->bytes[2], r->codes);
	r->codes = NULL;
}

uint64_t parse_code_frame(const struct reader *r, uint64_t ip)
{
	uint64_t slot = (ip ^ MG_INTERPRETED) >> MG_INSTRUCTION_BITS;
	uint64_t number = r->codes && slot < MG_CODE_SLOTS ? r->codes->number[slot] : 0;
	uint64_t instruction = ip & ((UINT64_C(1) << MG_INSTRUCTION_BITS) - 1);
	return MG_INTERPRETED | number << MG_INSTRUCTION_BITS | instruction;
}
