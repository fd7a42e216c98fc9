/* SPDX-License-Identifier: MIT
 * Decodes bytes from a terminal as keys. Escape sequences are read completely, known or not, even
 * if they arrive in several reads. No part of an unknown sequence counts as a key.
 */
#pragma once

#include <stdbool.h>

enum input_state {
	INPUT_PLAIN,
	INPUT_ESCAPE,  /* after Esc: a key, or the beginning of a sequence */
	INPUT_ESCAPES, /* after two Escs */
	INPUT_LETTER,  /* after SS3 (may have numbers, too) or ESC [ [, up to one character */
	INPUT_NUMBERS, /* CSI, up to its final character */
	INPUT_MOUSE,   /* three bytes after CSI M */
	INPUT_REST,    /* rest of a multi-byte character with Alt */
};

struct input {
	enum input_state state;
	bool sgr, unknown;  /* sgr: CSI began with <; unknown: unsupported characters */
	unsigned number[4]; /* first numbers of the CSI sequence */
	unsigned n, left;   /* index of the present number; bytes left of INPUT_MOUSE or
			       INPUT_REST */
	int row, col;       /* latest TERM_CLICK, from 0 */
};

/* Handles a byte. Returns the key that it completes: a character (each byte of a UTF-8 character by
 * itself), KEY_* of ncurses, TERM_CLICK etc.; TERM_NONE = none, or an unknown sequence. */
int input_byte(struct input *in, unsigned char c);
/* Returns how long to wait for the rest of a sequence, in ms; 0 = no sequence has begun. */
int input_patience(const struct input *in);
/* Call if no input arrives for input_patience() ms. Returns 27 if a single Esc was pressed, else
 * TERM_NONE. */
int input_rest(struct input *in);
