/* SPDX-License-Identifier: MIT
 * Escape sequences of terminals: known ones are keys, no part of an unknown one is, however they are
 * cut into reads.
 */
#include <stdint.h>
#include <stdio.h>

#include "ms-top/term/input.c"

#define MOST 16

static unsigned failures;

static void fail(const char *bytes, int got, int want)
{
	failures++;
	printf("FAILED:");
	for (const char *c = bytes; *c; c++)
		printf(*c > ' ' && *c < 127 ? " %c" : " %02x", (unsigned char)*c);
	printf(": %d, not %d\n", got, want);
}

/* The keys of the bytes, and what there is when nothing more comes. */
static unsigned keys_of(const char *bytes, int *got)
{
	struct input in = {0};
	unsigned n = 0;
	for (const char *c = bytes; *c; c++) {
		int key = input_byte(&in, (unsigned char)*c);
		if (key != TERM_NONE && n < MOST)
			got[n++] = key;
	}
	while (input_patience(&in)) {
		int key = input_rest(&in);
		if (key != TERM_NONE && n < MOST)
			got[n++] = key;
	}
	return n;
}

static const struct {
	const char *bytes;
	int want[4]; /* up to 0 */
} cases[] = {
	{"q", {'q'}},
	{"\033", {27}},
	{"\033\033", {27, 27}},
	{"\033\033\033", {27, 27, 27}},
	{"\177\b", {KEY_BACKSPACE, KEY_BACKSPACE}},
	{"\303\244q", {0xc3, 0xa4, 'q'}},
	/* arrows, with CSI and SS3, and modifiers */
	{"\033[A\033[B\033OA\033OB", {KEY_UP, KEY_DOWN, KEY_UP, KEY_DOWN}},
	{"\033[1;5A\033[1;2D\033O5B\033[b", {KEY_UP, KEY_LEFT, KEY_DOWN, KEY_DOWN}},
	{"\033\033[A", {KEY_UP}},
	/* Home and End of everybody */
	{"\033[H\033[1~\033[7~\033OH", {KEY_HOME, KEY_HOME, KEY_HOME, KEY_HOME}},
	{"\033[F\033[4~\033[8~\033OF", {KEY_END, KEY_END, KEY_END, KEY_END}},
	{"\033[1;5F\033[4;2~\033[8^\033[7$", {KEY_END, KEY_END, KEY_END, KEY_HOME}},
	{"\033[5~\033[6~\033[5;3~\033[6@", {KEY_PPAGE, KEY_NPAGE, KEY_PPAGE, KEY_NPAGE}},
	{"\033OP\033[11~\033[[Ax", {KEY_F(1), KEY_F(1), KEY_F(1), 'x'}},
	{"\033OM", {KEY_ENTER}},
	/* Alt with a character is none, of several bytes too */
	{"\033x\033q\033r\033Q", {0}},
	{"\033\303\244q", {'q'}},
	{"\033\360\237\230\200q", {'q'}},
	{"\033\rq", {'q'}},
	/* what nobody knows goes whole */
	{"\033[15~\033[24;5~\033[[C\033OQq", {'q'}},
	{"\033[Iq", {'q'}},
	{"\033[200~\033[?1;2c\033[>0q\033[0 qj", {'j'}},
	{"\033[27;5;9~\033[999999999999;1R\033[1;1;1;1;1;1Rj", {'j'}},
	/* broken off */
	{"\033[1;\033[Aj", {KEY_UP, 'j'}},
	{"\033O\033OAj", {KEY_UP, 'j'}},
	{"\033[1;\nj", {'j'}},
	/* the mouse: wheel, click, release, other buttons, dragging */
	{"\033[M`!!\033[Ma!!j", {TERM_WHEEL_UP, TERM_WHEEL_DOWN, 'j'}},
	{"\033[<64;1;1M\033[<65;300;200Mj", {TERM_WHEEL_UP, TERM_WHEEL_DOWN, 'j'}},
	{"\033[M !!\033[M#!!\033[<0;5;7M\033[<0;5;7m", {TERM_CLICK, TERM_CLICK}},
	{"\033[<2;1;1M\033[<32;1;1M\033[32;1;1Mj", {'j'}},
	{"\033[<16;1;1M\033[<0;0;0M", {TERM_CLICK}},
};

static void test_cases(void)
{
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		int got[MOST] = {0};
		unsigned n = keys_of(cases[i].bytes, got), want = 0;
		while (want < 4 && cases[i].want[want])
			want++;
		if (n != want)
			fail(cases[i].bytes, (int)n, (int)want);
		for (unsigned k = 0; k < n && k < want; k++)
			if (got[k] != cases[i].want[k])
				fail(cases[i].bytes, got[k], cases[i].want[k]);
	}
}

static void test_place(void)
{
	struct input in = {0};
	for (const char *c = "\033[<0;300;41M"; *c; c++)
		input_byte(&in, (unsigned char)*c);
	if (in.row != 40 || in.col != 299)
		fail("place", in.row, 40);
	for (const char *c = "\033[M &)"; *c; c++)
		input_byte(&in, (unsigned char)*c);
	if (in.row != 8 || in.col != 5)
		fail("place of three bytes", in.row, 8);
}

/* Whatever comes: no key that is not one, and after a second of nothing, all is as in the
 * beginning. */
static void test_any(void)
{
	uint32_t random = 1;
	struct input in = {0};
	for (unsigned i = 0; i < 2000000; i++) {
		random = random * 1664525 + 1013904223;
		unsigned char c = random >> 29 == 0 ? 27
				  : random >> 29 <= 2
					  ? (unsigned char)"[O<M;1~\033"[random >> 20 & 7]
					  : (unsigned char)(random >> 16);
		int key = input_byte(&in, c);
		if (key < TERM_CLICK || key > KEY_MAX || key == 0)
			fail("any", key, 0);
		if ((random >> 8) % 50 == 0)
			while (input_patience(&in))
				input_rest(&in);
	}
}

int main(void)
{
	test_cases();
	test_place();
	test_any();
	if (!failures)
		puts("ok");
	return failures != 0;
}
