/* SPDX-License-Identifier: MIT
 * Shared by the files of the snapshot module only.
 */
#pragma once

#include "libcommon/symbols/symbols.h"
#include "libcommon/trace/recording.h"
#include "snapshot.h"
#include "snapshot_sum.h"
#include "libcommon/stats/trend.h"

/* Describes a trace on a descriptor that cannot be opened again; its first `head_size` bytes
 * were read to identify it. */
struct ms_stream {
	int fd; /* set to -1 when the build takes ownership */
	const char *name;
	const void *head;
	size_t head_size;
};
/* Builds a snapshot like ms_snapshot_build; the trace "-" is `stream` if that is not NULL. */
sqlite3 *ms_snapshot_build_from(const char *const *traces, size_t n, struct ms_stream *stream,
				const struct ms_build_options *opt, struct ms_build_result *res,
				struct ms_err *err);

/* ---- snapshot_beside.c ---- */

struct stat;
/* Checks the files beside a database that SQLite would apply to it. `database`: the status of the
 * file open at `path`; `wal`: the header is in WAL mode. *log is set if the database must be read
 * together with its log; else the database file is complete. Returns 0, or -1 with `err` set if
 * there is a file that SQLite would use but that cannot be trusted. */
int ms_snapshot_beside(const char *path, const struct stat *database, bool wal, bool *log,
		       struct ms_err *err);

/* Describes a point of --at or --from in one process. */
struct ms_kept_point {
	enum ms_kept_kind {
		MS_KEPT_ABSENT,
		MS_KEPT_START,
		MS_KEPT_PEAK,
		MS_KEPT_END,
		MS_KEPT_MOMENT
	} kind;
	uint64_t time_ns; /* for MS_KEPT_MOMENT: time of the moment */
	size_t moment;    /* index among the replay's moments */
};

/* Counts the live blocks at a point, of one site or of the whole process. */
struct ms_live {
	uint64_t bytes, blocks;
	uint64_t oldest_tick; /* allocation time of the oldest block; MS_NEVER = unknown */
	uint64_t slack_bytes, mapped_bytes;
};
/* Holds the live blocks at a point: of the whole process, and of the sites that have any, since most
 * of very many sites have none. */
struct ms_live_sites {
	struct ms_live all;
	uint32_t *index; /* by site: index in `v`; 0 = nothing is live */
	MS_ARRAY(struct ms_live) v;
};
/* Returns the live blocks at `point`. Free them with ms_live_free. */
struct ms_live_sites ms_live_at(const struct ms_recording *t, const struct ms_kept_point *point);
void ms_live_free(struct ms_live_sites *l);
/* Returns the live blocks of a site. */
static inline const struct ms_live *ms_live_of(const struct ms_live_sites *l, size_t site)
{
	return &l->v.v[l->index[site]];
}
/* Returns the live blocks of a site to be changed. */
struct ms_live *ms_live_add(struct ms_live_sites *l, size_t site);

/* Describes a process being written to the database. */
struct ms_kept_process {
	struct ms_recording *rec;
	int64_t id, parent; /* row ids; parent 0 = none */
	uint64_t offset_ns;
	struct ms_kept_point *points; /* for each label: its point in this process */
	struct ms_sum_share share;    /* the process's share in the sum of all processes */
	struct ms_kept_point from;    /* point of --from, or MS_KEPT_ABSENT */
	uint64_t to_ns;               /* time of --to; MS_NEVER = the end */
	bool counted_from;            /* figures count from --from, not from the start */
	bool from_event;              /* --from is an event within a tick */
};

/* Holds the bits of ms_one_time_signs of a frame, together with those of its callers. */
struct ms_signs {
	uint32_t signs : 31;
	uint32_t user : 1; /* a frame is, or may be, the user's own */
};

/* Holds the one-time bits of a site; sites without any have no entry. */
struct ms_site_signs {
	int64_t site; /* row id */
	struct ms_signs signs;
};

/* Holds the state of the database being filled; ids continue from process to process. */
struct ms_filling {
	sqlite3 *db;
	struct ms_err *err;
	const char *const *labels;
	size_t label_count;
	struct ms_symbols *symbols;         /* NULL = --without=symbols */
	const struct ms_wrappers *wrappers; /* --wrapper, or NULL */
	bool look_again; /* look symbols up in files, even if the trace has them */
	bool no_site_details, one_process;
	int64_t site;                     /* row of the site of --site; 0 = none */
	const struct ms_row_taker *taker; /* NULL = all rows go into the database */
	int64_t modules, frames, stacks, sites, threads, snapshots; /* last row id used in each
								       table */
	MS_ARRAY(struct ms_site_signs) signs;
};

/* Lists the logical frames (a function and those inlined into it) of one frame of the trace; the
 * first is the innermost. */
struct ms_logical {
	uint32_t first, count; /* range of indices of struct ms_stack_place */
	int64_t row;           /* row id of the first logical frame; the ids of the others follow */
};

