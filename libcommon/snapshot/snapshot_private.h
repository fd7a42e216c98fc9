/* SPDX-License-Identifier: MIT
 * What the files of the snapshot module share among themselves and with nobody else.
 */
#pragma once

#include "libcommon/base/progress.h"
#include "libcommon/trace/recording.h"
#include "snapshot.h"
#include "snapshot_sum.h"
#include "libcommon/stats/trend.h"

/* Copies `head` and the rest of `fd` to an unlinked temporary file, since the bytes that told what
 * an input is cannot be put back into a pipe. Returns its descriptor, or -1 with `err` set; `name`
 * is for the message. */
int ms_spool(int fd, const void *head, size_t head_size, const char *name, struct ms_err *err);

/* A trace on a descriptor that cannot be opened again, of which `head_size` bytes were read to see
 * what it is. */
struct ms_stream {
	int fd; /* taken over once the building begins: set to -1 */
	const char *name;
	const void *head;
	size_t head_size;
};
/* As ms_snapshot_build; a trace "-" is `stream` if that is not NULL. */
sqlite3 *ms_snapshot_build_from(const char *const *traces, size_t n, struct ms_stream *stream,
				const struct ms_build_options *opt, struct ms_build_result *res,
				struct ms_err *err);

/* A point of one process. */
struct ms_kept_point {
	enum { MS_KEPT_ABSENT, MS_KEPT_START, MS_KEPT_PEAK, MS_KEPT_END, MS_KEPT_MOMENT } kind;
	uint64_t time_ns; /* of a moment */
	size_t moment;    /* in the replay */
};

/* What is live at a point: of a site, or of all. */
struct ms_live {
	uint64_t bytes, blocks;
	uint64_t oldest_tick; /* of its blocks; MS_NEVER = not known */
	uint64_t slack_bytes, mapped_bytes;
};
/* By site, and behind the last one of all together; to be freed. */
struct ms_live *ms_live_at(const struct ms_recording *t, const struct ms_kept_point *point);

/* One process on its way into the database. */
struct ms_kept_process {
	struct ms_recording *rec;
	int64_t id, parent; /* row ids; parent 0 = none */
	uint64_t offset_ns;
	struct ms_kept_point *points; /* one per label */
	struct ms_sum_share share;    /* of the sum of all */
	struct ms_kept_point from;    /* of --from, or MS_KEPT_ABSENT */
	uint64_t to_ns;               /* of --to; MS_NEVER = to the end */
	bool counted_from;            /* figures are of the time after --from */
};

/* What a frame and its callers show of known one-time allocations (one_time.h). */
struct ms_signs {
	uint32_t signs;
	bool user; /* one of them is, or may be, the user's own */
};

/* A site with some. */
struct ms_site_signs {
	int64_t site; /* row */
	struct ms_signs signs;
};

/* The database being filled: ids go on from process to process. */
struct ms_filling {
	sqlite3 *db;
	struct ms_err *err;
	const char *const *labels;
	size_t label_count;
	struct ms_symbols *symbols; /* NULL = --no-symbols */
	struct ms_progress *progress;
	bool look_again; /* in files, even where the trace says what was found */
	bool no_site_details, one_process;
	int64_t modules, frames, stacks, sites, threads, snapshots; /* last ids given */
	MS_ARRAY(struct ms_site_signs) signs;
};

/* Rows of the call stacks of one process: what nodes became. Free with ms_stack_rows_free. */
struct ms_stack_rows {
	struct ms_signs *signs; /* by node */
	int64_t *row_of_node;   /* row of the innermost logical frame, 0 = not used by any site */
	int64_t *user_of_node;  /* row after which a site with that innermost node is named */
	uint64_t without_symbol;
};

/* Writes modules, frames and stacks. 0, or -1 with f->err set; `out` is to be freed in both cases.
 */
int ms_fill_stacks(struct ms_filling *f, const struct ms_kept_process *p,
		   struct ms_stack_rows *out);
void ms_stack_rows_free(struct ms_stack_rows *r);
/* The sizes of a class of ms_replay.sizes, both ends in it. */
uint64_t ms_size_class_low(unsigned class);
uint64_t ms_size_class_high(unsigned class);
/* Puts four columns: bytes and blocks at the peak, then at the end. */
struct ms_insert;
void ms_put_level(struct ms_insert *in, const struct ms_replay *r, const struct ms_level *l);
/* The rest of a row of a size class: its ends and its figures. */
void ms_put_class(struct ms_insert *in, const struct ms_replay *r, unsigned class,
		  const struct ms_replay_size *c);
/* Writes site_size and site_lifetime of one process: sites in `order`, each as its row. 0, or -1
 * with f->err set. */
int ms_fill_classes(struct ms_filling *f, const struct ms_replay *r, const uint32_t *order,
		    const int64_t *row_of_site);
/* Writes scan and site_verdict of one process, and the verdicts of its end. Snapshots are written.
 * 0, or -1 with f->err set. */
/* Of each site's blocks the worst verdict of the scan at the end, NULL where there is none or all were
 * freed since. The caller frees the array. */
