/* SPDX-License-Identifier: MIT
 * What the files of the snapshot module share among themselves and with nobody else.
 */
#pragma once

#include "libcommon/symbols/symbols.h"
#include "libcommon/trace/recording.h"
#include "snapshot.h"
#include "snapshot_sum.h"
#include "libcommon/stats/trend.h"

/* A trace on a descriptor that cannot be opened again, of which `head_size` bytes were read to see
 * what it is. */
struct ms_stream {
	int fd; /* taken over once the building begins: set to -1 */
	const char *name;
	const void *head;
	size_t head_size;
};
/* Builds a snapshot as ms_snapshot_build does; a trace "-" is `stream` if that is not NULL. */
sqlite3 *ms_snapshot_build_from(const char *const *traces, size_t n, struct ms_stream *stream,
				const struct ms_build_options *opt, struct ms_build_result *res,
				struct ms_err *err);

/* ---- snapshot_beside.c ---- */

struct stat;
/* Is what SQLite would change the database by, which is open at `path` and has these numbers, to be
 * believed? *log: it is in WAL mode (`wal`, by its header), and a log that is its own has to be read
 * with it; else it is whole without anything. -1 with `err` set: there is what SQLite would take and
 * nobody should. */
int ms_snapshot_beside(const char *path, const struct stat *database, bool wal, bool *log,
		       struct ms_err *err);

/* A point of one process. */
struct ms_kept_point {
	enum ms_kept_kind {
		MS_KEPT_ABSENT,
		MS_KEPT_START,
		MS_KEPT_PEAK,
		MS_KEPT_END,
		MS_KEPT_MOMENT
	} kind;
	uint64_t time_ns; /* of a moment */
	size_t moment;    /* in the replay */
};

/* Holds what is live at a point, of one site or of the whole process. */
struct ms_live {
	uint64_t bytes, blocks;
	uint64_t oldest_tick; /* of its blocks; MS_NEVER = not known */
	uint64_t slack_bytes, mapped_bytes;
};
/* Returns what is live at `point` by site, and behind the last site that of the whole process; to
 * be freed. */
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
	bool counted_from;            /* figures are of the time after --from, */
	bool from_event;              /* which is an event in the midst of a tick */
};

/* Holds the signs of known one-time allocations in a frame and its callers (one_time.h). */
struct ms_signs {
	uint32_t signs : 31;
	uint32_t user : 1; /* one of them is, or may be, the user's own */
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
	struct ms_symbols *symbols;         /* NULL = --without=symbols */
	const struct ms_wrappers *wrappers; /* --wrapper, or NULL */
	bool look_again;                    /* in files, even where the trace says what was found */
	bool no_site_details, one_process;
	const struct ms_row_taker *taker; /* or NULL: all rows go into the database */
	int64_t modules, frames, stacks, sites, threads, snapshots; /* last ids given */
	MS_ARRAY(struct ms_site_signs) signs;
};

/* Logical frames of one frame of the trace: the first is the innermost. */
struct ms_logical {
	uint32_t first, count; /* places */
	int64_t row;           /* frame row of the first; the others follow */
};

/* Holds what is known of a place, which is a logical frame. */
struct ms_stack_place {
	const struct ms_location *at;
	uint32_t frame, module; /* of the trace */
	bool runtime;           /* of the language's runtime, or none but a note */
	bool wrapper;           /* hands on what the allocator gives */
};

/* Rows of the call stacks of one process: what nodes became. */
struct ms_stack_rows {
	struct ms_signs *signs; /* by node */
	uint32_t *row_of_node;  /* row of the innermost logical frame, 0 = not used by any site */
	uint32_t *user_of_node; /* row after which a site with that innermost node is named */
	unsigned __int128 *key_of_node; /* NULL where nobody asks for details of sites */
	const char **entry_of_site;     /* likewise; NULL = not known */
	uint64_t without_symbol;
};

/* The rows of one process in the making: what they are made from, and which ids they have. */
struct ms_fill {
	struct ms_filling *f;
	const struct ms_kept_process *p;
	const struct ms_recording *t; /* p->rec */
	const struct ms_replay *r;    /* of it */
	uint64_t tick_ns;
	unsigned unknown; /* enum ms_needs */
	bool corrected;   /* figures of sites are, when all rows are there */
	struct ms_stack_rows stacks;
	struct ms_site_sums {
		uint64_t allocations, bytes; /* those of its threads */
		uint64_t soon;               /* freed soon */
	} * sums;                            /* by site */
	uint32_t *order;                     /* sites from first to last row */
	int64_t *row_of_site;                /* by index, as the next one */
	int64_t *row_of_thread;              /* 0 = it has none */
	int64_t first_snapshot;              /* row of the first point that is not absent */
};

/* New rows of a table, in which what is not known of the process is null. */
struct ms_insert ms_rows(const struct ms_fill *w, const char *table);
/* Starts rows of a table as ms_rows does, but for the taker, if there is one, in place of the
 * database. */
struct ms_insert ms_large_rows(const struct ms_fill *w, const char *table);
/* Are figures of its sites corrected when all rows are there? */
bool ms_is_corrected(const struct ms_kept_process *p);
/* Returns for each site the worst verdict of the scan at the end on its live blocks, "growing" if
 * they grow and none is lost, or NULL for neither. The caller frees the array. */