/* Describes a place: one logical frame, which is a function or a call inlined into one. */
struct ms_stack_place {
	const struct ms_location *at;
	uint32_t frame, module; /* frame number and module id in the trace */
	bool runtime;           /* the function belongs to the language's runtime, or the frame is
				   only a note */
	bool wrapper;           /* the function passes on blocks from the allocator */
};

/* Holds the rows of the call stack of a site. */
struct ms_site_stack {
	uint32_t row;  /* row of the innermost logical frame; 0 = no stack */
	uint32_t user; /* row of the frame after which the site is named; 0 = the innermost */
	struct ms_signs signs; /* one-time bits of the stack */
};

/* Holds the rows made from the call stacks of one process. */
struct ms_stack_rows {
	struct ms_site_stack *of_site;
	uint32_t *row_of_node; /* row of each node's innermost logical frame, 0 = used by no site;
				  NULL if no stacks of frees were recorded */
	unsigned __int128 *key_of_node; /* key of each node's stack; NULL if details of sites are
					   not needed */
	const char **entry_of_site;     /* allocator function that each site calls, NULL = unknown;
					   NULL if details are not needed */
	uint64_t without_symbol;
};

/* Holds the state of writing one process's rows: their sources and their ids. */
struct ms_fill {
	struct ms_filling *f;
	const struct ms_kept_process *p;
	const struct ms_recording *t; /* p->rec */
	const struct ms_replay *r;    /* replay of p->rec */
	uint64_t tick_ns;
	unsigned unknown; /* enum ms_needs that are not met */
	bool corrected;   /* site figures are corrected after all rows are written */
	struct ms_stack_rows stacks;
	uint64_t *soon;         /* blocks that were freed soon, by site index */
	uint32_t *order;        /* sites in the order of their rows */
	int64_t *row_of_site;   /* row ids by site index */
	int64_t *row_of_thread; /* row ids by thread; 0 = no row */
	int64_t first_snapshot; /* row of the first point that is not absent */
};

/* Begins rows of a table; columns that are unknown for the process become null. */
struct ms_insert ms_rows(const struct ms_fill *w, const char *table);
/* Begins rows of a table as ms_rows does, but passes them to the taker, if there is one, instead of
 * the database. */
struct ms_insert ms_large_rows(const struct ms_fill *w, const char *table);
/* Tells whether the process's site figures are corrected after all rows are written. */
bool ms_is_corrected(const struct ms_kept_process *p);
/* Returns, for each site, the worst verdict of the scan at the end on its live blocks; "growing"
 * instead if the site grows and no block is unreachable; NULL = neither. The caller frees the
 * array. */
const char **ms_end_verdicts(const struct ms_fill *w);

/* Returns which known one-time allocation of the runtime a site is, NULL = none. Until the rows of
 * the sites are written. */
const char *ms_one_time_of(const struct ms_fill *w, uint32_t site);
/* Tells for each site whether it may be more than gone (struct ms_gone_site) by what is recorded of
 * it besides its figures; the caller frees the array. Returns NULL if all sites need rows. */
bool *ms_shown_sites(const struct ms_fill *w);
/* Hands a site over without a row, if its figures allow that. */
bool ms_take_gone(const struct ms_fill *w, uint32_t site);

/* Each of the following functions writes some tables, in the order of ms_fill_process. Returns
 * 0, or -1 with w->f->err set. */

/* Writes module, frame and stack; sets w->stacks. */
int ms_fill_stacks(struct ms_fill *w);
/* Finds the functions through which most sites of their module pass, and sets `wrapper` in the `n`
 * places (logical frames) that name a site. `frames` is indexed by frame number. */
void ms_find_wrappers(const struct ms_recording *t, const struct ms_logical *frames,
		      struct ms_stack_place *places, size_t n);
/* Returns the key of each of the `n` places; the caller frees the array. A stack's key begins as
 * MS_KEY_BASIS and is extended by each frame with ms_key_with, outermost first. In
 * snapshot_keys.c. */
#define MS_KEY_BASIS                                                                               \
	((unsigned __int128)UINT64_C(0x6c62272e07bb0142) << 64 | UINT64_C(0x62b821756295c58d))
unsigned __int128 *ms_place_keys(const struct ms_recording *t, const struct ms_stack_place *places,
				 size_t n);
