/* SPDX-License-Identifier: MIT
 * What an output is written as, and where it goes.
 */
#ifndef REPORT_FORMAT_H
#define REPORT_FORMAT_H

enum format {
	FORMAT_TEXT,
	FORMAT_MD,
	FORMAT_JSON,
	FORMAT_CSV,
	FORMAT_FOLDED,
	FORMAT_HTML,
	FORMAT_SARIF,
	FORMAT_JUNIT,
	FORMAT_GITHUB,
	FORMAT_PPROF, /* this and the following: see export.h */
	FORMAT_SPEEDSCOPE,
	FORMAT_GPROF2DOT,
	FORMAT_MASSIF,
	FORMAT_DHAT,
	FORMAT_HEAPTRACK,
	FORMAT_CALLGRIND,
	FORMAT_CHROME_TRACE,
	FORMAT_COUNT
};

struct output {
	enum format format;
	const char *path; /* NULL = standard output */
};

#endif