const char **ms_end_verdicts(const struct ms_fill *w);

/* Each of these writes some tables, in the order of ms_fill_process. 0, or -1 with w->f->err set. */

/* module, frame and stack; sets w->stacks. */
int ms_fill_stacks(struct ms_fill *w);
/* Finds the functions through which most sites of their module pass, and sets `wrapper` of the `n`
 * places that name a site. `frames` are by number. */
void ms_find_wrappers(const struct ms_recording *t, const struct ms_logical *frames,
		      struct ms_stack_place *places, size_t n);
/* snapshot_keys.c: of each place, and of a stack, MS_KEY_BASIS without any frame, with one more.
 * To be freed. */
#define MS_KEY_BASIS                                                                               \
	((unsigned __int128)UINT64_C(0x6c62272e07bb0142) << 64 | UINT64_C(0x62b821756295c58d))
unsigned __int128 *ms_place_keys(const struct ms_recording *t, const struct ms_stack_place *places,
				 size_t n);
unsigned __int128 ms_key_with(unsigned __int128 caller, unsigned __int128 place);
void ms_key_text(unsigned __int128 key, char text[33]);
/* The row of table process. */
int ms_fill_process_row(struct ms_fill *w);
/* before_size. */
int ms_fill_before(struct ms_fill *w);
/* site_size and site_lifetime. */
int ms_fill_classes(struct ms_fill *w);
/* The memory behind heaps of its own, where every event is there. */
int ms_fill_heaps(struct ms_fill *w);
/* free_site. */
int ms_fill_frees(struct ms_fill *w);
/* Corrects the rows so far and fills table estimate if the recording is sampled. */
int ms_fill_sampled(struct ms_fill *w);
/* resident, resident_site and resident_file. */
int ms_fill_resident(struct ms_fill *w);
/* Returns the name of a state of a scan; NULL: the state is not known. */
const char *ms_scan_state_name(uint64_t state);
/* scan and site_verdict, and what the scan at the end says of the process. */
int ms_fill_verdicts(struct ms_fill *w);
/* growth. */
int ms_fill_growth(struct ms_fill *w);
/* Puts the totals of a process whose history was not read, or is not in the file, from its start. */
int ms_fill_part(struct ms_fill *w);
/* Puts the growth of the heap of a polled one, and its peak as the samples say. */
int ms_fill_polled(struct ms_fill *w);

/* ---- parts of these ---- */

/* The word for a number that stands for one; NULL = there is none. */
#define MS_WORD(words, number) ((number) < sizeof(words) / sizeof *(words) ? (words)[number] : NULL)

/* The sizes of a class of ms_replay.sizes, both ends in it. */
uint64_t ms_size_class_low(unsigned class);
uint64_t ms_size_class_high(unsigned class);
/* Puts four columns: bytes and blocks at the peak, then at the end. */
struct ms_insert;
void ms_put_level(struct ms_insert *in, const struct ms_replay *r, const struct ms_level *l);
/* The rest of a row of a size class: its ends and its figures. */
void ms_put_class(struct ms_insert *in, const struct ms_replay *r, unsigned class,
		  const struct ms_replay_size *c);
/* Does a loss record tell of events that lie between recorded ones? */
bool ms_gap_is_between(const struct ms_recording *t, const struct ms_row *loss);
/* snapshot_mapped.c: what was not recorded beside the heap, as enum ms_needs. */
unsigned ms_beside_not_known(const struct ms_recording *t);
/* Puts the options of a recording, and what it has beside the heap, in a row of table process. */
void ms_put_beside_process(struct ms_insert *in, const struct ms_recording *t);
/* Puts the number of mappings of a site, and their bytes, in its row. */
void ms_put_beside_site(struct ms_insert *in, const struct ms_recording *t, uint32_t site);
/* Puts the usable and the mapped bytes of what is live at a moment. */
void ms_put_beside_live(struct ms_insert *in, const struct ms_live *live);
/* Fills in what of `v` (see ms_live_at) was recorded beside the heap. */
void ms_live_beside(const struct ms_recording *t, const struct ms_kept_point *point,
		    struct ms_live *v);
/* Is its history before some moment not counted, so that only what is live is known? */
bool ms_part_is_headless(const struct ms_kept_process *p);
/* Was it recorded with --poll: samples and nothing else? */
bool ms_is_polled(const struct ms_recording *t);
/* The row of table growth for all of a process. */
int ms_put_growth(struct ms_filling *f, int64_t process, const struct ms_trend *t);
/* Names the sites of f->signs, of which sizes are not known, that are known one-time allocations of
 * the runtime. All rows of all processes are written. 0, or -1 with f->err set. */
int ms_fill_one_time(struct ms_filling *f);
/* Links images that replaced each other, and takes what was gone by exec out of what is live at the
 * end. All rows of all processes are written. 0, or -1 with `err` set. */
int ms_fill_replaced(sqlite3 *db, struct ms_err *err);
/* Writes all tables of one process. 0, or -1 with f->err set. */
int ms_fill_process(struct ms_filling *f, const struct ms_kept_process *p);
