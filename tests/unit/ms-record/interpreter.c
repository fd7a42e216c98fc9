/* SPDX-License-Identifier: MIT
 * Code objects of an interpreter: lines by CPython's tables, and pieces as a ring brings them, whole
 * and damaged.
 */
#include "ms-record/code/interpreter.h"

#include <stdlib.h>
#include <string.h>

#include "ms-record/drain/parse_code.h"
#include "ms-record/session/session.h"
#include "tests/unit/check.h"

/* Holds the location table of a function of CPython 3.11, and the line of each instruction. */
static const char table_hex[] =
	"8000f00402090ff00002090f9545982191489448f00002090ff10002090ff40002090f8041f00605050edd0f10"
	"d8"
	"0c0dd80c0df10502100ff40002100ff008000d0e8841f888418805880588058805";
static const uint16_t table_lines[] = {1, 3, 3, 3, 3, 3, 3, 3, 3,  3,  3, 3,  3,  3,  3,  3, 3,
				       3, 3, 3, 3, 3, 3, 3, 3, 3,  6,  7, 7,  7,  7,  7,  7, 8,
				       9, 7, 7, 7, 7, 7, 7, 7, 11, 11, 0, 11, 11, 11, 11, 11};
/* A line far from the one before, and one back. */
static const uint8_t far_table[] = {0xe8, 0x5a, 0x09, 0xe8, 0x05};

/* Holds the line tables and the lines of one generator as CPython 3.9 and 3.10 compiled it. */
static const char behind_hex[] = "00020c010801020102ff08040201040102ff06031601";
static const uint16_t behind_lines[] = {3,  3,  3,  3,  3,  3,  4,  4,  4,  4,  5,  6,
					5,  5,  5,  5,  9,  10, 10, 11, 10, 10, 10, 13,
					13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 14, 14};
static const char before_hex[] = "02800c0208010201020108ff02040401020106ff14030401";
static const uint16_t before_lines[] = {0,  3,  3,  3,  3,  3,  3,  4,  4,  4,  4,  5,
					6,  5,  5,  5,  5,  9,  10, 10, 11, 10, 10, 10,
					13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 14, 14};

#define COUNT_OF(a) (sizeof(a) / sizeof *(a))

static size_t from_hex(const char *hex, uint8_t *out)
{
	size_t n = strlen(hex) / 2;
	for (size_t i = 0; i < n; i++) {
		char two[3] = {hex[2 * i], hex[2 * i + 1], 0};
		out[i] = (uint8_t)strtoul(two, NULL, 16);
	}
	return n;
}

static void check_table(enum mg_code_lines how, const char *hex, const uint16_t *lines, size_t n,
			uint32_t behind)
{
	uint8_t table[256];
	size_t bytes = from_hex(hex, table);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t line = interpreter_line(how, table, bytes, 1, i);
		CHECK(line == lines[i], "%u: instruction %u: line %u", how, i, line);
	}
	uint32_t line = interpreter_line(how, table, bytes, 1, (uint32_t)n);
	CHECK(line == behind, "%u: line %u behind the end", how, line);
}

static void check_lines(void)
{
	check_table(MG_LINES_COLUMNS, table_hex, table_lines, COUNT_OF(table_lines), 0);
	check_table(MG_LINES_BEHIND, behind_hex, behind_lines, COUNT_OF(behind_lines), 14);
	check_table(MG_LINES_BEFORE, before_hex, before_lines, COUNT_OF(before_lines), 0);
	CHECK(!interpreter_line(MG_LINES_COLUMNS, NULL, 0, 7, 0), "a line in an empty table");
	CHECK(!interpreter_line(MG_LINES_BEFORE, NULL, 0, 7, 0), "a line in an empty table");
	CHECK(interpreter_line(MG_LINES_BEHIND, NULL, 0, 7, 0) == 7, "one line: not the first");
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t line =
			interpreter_line(MG_LINES_COLUMNS, far_table, sizeof far_table, 100, i);
		CHECK(line == 100 + 301 - 2 * i, "%u", line);
	}
}

/* Tables that are cut or changed anywhere, in memory of just that size. */
static void check_damaged_lines(void)
{
	static const char *const tables[] = {behind_hex, before_hex, table_hex};
	uint8_t whole[256];
	for (unsigned how = MG_LINES_BEHIND; how <= MG_LINES_COLUMNS; how++) {
		size_t n = from_hex(tables[how], whole);
		for (size_t cut = 0; cut <= n; cut++)
			for (unsigned flip = 0; flip < 256; flip += 5) {
				uint8_t *t = malloc(cut + !cut);
				memcpy(t, whole, cut);
				if (cut)
					t[flip % cut] ^= (uint8_t)(flip | 1);
				for (uint32_t i = 0; i < 60; i += 7)
					interpreter_line(how, t, cut, 1, i);
				free(t);
			}
	}
}

/* ---- pieces ---- */

static struct mg_session memory;
static struct session s;
static struct reader r;

struct piece {
	uint64_t slot, line, part, width, total, done;
	const char *text;
	size_t n;
};

