/* SPDX-License-Identifier: MIT
 * Lists the formats of other programs, one row each: the name in --export, the function that writes
 * it (export_...), the suffix of its files, a text near the beginning of files that we wrote (NULL
 * = none), traits (enum export_trait), a description, and further members of struct export_kind if
 * needed.
 */
#pragma once

#define EXPORT_SVG_MARKER "<style>svg{color-scheme:light dark}text{font:11px ui-mono"

/* clang-format off */
#define EXPORT_FORMATS(ROW) \
	ROW("folded", folded, ".folded", NULL, EXPORT_MOMENTS | EXPORT_METRIC | EXPORT_ONE, \
	    "a line per call path, for flame graphs") \
	ROW("svg-flame", flame, ".svg", EXPORT_SVG_MARKER, \
	    EXPORT_MOMENTS | EXPORT_METRIC | EXPORT_ONE | EXPORT_RUN, \
	    "a flame graph as an image, for Markdown") \
	ROW("svg-timeline", timeline, ".svg", EXPORT_SVG_MARKER, EXPORT_RUN, \
	    "live heap and RSS over time as an image, for Markdown") \
	ROW("pprof", pprof, ".pb.gz", NULL, \
	    EXPORT_SITES | EXPORT_MOMENTS | EXPORT_METRIC | EXPORT_BYTES | EXPORT_TYPES, "for pprof") \
	ROW("speedscope", speedscope, ".speedscope.json", "\"exporter\":\"memscope ", \
	    EXPORT_SITES | EXPORT_MOMENTS | EXPORT_METRIC, "for speedscope.app") \
	ROW("gprof2dot", gprof2dot, ".gprof2dot.json", NULL, \
	    EXPORT_SITES | EXPORT_MOMENTS | EXPORT_METRIC | EXPORT_ONE, "for gprof2dot -f json") \
	ROW("massif", massif, ".massif.out", "desc: written by ms-report ", \
	    EXPORT_SITES | EXPORT_MOMENTS, "for ms_print and massif-visualizer", \
	    .peakless = "no tree is marked as the peak's", .endless = "") \
	ROW("dhat", dhat, ".dhat.json", "\"mode\":\"heap; written by ms-report ", \
	    EXPORT_SITES | EXPORT_MOMENTS, \
	    "for Valgrind's dh_view.html and the Firefox Profiler") \
	ROW("heaptrack", heaptrack, ".heaptrack.gz", NULL, \
	    EXPORT_SITES | EXPORT_MOMENTS | EXPORT_EVENTS, "for heaptrack_print and heaptrack_gui", \
	    .peakless = "the peak shown is the largest of its moments", \
	    .endless = "its last moment") \
	ROW("callgrind", callgrind, ".callgrind.out", "creator: memscope ", \
	    EXPORT_SITES | EXPORT_MOMENTS, "for callgrind_annotate and KCachegrind") \
	ROW("chrome-trace", chrome, ".chrome-trace.json", "\"notes\":[\"written by ms-report ", \
	    0, "for Perfetto and chrome://tracing")
/* clang-format on */
