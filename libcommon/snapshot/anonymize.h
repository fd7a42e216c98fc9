/* SPDX-License-Identifier: MIT
 * Replaces names and paths with numbered ones (--anonymize), so that a program's behaviour can
 * be shown without revealing which program it is.
 *
 * Within one result, equal names get equal replacements and different names different ones.
 * Numbers follow the order of first appearance, so a replacement contains nothing of the name.
 * Kept are: the type of a source file (".cpp"), whether a function, file or module belongs to
 * the language's runtime (std::f12), and words that the tools themselves write.
 */
#pragma once

#include <stddef.h>

struct ms_anonymizer;

enum ms_name {
	MS_NAME_FUNCTION,
	MS_NAME_FILE,   /* path of a source file */
	MS_NAME_MODULE, /* path of a program or library */
	MS_NAME_PATH,   /* any other path */
	MS_NAME_THREAD, /* a thread's name, or the kernel's name of a process */
	MS_NAME_MARK,
	MS_NAME_ARGUMENT, /* an argument of a command line */
	MS_NAME_HOST,
	MS_NAME_POINT,     /* "mark:NAME#2": the mark's name is replaced; points of other kinds are
			      kept */
	MS_NAME_KERNEL,    /* kernel release, keeps only the number */
	MS_NAME_ALLOCATOR, /* an allocator; well-known names are not replaced */
	MS_NAME_REMARK,    /* text that may contain names */
};

struct ms_anonymizer *ms_anonymizer_new(void);
void ms_anonymizer_free(struct ms_anonymizer *a);
/* Returns the replacement for `text`, which has `n` bytes; valid until the anonymizer is freed. */
const char *ms_anonymous(struct ms_anonymizer *a, enum ms_name kind, const char *text, size_t n);