const char **ms_end_verdicts(const struct ms_filling *f, const struct ms_kept_process *p);
int ms_fill_verdicts(struct ms_filling *f, const struct ms_kept_process *p,
		     const int64_t *row_of_site);
/* Writes growth of one process, and the verdicts that follow from it. 0, or -1 with f->err set. */
int ms_fill_growth(struct ms_filling *f, const struct ms_kept_process *p,
		   const int64_t *row_of_site);
/* Puts columns of table process: what the recording left out because it was asked to, and what an
 * attached process had already. */
void ms_put_gaps(struct ms_insert *in, const struct ms_recording *t);
void ms_put_before(struct ms_insert *in, const struct ms_recording *t);
/* Writes before_size. 0, or -1 with f->err set. */
int ms_fill_before(struct ms_filling *f, const struct ms_kept_process *p);
/* The memory behind heaps of its own, where every event is there. */
int ms_fill_heaps(struct ms_filling *f, const struct ms_kept_process *p);
/* Writes the row of table process. `partial`: not every event is there, and what that makes
 * unknowable is null; `without_symbol`: frames. 0, or -1 with f->err set. */
int ms_fill_process_row(struct ms_filling *f, const struct ms_kept_process *p, bool partial,
			uint64_t without_symbol);
/* Writes timeline, samples, marks and losses; threads by index, each as its row. 0, or -1 with
 * f->err set. */
int ms_fill_times(struct ms_filling *f, const struct ms_kept_process *p,
		  const int64_t *row_of_thread);
/* What a sample says of memory that is resident. */
void ms_put_sample(struct ms_insert *in, const struct ms_row *s);
/* Does a loss record tell of events that were to be recorded? */
bool ms_gap_is_loss(const struct ms_row *loss);
/* Or at least of some that lie between recorded ones? */
bool ms_gap_is_between(const struct ms_recording *t, const struct ms_row *loss);
/* snapshot_mapped.c: what was recorded beside the heap, null where it was not. Each puts the values
 * of a part of a row. */
void ms_put_beside_process(struct ms_insert *in, const struct ms_recording *t);
void ms_put_beside_site(struct ms_insert *in, const struct ms_recording *t, uint32_t site);
/* Of what is live at a moment. */
void ms_put_beside_live(struct ms_insert *in, const struct ms_recording *t,
			const struct ms_live *live);
/* Fills in what of `v` (see ms_live_at) was recorded beside the heap. */
void ms_live_beside(const struct ms_recording *t, const struct ms_kept_point *point,
		    struct ms_live *v);
/* Writes free_site of one process. 0, or -1 with f->err set. */
int ms_fill_frees(struct ms_filling *f, const struct ms_kept_process *p, const int64_t *row_of_site,
		  const struct ms_stack_rows *stacks);
/* Is its history before some moment not counted, so that only what is live is known? */
bool ms_part_is_headless(const struct ms_kept_process *p);
/* What the rows say of a process whose history was not read, or is not in the file, from its start,
 * and of the span of --from and --to. All other rows of it are written. 0, or -1 with f->err set.
 */
int ms_fill_part(struct ms_filling *f, const struct ms_kept_process *p);
/* Was it recorded with --poll: samples and nothing else? */
bool ms_is_polled(const struct ms_recording *t);
/* Of such a one, the growth of its heap, its peak as the samples say, and null for what is not
 * known. All other rows of it are written. 0, or -1 with f->err set. */
int ms_fill_polled(struct ms_filling *f, const struct ms_kept_process *p);
/* The row of table growth for all of a process. */
int ms_put_growth(struct ms_filling *f, int64_t process, const struct ms_trend *t);
/* A JSON array of strings in the arena. */
const char *ms_json_array(struct ms_arena *a, const struct ms_strings *s);
/* Signs of a frame with those of its callers. */
struct ms_signs ms_signs_join(struct ms_signs frame, const struct ms_signs *caller);
/* Names the sites of f->signs that are known one-time allocations of the runtime. All rows of all
 * processes are written. 0, or -1 with f->err set. */
int ms_fill_one_time(struct ms_filling *f);
/* Links images that replaced each other, and takes what was gone by exec out of what is live at the
 * end. All rows of all processes are written. 0, or -1 with `err` set. */
int ms_fill_replaced(sqlite3 *db, struct ms_err *err);
/* Writes all tables of one process. 0, or -1 with f->err set. */
int ms_fill_process(struct ms_filling *f, const struct ms_kept_process *p);

/* One process whose other rows are in the database. */
struct ms_sampled_rows {
	struct ms_filling *f;
	const struct ms_recording *t; /* t->replay.sampled is not NULL */
	int64_t process;              /* row ids */
	const int64_t *row_of_site, *row_of_thread;
	const struct ms_kept_point *points; /* of f->labels */
	int64_t first_snapshot;             /* row of the first of them that is not absent */
	uint64_t tick_ns;
};

/* Corrects them, and fills table estimate. 0, or -1 with f->err set. */
int ms_fill_sampled(const struct ms_sampled_rows *to);
