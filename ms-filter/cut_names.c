/* SPDX-License-Identifier: MIT
 * Which fields of a trace hold names, and what becomes of them.
 */
#include "cut_write.h"

#include <stdlib.h>
#include <string.h>

#include "format/trace.h"
#include "libcommon/snapshot/anonymize.h"
#include "libcommon/base/arena.h"

#define KEPT (-1)
#define LEFT_OUT (-2)

/* All that are not here are left out: environment, build-ids, boot id, successor. */
static const struct {
	uint16_t block;
	uint32_t field;
	int kind; /* enum ms_name, or KEPT */
} names[] = {
	{MS_BLOCK_INFO, MS_INFO_EXE, MS_NAME_MODULE},
	{MS_BLOCK_INFO, MS_INFO_ARG, MS_NAME_ARGUMENT},
	{MS_BLOCK_INFO, MS_INFO_HOST, MS_NAME_HOST},
	{MS_BLOCK_INFO, MS_INFO_KERNEL, MS_NAME_KERNEL},
	{MS_BLOCK_INFO, MS_INFO_RECORDER, KEPT},
	{MS_BLOCK_INFO, MS_INFO_CLOCK, KEPT},
	{MS_BLOCK_INFO, MS_INFO_CWD, MS_NAME_PATH},
	{MS_BLOCK_INFO, MS_INFO_SESSION, KEPT},
	{MS_BLOCK_INFO, MS_INFO_CUT, MS_NAME_REMARK},
	{MS_BLOCK_MODULES, MS_MODULE_PATH, MS_NAME_MODULE},
	{MS_BLOCK_THREADS, MS_THREAD_NAME, MS_NAME_THREAD},
	{MS_BLOCK_MARKS, MS_MARK_NAME, MS_NAME_MARK},
	{MS_BLOCK_VERDICTS, MS_VERDICT_LABEL, MS_NAME_POINT},
	{MS_BLOCK_END, MS_END_ALLOCATOR, MS_NAME_ALLOCATOR},
};

/* What becomes of a text. */
static int kind_of(struct cut_writer *c, uint16_t block, const struct ms_field *f)
{
	if (block == MS_BLOCK_SYMBOLS && f->id == MS_SYM_STRING)
		return c->files[++c->strings] ? MS_NAME_FILE : MS_NAME_FUNCTION;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (names[i].block == block && names[i].field == f->id)
			return names[i].kind;
	return LEFT_OUT;
}

bool cut_name(struct cut_writer *c, uint16_t block, const struct ms_field *f, const char **text,
	      uint64_t *size)
{
	int kind = kind_of(c, block, f);
	*text = (const char *)f->data;
	*size = f->size;
	if (kind >= 0) {
		*text = ms_anonymous(c->names, (enum ms_name)kind, *text, f->size);
		*size = strlen(*text);
	}
	return kind != LEFT_OUT;
}

/* A component of a path, or a name of one letter, may become "libc-p4000000000.trace". */
uint64_t cut_names_room(uint64_t n)
{
	enum { LONGEST = 40 };
	return n * LONGEST + 1024;
}

bool *cut_files(const struct ms_column *column)
{
	struct ms_record_reader r;
	struct ms_record rec;
	struct ms_field f;
	size_t n = 0;
	ms_record_reader_init(&r, column->data, column->size);
	while (ms_record_next(&r, &rec) == MS_FMT_OK)
		while (ms_record_field(&rec, &f) == MS_FMT_OK)
			n += f.id == MS_SYM_STRING && f.is_bytes;
	bool *files = ms_xcalloc(n + 1, sizeof *files);
	ms_record_reader_init(&r, column->data, column->size);
	while (ms_record_next(&r, &rec) == MS_FMT_OK)
		while (ms_record_field(&rec, &f) == MS_FMT_OK)
			if (f.id == MS_SYM_FILE && !f.is_bytes && f.value <= n)
				files[f.value] = true;
	return files;
}
