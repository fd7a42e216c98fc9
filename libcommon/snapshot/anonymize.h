/* SPDX-License-Identifier: MIT
 * --anonymize: names and paths replaced with numbered ones, so that what a program did can be shown
 * without saying which it was.
 *
 * Equal names stay equal and different ones different within one result; numbers go by first
 * appearance, so nothing of a name is in its replacement. What is kept: the kind of a source file
 * (".cpp"), whether a function, file or module is of the language's runtime (std::f12), and words
 * that the tools themselves write.
 */
#pragma once

#include <stddef.h>

struct ms_anonymizer;

enum ms_name {
	MS_NAME_FUNCTION,
	MS_NAME_FILE,   /* path of a source file */
	MS_NAME_MODULE, /* path of a program or library */
	MS_NAME_PATH,   /* any other */
	MS_NAME_THREAD, /* and what the kernel calls a process */
	MS_NAME_MARK,
	MS_NAME_ARGUMENT, /* of a command line */
	MS_NAME_HOST,
	MS_NAME_POINT,     /* "mark:NAME#2": the mark's name; other points stay */
	MS_NAME_KERNEL,    /* its release without what follows the number */
	MS_NAME_ALLOCATOR, /* those that everybody knows stay */
	MS_NAME_REMARK,    /* words among which names may be */
};

struct ms_anonymizer *ms_anonymizer_new(void);
void ms_anonymizer_free(struct ms_anonymizer *a);
/* Returns what replaces `text`, of `n` bytes; valid until the anonymizer is freed. */
const char *ms_anonymous(struct ms_anonymizer *a, enum ms_name kind, const char *text, size_t n);
