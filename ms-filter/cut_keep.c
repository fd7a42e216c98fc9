/* SPDX-License-Identifier: MIT
 * Decides which blocks meet the conditions of --trace-out: by call stack, size, thread and time.
 *
 * Names of frames come from a snapshot of the same trace, in which each inlined function has a row
 * of its own with the address of its frame.
 */
#include "cut_keep.h"

#include "match.h"
#include "options.h"

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/order.h"
#include "libcommon/names/labels.h"
#include "libcommon/trace/recording.h"
#include "libcommon/snapshot/snapshot.h"
#include "format/trace.h"

#define BY_NAME (KEEP(FUNCTION) | KEEP(FILE_NAME) | KEEP(MODULE))
#define ON_EVENTS                                                                                  \
	(BY_NAME | KEEP(THREAD) | KEEP(LABEL) | KEEP(PROCESS) | KEEP(SIZE) | KEEP(BORN) |          \
	 KEEP(ALIVE_AT))

static int check(const struct options *o, struct ms_err *err)
{
	for (size_t i = 0; i < o->conditions.n; i++)
		if (!(ON_EVENTS & KEEP(o->conditions.v[i].subject)))
			return ms_err_set(
				err,
				"option '--%s' cannot be used with '--trace-out', which selects "
				"blocks only by --function, --file, --module, --thread, "
				"--label, --process, --size, --when=born and --when=alive-at",
				o->conditions.v[i].name);
	return 0;
}

/* ---- process and threads ---- */

static int check_process(const struct options *o, const struct ms_recording *t, struct ms_err *err)
{
	const char *exe = ms_has(&t->info, MS_INFO_EXE) ? t->info.text[MS_INFO_EXE] : NULL;
	int64_t pid = (int64_t)t->info.number[MS_INFO_PID];
	bool kept = !(o->keep & KEEP(PROCESS)), dropped = false;
	for (size_t i = 0; i < o->conditions.n; i++) {
		const struct condition *c = &o->conditions.v[i];
		if (c->subject != PROCESS)
			continue;
		bool is = match_names(c->text, match_exe(c->text, exe), pid);
		kept |= is && !c->drop;
		dropped |= is && c->drop;
	}
	if (kept && !dropped)
		return 0;
	return ms_err_set(err,
			  "nothing is left of '%s': the conditions exclude its only process, "
			  "%lld ('%s')",
			  o->input, (long long)pid, exe ? exe : "unknown");
}

static void find_threads(struct keep *k, const struct ms_recording *t)
{
	for (size_t i = 0; i < t->threads.n; i++) {
		const struct ms_row *own = &t->threads.v[i],
				    *row = &t->threads.v[ms_thread_of(t, i)];
		const char *label = row != own ? own->text[MS_THREAD_NAME - 2] : NULL;
		uint64_t found = 0;
		for (size_t c = 0; c < k->o->conditions.n; c++) {
			const struct condition *cond = &k->o->conditions.v[c];
			if (cond->subject == THREAD
				    ? match_names(cond->text, row->text[MS_THREAD_NAME - 2],
						  (int64_t)row->number[MS_THREAD_TID])
				    : cond->subject == LABEL && ms_labels_match(cond->text, label))
				found |= match_bit(cond);
		}
		*MS_PUSH(&k->threads) = found;
	}
}

/* ---- names ---- */

/* Returns the id of the process that the trace recorded: its snapshot may contain other processes
 * too. */
static int64_t process_of(sqlite3 *db, const struct ms_recording *t)
{
	sqlite3_stmt *q = ms_sql_prepare(db,
					 "SELECT id FROM process ORDER BY pid = ?1 DESC,"
					 " coalesce(image, 0) = ?2 DESC, id",
					 NULL);
	int64_t id = 0;
	if (q) {
		sqlite3_bind_int64(q, 1, (int64_t)t->info.number[MS_INFO_PID]);
		sqlite3_bind_int64(q, 2, (int64_t)t->info.number[MS_INFO_IMAGE]);
		id = sqlite3_step(q) == SQLITE_ROW ? sqlite3_column_int64(q, 0) : 0;
	}
	sqlite3_finalize(q);
	return id;
}

