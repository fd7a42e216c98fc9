/* SPDX-License-Identifier: MIT
 * Decodes keys from the bytes of a terminal.
 *
 * Modifiers are ignored: Ctrl-End is End. Alt with a character is not a key, so that Alt-q does not
 * quit as q does.
 */
#include "input.h"

#include <ncurses.h>

#include "term.h"

#define ESC 27
#define ESC_MS 100       /* time in which a sequence must continue after its Esc */
#define SEQUENCE_MS 1000 /* time in which a longer sequence must continue */

static void begin(struct input *in, enum input_state state)
{
	*in = (struct input){.state = state, .row = in->row, .col = in->col};
}

static int letter_key(unsigned char c)
{
	static const struct {
		char letter;
		int key;
	} letters[] = {{'A', KEY_UP},   {'B', KEY_DOWN}, {'C', KEY_RIGHT}, {'D', KEY_LEFT},
		       {'a', KEY_UP},   {'b', KEY_DOWN}, {'c', KEY_RIGHT}, {'d', KEY_LEFT},
		       {'H', KEY_HOME}, {'F', KEY_END},  {'P', KEY_F(1)},  {'Z', KEY_BTAB},
		       {'M', KEY_ENTER} /* only in SS3 sequences */};
	for (unsigned i = 0; i < sizeof letters / sizeof letters[0]; i++)
		if ((unsigned char)letters[i].letter == c)
			return letters[i].key;
	return TERM_NONE;
}

/* Returns the key of a sequence "CSI number ~". */
static int number_key(unsigned number)
{
	static const int numbers[] = {
		[1] = KEY_HOME,  [2] = KEY_IC,    [3] = KEY_DC,    [4] = KEY_END,   [5] = KEY_PPAGE,
		[6] = KEY_NPAGE, [7] = KEY_HOME,  [8] = KEY_END,   [11] = KEY_F(1), [13] = KEY_F(3),
		[14] = KEY_F(4), [17] = KEY_F(6), [21] = KEY_F(10)};
	bool known = number < sizeof numbers / sizeof numbers[0] && numbers[number];
	return known ? numbers[number] : TERM_NONE;
}

/* Handles a mouse button at a position from 1. Modifier keys are ignored. */
static int mouse(struct input *in, unsigned button, unsigned col, unsigned row)
{
	in->col = (int)col - 1;
	in->row = (int)row - 1;
	switch (button & ~28u) {
	case 0:
		return col && row ? TERM_CLICK : TERM_NONE;
	case 64:
		return TERM_WHEEL_UP;
	case 65:
		return TERM_WHEEL_DOWN;
	default:
		return TERM_NONE;
	}
}

static int final(struct input *in, unsigned char c)
{
	struct input was = *in;
	begin(in, INPUT_PLAIN);
	if (was.unknown)
		return TERM_NONE;
	if (was.sgr)
		return c == 'M' ? mouse(in, was.number[0], was.number[1], was.number[2])
				: TERM_NONE;
	if (c == '~' || c == '^' || c == '$' || c == '@')
		return number_key(was.number[0]);
	if (c == 'M' && !was.n && !was.number[0]) {
		in->state = INPUT_MOUSE;
		in->left = 3;
		return TERM_NONE;
	}
	return c == 'M' ? TERM_NONE : letter_key(c);
}

/* Handles a byte of a CSI sequence. */
static int csi_byte(struct input *in, unsigned char c)
{
	if (c == ESC) {
		begin(in, INPUT_ESCAPE);
	} else if (c < ' ' || c > '~') {
		/* no byte of a CSI sequence: the sequence was cut off */
		begin(in, INPUT_PLAIN);
	} else if (c >= '0' && c <= '9') {
		unsigned *v = in->n < 4 ? &in->number[in->n] : NULL;
		if (v && *v < 100000)
			*v = *v * 10 + c - '0';
	} else if (c == ';' || c == ':') {
		in->n++;
	} else if (c == '<' && !in->n && !in->number[0]) {
		in->sgr = true;
	} else if (c == '$' && in->number[0] && !in->n) {
		return final(in, c); /* rxvt ends sequences with '$' for keys with Shift */
	} else if (c < '@') {
		in->unknown = true;
	} else if (c == '[' && !in->n && !in->number[0]) {
		/* function keys of the Linux console */
		begin(in, INPUT_LETTER);
		in->unknown = true;
	} else {
		return final(in, c);
	}
	return TERM_NONE;
}

/* Returns the key of a byte after an Esc, or enters the state of a longer sequence. */
static int escaped(struct input *in, unsigned char c)
{
	if (c == '[' || c == 'O') {
		begin(in, c == 'O' ? INPUT_LETTER : INPUT_NUMBERS);
		return TERM_NONE;
	}
	if (c == ESC) {
		/* after a third Esc in a row, the first one is a key by itself */
		bool third = in->state == INPUT_ESCAPES;
		in->state = INPUT_ESCAPES;
		return third ? ESC : TERM_NONE;
	}
	begin(in, c >= 0xc0 ? INPUT_REST : INPUT_PLAIN);
	in->left = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc0;
	return TERM_NONE;
}

static int letter_byte(struct input *in, unsigned char c)
{
	bool linux_console = in->unknown;
	if (c == ESC) {
		begin(in, INPUT_ESCAPE);
		return TERM_NONE;
	}
	if ((c >= '0' && c <= '9') || c == ';')
		return TERM_NONE;
	begin(in, INPUT_PLAIN);
	if (linux_console)
		return c == 'A' ? KEY_F(1) : TERM_NONE;
	/* F3 and F4 after SS3; after CSI, R would report the position of the cursor */
	return c == 'R' ? KEY_F(3) : c == 'S' ? KEY_F(4) : letter_key(c);
}

int input_byte(struct input *in, unsigned char c)
{
	switch (in->state) {
	case INPUT_ESCAPE:
	case INPUT_ESCAPES:
		return escaped(in, c);
	case INPUT_LETTER:
		return letter_byte(in, c);
	case INPUT_NUMBERS:
		return csi_byte(in, c);
	case INPUT_MOUSE:
		in->number[--in->left] = c >= 32 ? c - 32u : 0;
		if (in->left)
			return TERM_NONE;
		in->state = INPUT_PLAIN;
		return mouse(in, in->number[2], in->number[1], in->number[0]);
	case INPUT_REST:
		/* a byte that does not continue the character is a key of its own */
		in->state = --in->left ? INPUT_REST : INPUT_PLAIN;
		if ((c & 0xc0) == 0x80)
			return TERM_NONE;
		in->state = INPUT_PLAIN;
		break;
	default:
		break;
	}
	if (c == ESC) {
		begin(in, INPUT_ESCAPE);
		return TERM_NONE;
	}
	return c == 127 || c == 8 ? KEY_BACKSPACE : c ? c : TERM_NONE;
}

int input_patience(const struct input *in)
{
	if (in->state == INPUT_PLAIN)
		return 0;
	return in->state == INPUT_ESCAPE || in->state == INPUT_ESCAPES ? ESC_MS : SEQUENCE_MS;
}

int input_rest(struct input *in)
{
	enum input_state was = in->state;
	begin(in, was == INPUT_ESCAPES ? INPUT_ESCAPE : INPUT_PLAIN);
	return was == INPUT_ESCAPE || was == INPUT_ESCAPES ? ESC : TERM_NONE;
}
