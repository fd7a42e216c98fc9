/* SPDX-License-Identifier: MIT
 * Code objects of CPython, sent when a thread meets them first.
 *
 * A code object's name, file and line table are sent when the thread meets it first, in this moment,
 * for it may be gone before ms-record looks. One that comes to lie where another one was is told by
 * a few words of what it holds.
 */
#include "python.h"

#define WAYS 4u
#define TEXT_BYTES 72u
#define PIECE_WORDS 448u
#define CODE_WORDS 4u
#define SUM_WORDS 64u

struct text {
	uint64_t at, bytes;
	uint32_t width;
};

/* Finds the text of a str or bytes object. */
static bool find_text(struct mg_python_stack *p, uint64_t object, bool is_str, struct text *t)
{
	if (object & 7 || !can_read(p, object, TEXT_BYTES))
		return false;
	uint64_t state = is_str ? word(object + mg_py.state) : 0, n = word(object + mg_py.length);
	*t = (struct text){object + mg_py.bytes, n, 1};
	if (is_str) {
		t->width = state >> 2 & 7;
		t->at = object + (state >> 6 & 1 ? mg_py.ascii : mg_py.compact);
		if (!(state >> 5 & 1) || t->width > 4 || t->width == 3 || !t->width)
			return false;
		t->bytes = (n < MG_CODE_TEXT_MOST / 4 ? n : MG_CODE_TEXT_MOST / 4) * t->width;
	}
	if (t->bytes > MG_CODE_LINES_MOST)
		t->bytes = 0; /* the line table is too long: frames of this code get no line
				 numbers */
	return !t->bytes || can_read(p, t->at, t->bytes);
}

/* Sends a part of a code object in pieces. */
static bool send_part(struct mg_writer *t, uint32_t slot, uint64_t head, const struct text *text)
{
	uint64_t done = 0;
	do {
		uint64_t left = text->bytes - done;
		uint32_t bytes = left < PIECE_WORDS * 8 ? (uint32_t)left : PIECE_WORDS * 8;
		uint32_t words = CODE_WORDS + (bytes + 7) / 8;
		uint64_t *w = mg_room(t, words);
		if (!w)
			return false;
		w[words - 1] = 0;
		w[0] = mg_word0(MG_CODE, t->flags, words - CODE_WORDS, slot);
		w[1] = head | (uint64_t)text->width << 40;
		w[2] = text->bytes;
		w[3] = done;
		for (uint32_t i = 0; i < bytes; i++, done++)
			((unsigned char *)(w + CODE_WORDS))[i] =
				*(const volatile unsigned char *)(text->at + done);
		mg_publish(t, words);
	} while (done < text->bytes);
	return true;
}

/* Returns a checksum of a line table: of all words if there are at most SUM_WORDS, else of about
 * SUM_WORDS of them at equal distances. Two functions of the same name that reuse an address may
 * have tables of the same length and with the same end. */
static uint64_t sum_of(const struct code *c)
{
	uint64_t sum = 0, end = c->lines + c->lines_bytes - 8;
	uint64_t step = c->lines_bytes > SUM_WORDS * 8 ? c->lines_bytes / SUM_WORDS : 8;
	if (c->lines_bytes < 8)
		return c->lines_bytes ? word(c->lines) : 0;
	for (uint64_t at = c->lines; at < end; at += step)
		sum = (sum << 1 | sum >> 63) ^ word(at);
	return (sum << 1 | sum >> 63) ^ word(end);
}

/* Tells whether the code object at `code` is still the one described by `c`. If it has the same
 * name, file and line table objects, they still exist and their content may be read. */
