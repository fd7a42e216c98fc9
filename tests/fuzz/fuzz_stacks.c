/* SPDX-License-Identifier: MIT
 * Fuzzes the decoder of stacks blocks.
 */
#include <stdlib.h>

#include "fuzz.h"
#include "format/stacks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct ms_column c[16] = {{0}};
	struct ms_stacks_decoder d;
	struct ms_frame f;
	struct ms_node node;
	uint32_t nodes = 0;
	if (ms_stacks_decoder_init(&d, c, columns_of(data, n, c, 16)) != MS_FMT_OK)
		return 0;
	if (d.first_frame < 1 || d.first_node < 1 || d.frames > n || d.nodes > n)
		abort();
	while (ms_stacks_next_frame(&d, &f) == MS_FMT_OK)
		;
	while (ms_stacks_next_node(&d, &node) == MS_FMT_OK) {
		if (node.parent >= d.first_node + nodes || node.frame < 1 ||
		    node.frame >= d.first_frame + d.frames)
			abort();
		nodes++;
	}
	if (nodes > d.nodes)
		abort();
	return 0;
}