static int find_names(struct keep *k, const struct ms_recording *t, struct ms_err *err)
{
	const char *point;
	sqlite3 *db = ms_snapshot_open(k->o->input, NULL, 0, &point, NULL, err);
	if (!db)
		return -1;
	int64_t process = process_of(db, t);
	conditions_functions(db, NULL);
	for (size_t i = 0; i < k->o->conditions.n; i++) {
		const struct condition *c = &k->o->conditions.v[i];
		sqlite3_stmt *q = BY_NAME & KEEP(c->subject)
					  ? conditions_frames(db, k->o->arena, c, 0, err)
					  : NULL;
		while (q && ms_sql_next(db, q, err))
			if (sqlite3_column_int(q, 0) && sqlite3_column_int64(q, 2) == process &&
			    sqlite3_column_type(q, 3) == SQLITE_NULL)
				*MS_PUSH(&k->named) = (struct frame_bits){
					(uint64_t)sqlite3_column_int64(q, 1), match_bit(c)};
		sqlite3_finalize(q);
	}
	MS_SORT(k->named.v, k->named.n, ms_by_first_number);
	sqlite3_close(db);
	return err->text[0] ? -1 : 0;
}

static uint64_t bits_at(const struct keep *k, uint64_t address)
{
	size_t n = MS_COUNT_UP_TO(k->named.v, k->named.n, address, address);
	uint64_t found = 0;
	for (; n && k->named.v[n - 1].address == address; n--)
		found |= k->named.v[n - 1].found;
	return found;
}

/* ---- decisions ---- */

int keep_prepare(struct keep *k, const struct options *o, const struct ms_recording *t,
		 struct ms_err *err)
{
	*k = (struct keep){.o = o};
	uint64_t asked = o->keep | o->drop >> 32;
	k->some = (asked & ~KEEP(PROCESS)) != 0 || (o->invert && asked);
	if (check(o, err) != 0)
		return -1;
	if (!o->invert && check_process(o, t, err) != 0)
		return -1;
	if (o->invert && (asked & KEEP(PROCESS)))
		return ms_err_set(err, "with '--trace-out', options '--invert' and '--process' "
				       "cannot be combined: a trace has only one process");
	find_threads(k, t);
	if (born_find(&k->born, o, err) != 0)
		return -1;
	return asked & BY_NAME ? find_names(k, t, err) : 0;
}

void keep_stacks(struct keep *k, struct ms_stacks_decoder d)
{
	struct ms_frame f;
	struct ms_node n;
	if (!k->named.n)
		return;
	while (k->frames.n < d.first_frame && d.first_frame - k->frames.n < 1u << 24)
		*MS_PUSH(&k->frames) = 0;
	while (k->nodes.n < d.first_node && d.first_node - k->nodes.n < 1u << 24)
		*MS_PUSH(&k->nodes) = 0;
	while (ms_stacks_next_frame(&d, &f) == MS_FMT_OK)
		*MS_PUSH(&k->frames) = f.flags & ~MS_FRAME_EXACT ? 0 : bits_at(k, f.address);
	while (ms_stacks_next_node(&d, &n) == MS_FMT_OK) {
		uint64_t found = n.frame < k->frames.n ? k->frames.v[n.frame] : 0;
		found |= n.parent < k->nodes.n ? k->nodes.v[n.parent] : 0;
		*MS_PUSH(&k->nodes) = found;
	}
}

static uint64_t size_bits(const struct options *o, uint64_t size)
{
	uint64_t found = 0;
	for (size_t i = 0; i < o->conditions.n; i++) {
		const struct condition *c = &o->conditions.v[i];
		if (c->subject == SIZE && size >= c->value && size <= c->high)
			found |= match_bit(c);
	}
	return found;
}

bool keep_block(const struct keep *k, uint64_t number, uint64_t size, uint32_t stack,
		uint32_t thread)
{
	if (!k->some)
		return true;
	uint64_t found = KEEP(PROCESS) | size_bits(k->o, size);
	found |= born_bits(&k->born, number);
	found |= stack < k->nodes.n ? k->nodes.v[stack] : 0;
	found |= thread < k->threads.n ? k->threads.v[thread] : 0;
	bool kept = (found & k->o->keep) == k->o->keep && !(found & k->o->drop);
	return kept != k->o->invert;
}

void keep_free(struct keep *k)
{
	MS_FREE(k->named.v, k->frames.v, k->nodes.v, k->threads.v);
	born_free(&k->born);
}
