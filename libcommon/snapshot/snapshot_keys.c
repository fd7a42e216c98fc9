/* SPDX-License-Identifier: MIT
 * Computes keys of call stacks: hashes of their frames' names, so that a place in the program
 * has the same key in builds with other addresses or other line numbers.
 *
 *   place = FNV-1a of the module's file name, 0, the function, 0; without a function "+" and the
 *           address in the file in hex instead; for a frame that is only a note, the note and no
 *           module
 *   key   = FNV's basis; for each frame from the outermost: (key XOR its place) times FNV's prime
 *
 * FNV-1a with 128 bits is published and simple to implement. A step takes one multiplication,
 * because the place of a frame is hashed once and not for every stack.
 */
#include "snapshot_private.h"

#include "libcommon/base/arena.h"
#include "libcommon/base/path.h"
#include "libcommon/symbols/frame_places.h"
#include "format/trace.h"

#include <inttypes.h>
#include <stdio.h>

#define PRIME ((unsigned __int128)1 << 88 | 0x13b)

static unsigned __int128 add_text(unsigned __int128 hash, const char *s)
{
	do
		hash = (hash ^ (uint8_t)*s) * PRIME;
	while (*s++);
	return hash;
}

void ms_text_key(const char *s, char text[33])
{
	ms_key_text(add_text(MS_KEY_BASIS, s), text);
}

unsigned __int128 *ms_place_keys(const struct ms_recording *t, const struct ms_stack_place *places,
				 size_t n)
{
	unsigned __int128 *keys = ms_xrealloc(NULL, n + 1, sizeof *keys);
	for (size_t i = 0; i < n; i++) {
		const struct ms_frame *fr = &t->frames.v[places[i].frame];
		const struct ms_row *m = ms_module_of(t, places[i].module);
		const char *path = m ? m->text[MS_MODULE_PATH - 2] : NULL,
			   *name = places[i].at->function;
		const char *note = places[i].frame ? ms_frame_note(fr) : "truncated";
		bool made = m && m->number[MS_MODULE_KIND] == MS_SYMBOLS_MADE;
		char text[300] = "";
		/* code made at run time has no fixed address */
		if ((fr->flags & MS_FRAME_HEAP) && path)
			note = (snprintf(text, sizeof text, "heap %s", path), text);
		else if (!name && !note && m && !made)
			snprintf(text, sizeof text, "+%" PRIx64,
				 fr->address - m->number[MS_MODULE_BIAS]);
		keys[i] = add_text(MS_KEY_BASIS, note || !path ? "" : ms_base_name(path));
		keys[i] = add_text(keys[i], note ? note : name ? name : text);
	}
	return keys;
}

unsigned __int128 ms_key_with(unsigned __int128 caller, unsigned __int128 place)
{
	return (caller ^ place) * PRIME;
}

/* Writes a key as hex digits; printf would take longer than all of the hashing. */
void ms_key_text(unsigned __int128 key, char text[33])
{
	for (int half = 16; half >= 0; half -= 16, key >>= 64) {
		uint64_t v = (uint64_t)key;
		for (int i = 15; i >= 0; i--, v >>= 4)
			text[half + i] = "0123456789abcdef"[v & 15];
	}
	text[32] = 0;
}