/* Sends a piece of a code object as the guest does. */
static int send(const struct piece *p, uint64_t left)
{
	uint64_t w[64] = {0};
	size_t count = (p->n + 7) / 8;
	w[1] = p->line | p->part << 32 | p->width << 40;
	w[2] = p->total;
	w[3] = p->done;
	memcpy(w + 4, p->text, p->n);
	struct record c = {.w = w,
			   .kind = MG_CODE,
			   .count = (uint32_t)count,
			   .keep = (uint32_t)p->slot,
			   .left = left ? left : (4 + count) * 8};
	uint64_t words = 4;
	return parse_code(&s, &r, &c, &words);
}

static void begin(void)
{
	parse_code_free(&r);
	interpreter_free(s.modules.interpreter);
	s = (struct session){.mem = &memory, .modules = {.mem = &memory, .image = &memory}};
}

static uint64_t code_of(uint64_t slot)
{
	uint64_t ip = parse_code_frame(&r, MG_INTERPRETED | slot << MG_INSTRUCTION_BITS | 5);
	CHECK(MG_IS_INTERPRETED(ip) && (ip & 0xffffff) == 5, "%llx", (unsigned long long)ip);
	return (ip ^ MG_INTERPRETED) >> MG_INSTRUCTION_BITS;
}

static int send_code(uint64_t slot, const char *name, const char *file)
{
	struct piece p[] = {{slot, 3, 0, 1, strlen(name), 0, name, strlen(name)},
			    {slot, 3, 1, 1, strlen(file), 0, file, strlen(file)},
			    {slot, 3, 2, 1, 10, 0, "\x80\0\x80\0\x80\0\x80\0", 8},
			    {slot, 3, 2, 1, 10, 8, "\x80\0", 2}};
	int rc = 0;
	for (size_t i = 0; i < sizeof p / sizeof *p; i++)
		rc |= send(&p[i], 0);
	return rc;
}

static void check_pieces(void)
{
	begin();
	CHECK(!send_code(7, "load", "/a.py") && code_of(7) == 1, "%s", s.damage);
	CHECK(!send_code(8, "load", "/b.py") && code_of(8) == 2, "%s", s.damage);
	CHECK(!send_code(9, "load", "/a.py") && code_of(9) == 1, "not the same: %s", s.damage);
	CHECK(!send_code(7, "", "") && code_of(7) == 3, "%s", s.damage);
	CHECK(code_of(100) == 0 && code_of(100000) == 0, "a slot without code has some");
	/* one that was given up, and another one */
	CHECK(!send(&(struct piece){7, 3, 0, 1, 16, 0, "aaaaaaaa", 8}, 0), "%s", s.damage);
	CHECK(code_of(7) == 0, "half of a code object");
	CHECK(!send_code(7, "load", "/a.py") && code_of(7) == 1, "%s", s.damage);
	parse_code_forget(&r);
	CHECK(code_of(7) == 0, "not forgotten");
}

static void check_damaged_pieces(void)
{
	static const struct {
		const char *what;
		struct piece p;
		uint64_t left;
	} bad[] = {
		{"slot", {MG_CODE_SLOTS, 1, 0, 1, 4, 0, "abcd", 4}, 0},
		{"part", {1, 1, 3, 1, 4, 0, "abcd", 4}, 0},
		{"first part", {1, 1, 1, 1, 4, 0, "abcd", 4}, 0},
		{"width", {1, 1, 0, 3, 4, 0, "abcd", 4}, 0},
		{"no width", {1, 1, 0, 0, 4, 0, "abcd", 4}, 0},
		{"too long", {1, 1, 0, 1, MG_CODE_TEXT_MOST + 1, 0, "abcd", 4}, 0},
		{"begins late", {1, 1, 0, 1, 16, 8, "abcdabcd", 8}, 0},
		{"behind its end", {1, 1, 0, 1, 4, 8, "abcd", 4}, 0},
		{"more than its total", {1, 1, 0, 1, 4, 0, "abcdabcdabcdabcd", 16}, 0},
		{"behind the buffer", {1, 1, 0, 1, 8, 0, "abcdabcd", 8}, 32},
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		begin();
		CHECK(send(&bad[i].p, bad[i].left) == -1 && s.damaged, "%s", bad[i].what);
	}
	/* anything */
	uint64_t x = 1;
	for (int i = 0; i < 200000; i++) {
		if (s.damaged)
			begin();
		x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
		uint64_t y = x >> 33;
		struct piece p = {y & 1,
				  y >> 1 & 1,
				  y >> 2 & 3 ? y >> 4 & 3 : 0,
				  1 << (y >> 6 & 3),
				  y >> 8 & 31,
				  y >> 13 & 3 ? 0 : 8,
				  "abcdefghijklmnopqrstuvwxyzabcdef",
				  y >> 15 & 31};
		send(&p, 0);
	}
	begin();
}

int main(void)
{
	check_lines();
	check_damaged_lines();
	check_pieces();
	check_damaged_pieces();
	return failures != 0;
}
