/* SPDX-License-Identifier: MIT
 * Bytes from a terminal, as keys: escape sequences are taken whole, whether or not they are known,
 * also when they come in several reads. Nothing of one that is unknown is a key.
 */
#pragma once

#include <stdbool.h>

enum input_state {
	INPUT_PLAIN,
	INPUT_ESCAPE,  /* Esc: by itself, or the beginning of something */
	INPUT_ESCAPES, /* two of them */
	INPUT_LETTER,  /* one character ends it: SS3 (which may have numbers too), or ESC [ [ */
	INPUT_NUMBERS, /* CSI: up to its final character */
	INPUT_MOUSE,   /* three bytes after CSI M */
	INPUT_REST,    /* of a character of several bytes, with Alt */
};

struct input {
	enum input_state state;
	bool sgr, unknown;  /* of CSI: it began with <; it has characters that no key has */
	unsigned number[4]; /* the first numbers of it */
	unsigned n, left;   /* the one that is being read; bytes of INPUT_MOUSE and INPUT_REST */
	int row, col;       /* of the latest TERM_CLICK, from 0 on */
};

/* A byte. What it completes: a character (also of those that UTF-8 makes of several bytes, each for
 * itself), KEY_* of ncurses, TERM_CLICK..; TERM_NONE: nothing, or a sequence without a meaning. */
int input_byte(struct input *in, unsigned char c);
/* How long to wait for more, in ms; 0 = a key is no part of a sequence now. */
int input_patience(const struct input *in);
/* Nothing came for so long: 27 when an Esc was just that, else TERM_NONE. */
int input_rest(struct input *in);