unsigned __int128 ms_key_with(unsigned __int128 caller, unsigned __int128 place);
void ms_key_text(unsigned __int128 key, char text[33]);
/* Writes the row in table process. */
int ms_fill_process_row(struct ms_fill *w);
/* Writes before_size. */
int ms_fill_before(struct ms_fill *w);
/* Writes site_size and site_lifetime. */
int ms_fill_classes(struct ms_fill *w);
/* Writes heap, the memory behind custom heaps, if all events are available. */
int ms_fill_heaps(struct ms_fill *w);
/* Writes free_site. */
int ms_fill_frees(struct ms_fill *w);
/* Corrects the rows written so far and fills table estimate, if the recording is sampled. */
int ms_fill_sampled(struct ms_fill *w);
/* Writes resident, resident_site and resident_file. */
int ms_fill_resident(struct ms_fill *w);
/* Writes scan and site_verdict, and the results of the scan at the end for the process. */
int ms_fill_verdicts(struct ms_fill *w);
/* Writes retention, keeper, keeper_set and kept. */
int ms_fill_retention(struct ms_fill *w);
/* Writes growth. */
int ms_fill_growth(struct ms_fill *w);
/* Writes cohort. */
int ms_fill_cohorts(struct ms_fill *w);
/* Writes the rows of cohort for a replay of the events of one site only; `in`: the inserter. */
void ms_put_cohorts(const struct ms_fill *w, struct ms_insert *in, int64_t site);
/* Writes site_unfreed and the rows of cohort of the site of --site, if it is of this process. */
int ms_fill_site(struct ms_fill *w);
/* Writes the totals since the start for a process whose history was not read or is not in the
 * file. */
int ms_fill_part(struct ms_fill *w);
/* Writes the heap growth of a polled process, and its peak from the samples. */
int ms_fill_polled(struct ms_fill *w);

/* ---- parts of these functions ---- */

/* Returns the word for a number, or NULL if there is none. */
#define MS_WORD(words, number) ((number) < sizeof(words) / sizeof *(words) ? (words)[number] : NULL)

/* Return the smallest and the largest size of a class of ms_replay.sizes. */
uint64_t ms_size_class_low(unsigned class);
uint64_t ms_size_class_high(unsigned class);
/* Appends four columns to the row: bytes and blocks at the peak, then at the end. */
struct ms_insert;
void ms_put_level(struct ms_insert *in, const struct ms_replay *r, const struct ms_level *l);
/* Appends the other columns of a size class's row: its limits and figures. */
void ms_put_class(struct ms_insert *in, const struct ms_replay *r, unsigned class,
		  const struct ms_replay_size *c);
/* Tells whether a loss record is a gap within the recording, not the pause before a delayed start
 * (--start-after). */
bool ms_gap_is_between(const struct ms_recording *t, const struct ms_row *loss);
/* Returns bits of enum ms_needs for mapped memory and usable sizes, set if they were not recorded.
 * In snapshot_mapped.c. */
unsigned ms_beside_not_known(const struct ms_recording *t);
/* Appends the recording's options and its totals of mapped memory and usable bytes to a row of
 * table process. */
void ms_put_beside_process(struct ms_insert *in, const struct ms_recording *t);
/* Appends the number and bytes of a site's mappings to the site's row. */
void ms_put_beside_site(struct ms_insert *in, const struct ms_recording *t, uint32_t site);
/* Appends the usable and the mapped bytes of the live blocks at a moment to a row. */
void ms_put_beside_live(struct ms_insert *in, const struct ms_live *live);
/* Fills in the mapped memory and slack of the live blocks, as far as they were recorded. */
void ms_live_beside(const struct ms_recording *t, const struct ms_kept_point *point,
		    struct ms_live_sites *l);
/* Tells whether the trace was not read from its start, although no --from asked for that; of
 * earlier events only the live blocks are known. */
bool ms_part_is_headless(const struct ms_kept_process *p);
/* Describes what one member of a variable keeps. */
struct ms_kept_member {
	uint64_t of, offset; /* number of the variable's root; where the member is in it */
	struct ms_retention_root root;
	struct ms_variable at;       /* where the variable is declared */
	uint64_t bytes, blocks, row; /* what it keeps; number of its row */
};
struct ms_members {
	struct ms_kept_member *v;
	size_t n, cap;
	size_t roots;                           /* number of the scan's own roots */
	MS_ARRAY(struct ms_retention_row) rows; /* in place of the scan's */
};
/* Divides what the variables of a scan keep among their members. */
void ms_divide(struct ms_fill *w, const struct ms_retention_scan *s, struct ms_arena *a,
	       struct ms_members *out);
/* Looks up where a variable is declared, and its type. */
struct ms_variable ms_declaration_of(const struct ms_fill *w, const struct ms_retention_root *root);
/* Writes the row of table growth for a whole process. */
int ms_put_growth(struct ms_filling *f, int64_t process, const struct ms_trend *t);
/* Marks the sites of f->signs, with unknown sizes, that are known one-time allocations of the
 * runtime. Call it when all rows of all processes are written. Returns 0, or -1 with f->err set. */
int ms_fill_one_time(struct ms_filling *f);
/* Links program images that replaced each other, and subtracts blocks that an exec freed from the
 * live blocks at the end. Call it when all rows of all processes are written. Returns 0, or -1 with
 * `err` set. */
int ms_fill_replaced(sqlite3 *db, struct ms_err *err);
/* Writes all tables of one process. Returns 0, or -1 with f->err set. */
int ms_fill_process(struct ms_filling *f, const struct ms_kept_process *p);