static bool is_same(const struct code *c, uint64_t code)
{
	uint64_t x = (word(code + 8) ^ mg_py.code_type) | (word(code + 16) ^ c->size) |
		     (word(code + mg_py.first_line) ^ c->line);
#pragma GCC unroll 3
	for (uint32_t i = 0; i < PARTS; i++)
		x |= word(code + mg_py.object[i]) ^ c->object[i];
	if (x)
		return false;
#pragma GCC unroll 3
	for (uint32_t i = 0; i < PARTS; i++)
		x |= word(c->object[i] + mg_py.length) ^ c->length[i];
	if (x)
		return false;
#pragma GCC unroll 4
	for (uint32_t i = 0; i < 2 * STR_WORDS; i++)
		x |= word(c->words[i].address) ^ c->words[i].value;
	return !x && sum_of(c) == c->sum;
}

/* Notes words that identify a text later: the hash of a str if it has been computed, else words
 * in its middle and at its end. */
static void note_text(struct code *c, uint32_t part, uint64_t object, const struct text *t)
{
	uint64_t length = object + mg_py.length;
	c->object[part] = object;
	c->length[part] = word(length);
	if (part == MG_CODE_LINES) {
		c->lines = t->at;
		c->lines_bytes = t->bytes;
		c->sum = sum_of(c);
		return;
	}
	bool hashed = word(length + 8) != ~UINT64_C(0);
	for (uint64_t i = 1; i <= STR_WORDS; i++) {
		uint64_t at = hashed || t->bytes < 8 ? length + 8
						     : t->at + (t->bytes - 8) * i / STR_WORDS;
		c->words[part * STR_WORDS + i - 1] = (struct mg_slot){at, word(at)};
	}
}

/* Sends a code object that ms-record does not know, and stores it in slot `into` of the table. */
static bool send_code(struct mg_writer *t, struct mg_python_stack *p, uint64_t code,
		      struct code *into)
{
	struct text text[PARTS];
	for (uint32_t i = 0; i < PARTS; i++)
		if (word(code + 8) != mg_py.code_type ||
		    !find_text(p, word(code + mg_py.object[i]), i != MG_CODE_LINES, &text[i]))
			return false;
	if (!p->restamp) /* sending may wait for room in the ring */
		mg_forget_now(t);
	p->restamp = true;
	uint64_t line = word(code + mg_py.first_line);
	*into = (struct code){.event = p->event, .size = word(code + 16), .line = line};
	for (uint64_t i = 0; i < PARTS; i++) {
		if (!send_part(t, (uint32_t)(into - p->codes), (line & UINT32_MAX) | i << 32,
			       &text[i]))
			return false;
		note_text(into, (uint32_t)i, word(code + mg_py.object[i]), &text[i]);
	}
	into->address = code;
	return true;
}

/* Returns the slot (table index) of a code object, or -1. If needed, reuses the slot used longest
 * ago that the current stack does not use. */
static int32_t slot_of(struct mg_writer *t, struct mg_python_stack *p, uint64_t code)
{
	struct code *c = p->codes, *old;
	c += (code >> 4) * MG_SAMPLE_GOLDEN >> 55 & ~(uint64_t)(WAYS - 1);
	old = c;
	if (code & 7 || !can_read(p, code, CODE_BYTES))
		return -1;
	for (uint32_t i = 0; i < WAYS; i++, c++) {
		if (c->address == code && (c->event == p->event || is_same(c, code))) {
			c->event = p->event;
			return (int32_t)(c - p->codes);
		}
		old = c->event < old->event ? c : old;
	}
	if (old->event == p->event)
		return -1;
	return send_code(t, p, code, old) ? (int32_t)(old - p->codes) : -1;
}

uint64_t mg_python_sent(struct mg_writer *t, struct mg_python_stack *p, const struct frame *f)
{
	int32_t slot = slot_of(t, p, f->code);
	if (slot < 0)
		return 0;
	uint64_t into = (f->instruction - f->code - mg_py.instructions) / 2 + 1;
	if (!mg_py.owner) { /* the frame's last instruction; -1 = before the first one */
		int32_t last = (int32_t)f->instruction;
		into = last < 0 ? 0 : (uint32_t)last / mg_py.unit + 1;
	}
	if (into >> MG_INSTRUCTION_BITS)
		into = 0;
	return MG_INTERPRETED | (uint64_t)slot << MG_INSTRUCTION_BITS | into;
}
