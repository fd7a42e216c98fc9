/* SPDX-License-Identifier: MIT
 * Writes all that the blocks of a trace hold, decompressed, to standard output.
 */
#include <stdio.h>

#include "libcommon/base/err.h"
#include "libcommon/trace/tracefile.h"

int main(int argc, char **argv)
{
	struct ms_err err = {0};
	struct ms_block b;
	enum ms_trace_next next = MS_NEXT_ERROR;
	struct ms_trace *t = argc == 2 ? ms_trace_open(argv[1], &err) : NULL;
	while (t && (next = ms_trace_next(t, 0, 1, &b, &err)) == MS_NEXT_BLOCK)
		for (size_t i = 0; i < b.column_count; i++)
			fwrite(b.columns[i].data, 1, b.columns[i].size, stdout);
	if (t)
		ms_trace_close(t);
	return next != MS_NEXT_EOF;
}
