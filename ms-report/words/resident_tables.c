/* SPDX-License-Identifier: MIT
 * --resident: the purposes of resident memory, the sites that pin it, and how to free it.
 */
#include "table.h"

#include "names.h"

#include <string.h>

#define SAY(...) ms_arena_printf(&m->arena, __VA_ARGS__)

/* Selects for each process the moment of a measurement of resident memory: that of --at, else the
 * latest known one. */
#define PICK                                                                                       \
	"WITH pick AS (SELECT process, max(moment) AS moment FROM resident WHERE state = 'done'"   \
	" AND (%Q = 'end' OR label = %Q) GROUP BY process),"                                       \
	" now AS (SELECT r.* FROM resident r JOIN pick USING (process, moment)) "
#define MMAP_LEAST (UINT64_C(128) << 10) /* bytes: glibc's initial threshold for mmap */
#define WORTH_PART 20u                   /* advice must free at least 1/20 of RSS */

enum part { LIVE, SLACK, FREE, OTHER, STACKS, SHARED, FILES, RECORDER, PARTS };
static const struct {
	const char *name, *said, *what;
} parts[] = {
	[LIVE] = {"live data", "live data", "bytes that the program asked for and has not freed"},
	[SLACK] = {"slack", "slack", "rounding of block sizes, and the allocator's headers"},
	[FREE] = {"free but held", "free but held by the allocator",
		  "resident heap memory that lies in no block"},
	[OTHER] = {"other memory", "other memory", "anonymous memory that holds no recorded block"},
	[STACKS] = {"stacks", "stacks", "stacks of all threads of the process"},
	[SHARED] = {"shared memory", "shared memory",
		    "memfd, /dev/shm, System V, tmpfs: can be swapped out, not dropped"},
	[FILES] = {"files", "files", "programs, libraries, mapped files"},
	[RECORDER] = {"recorder", "the recorder's", "what MemScope itself uses in the process"},
};

/* Holds the sums over all processes; UNKNOWN = not known. */
struct facts {
	uint64_t part[PARTS];
	uint64_t rss, swap, huge, untouched, pinned, trim, arenas, arena_free, gaps, wide, peak;
	uint64_t processes, pause_ns, labels;
	const char *label;
	bool glibc; /* all processes use only glibc's allocator */
};

static struct facts find(struct model *m)
{
	struct facts f = {0};
	sqlite3_stmt *q = model_ask(
		m,
		PICK
		"SELECT sum(live_bytes), sum(slack_bytes),"
		" sum(free_bytes), sum(other_bytes), sum(stack_bytes),"
		" sum(shared_bytes), sum(file_bytes),"
		" sum(recorder_bytes), sum(rss_bytes), sum(swap_bytes), sum(huge_bytes), "
		"sum(untouched_bytes),"
		" sum(pinned_bytes), sum(trim_bytes), sum(arenas), sum(arena_free_bytes),"
		" sum(gap_bytes), max(wide), sum(p.peak_bytes), min(label),"
		" min(coalesce(p.allocator LIKE 'glibc%%' AND p.allocator NOT LIKE '%%,%%', 0)),"
		" count(*), max(pause_ns), count(DISTINCT label)"
		" FROM now JOIN process p ON p.id = process",
		m->at_label, m->at_label);
	uint64_t *const more[] = {&f.rss,    &f.swap, &f.huge,   &f.untouched,
				  &f.pinned, &f.trim, &f.arenas, &f.arena_free,
				  &f.gaps,   &f.wide, &f.peak};
	while (model_next(&q)) {
		for (int i = 0; i < PARTS; i++)
			f.part[i] = figure_in(q, i);
		for (size_t i = 0; i < sizeof more / sizeof *more; i++)
			*more[i] = figure_in(q, PARTS + (int)i);
		const void *label = sqlite3_column_text(q, PARTS + 11);
		f.label = label ? SAY("%s", (const char *)label) : NULL;
		f.processes = figure_in(q, PARTS + 13);
		f.pause_ns = figure_in(q, PARTS + 14);
		f.labels = figure_in(q, PARTS + 15);
		f.glibc = figure_in(q, PARTS + 12) == 1;
	}
	return f;
}

/* Returns why resident memory is not known. */
static const char *unknown(struct model *m)
{
	static const char *const why[][2] = {
		{"killed", "the program was killed, or ended without calling exit()"},
		{"time", "measuring took too long"},
		{"unreadable", "the program's pages could not be read"},
		{"threads", "the program's threads could not be stopped"},
		{"lost", "events were lost"},
		{"stopped", "recording was stopped before the program ended"},
		{"ended", "the program ended during the measurement"},
		{"files", "the recorder ran out of file descriptors"},
	};
	const char *said = "recorded without --resident";
	sqlite3_stmt *q = model_ask(m, "SELECT state FROM resident ORDER BY moment DESC LIMIT 1");
	while (model_next(&q)) {
		const char *state = (const char *)sqlite3_column_text(q, 0);
		said = "not measured at this moment";
		for (size_t i = 0; state && i < sizeof why / sizeof *why; i++)
			said = strcmp(state, why[i][0]) == 0 ? why[i][1] : said;
	}
	return SAY("resident memory: n/a (%s)", said);
}

bool resident_known(struct model *m)
{
	return model_number(m, "SELECT EXISTS(SELECT 1 FROM resident WHERE state = 'done')") == 1;
}

/* ---- advice ---- */

struct advice {
	const char *what, *when;
	uint64_t gain;
};
enum { ADVICE_MOST = 3 };

static bool is_glibc(const struct facts *f)
{
	return f->glibc && !f->wide;
}

/* Returns how many bytes would be freed if all threads shared one arena, which needs about the peak
 * of live blocks, plus slack in the present proportion. */
static uint64_t arena_gain(const struct facts *f)
{
	double live = (double)(f->part[LIVE] ? f->part[LIVE] : 1);
	double need = (double)f->peak * (1 + (double)f->part[SLACK] / live);
	double have = (double)(f->part[LIVE] + f->part[SLACK] + f->part[FREE]);
	uint64_t gain = have > need ? (uint64_t)(have - need) : 0;
	return gain < f->arena_free ? gain : f->arena_free;
}

/* Fills `out` with the advice that would free enough memory, the largest gain first; returns the
 * number of entries. */
static size_t advise(struct model *m, const struct facts *f, struct advice out[ADVICE_MOST])
{
	size_t n = 0, to = 0;
	bool large = model_number(m,
				  "SELECT EXISTS(SELECT 1 FROM size_class WHERE low >= %llu AND"
				  " allocations > 0)",
				  (unsigned long long)MMAP_LEAST) == 1;
	if (!f->label || !is_glibc(f))
		return 0;
	out[n++] = (struct advice){"call malloc_trim(0)", "after the program frees much memory",
				   f->trim};
	if (f->arenas)
		out[n++] = (struct advice){"set MALLOC_ARENA_MAX=1",
					   "if threads rarely allocate at the same time",
					   arena_gain(f)};
	if (large)
		out[n++] = (struct advice){"set MALLOC_MMAP_THRESHOLD_=131072",
					   "blocks of 128 KiB or more are unmapped when freed",
					   f->gaps};
	for (size_t i = 0; i < n; i++) {
		if (out[i].gain < f->rss / WORTH_PART)
			continue;
		struct advice a = out[i];
		size_t k = to++;
		for (; k && out[k - 1].gain < a.gain; k--)
			out[k] = out[k - 1];
		out[k] = a;
	}
	return to;
}

static const struct column advice_columns[] = {
	{"advice", "advice", CELL_TEXT, .sum = false},
	{"frees about", "gain_bytes", CELL_SIZE, .sum = false},
	{"of RSS", NULL, CELL_TEXT, .sum = false},
	{"", "when", CELL_TEXT, .sum = false},
};

static struct table advice_table(struct model *m, const struct facts *f)
{
	struct table t =
		TABLE_OF(advice_columns, .title = "ADVICE (savings overlap: they do not add up)",
			 .empty = "nothing would free 5 % of RSS or more");
	struct advice all[ADVICE_MOST];
	size_t n = advise(m, f, all);
	if (f->label && !is_glibc(f))
		t.empty = f->wide ? "none: some blocks were not recorded, so what is free is not "
				    "known"
				  : "none: there is advice for glibc's allocator only";
	for (size_t i = 0; i < n; i++) {
		struct cell *c = table_row(m, &t)->cells;
		c[0].s = all[i].what;
		c[1].n = all[i].gain;
		c[2].s = say_share(m, all[i].gain, f->rss);
		c[3].s = all[i].when;
	}
	return t;
}

/* ---- the answer ---- */

/* Returns where most of `all` bytes of files, or of shared memory, are: "mostly /x"; files that were
 * summed up have no name. */
static const char *largest_file(struct model *m, uint64_t all, bool shared)
{
	const char *said = "--resident lists them";
	sqlite3_stmt *q = model_ask(
		m,
		PICK "SELECT file, sum(bytes) FROM resident_file JOIN pick USING (process, moment)"
		     " WHERE file != '' AND coalesce(shared, 0) = %d GROUP BY file ORDER BY "
		     "sum(bytes) DESC, file LIMIT 1",
		m->at_label, m->at_label, shared);
	while (model_next(&q))
		said = SAY("%s %s", figure_in(q, 1) > all / 2 ? "mostly" : "the largest is",
			   name_clean(&m->arena, (const char *)sqlite3_column_text(q, 0), false));
	return said;
}

/* Returns a recommendation for the largest part. */
static const char *what_to_do(struct model *m, const struct facts *f, enum part largest)
{
	struct advice all[ADVICE_MOST];
	size_t n = advise(m, f, all);
	switch (largest) {
	case LIVE:
		return "--leaks shows its sites";
	case SLACK:
		return "fewer but larger blocks, or a pool, would reduce it";
	case FREE:
		if (figure_some(f->wide))
			return "the recording cannot tell which";
		return n ? SAY("%s to free about %s", all[0].what, say_size(m, all[0].gain))
		       : figure_or_0(f->pinned) > f->part[FREE] / 2
			       ? SAY("%s shares pages with live blocks (--resident lists the "
				     "sites)",
				     say_size(m, f->pinned))
			       : "only the allocator can return it to the system";
	case OTHER:
		return "record with --mmap to see who mapped it";
	case FILES:
	case SHARED:
		return largest_file(m, f->part[largest], largest == SHARED);
	case RECORDER:
		return "absent when the program is not recorded";
	default:
		return "they depend on ulimit -s and the number of threads";
	}
}

/* Returns whose resident memory it is, and when: " (2 of 3 processes, at the end; ...)", or
 * " at the end" of the only process. */
static const char *of_whom(struct model *m, const struct facts *f)
{
	uint64_t all = m->processes.n - m->images;
	const char *when = f->labels > 1                  ? "each when last measured"
			   : strcmp(f->label, "end") == 0 ? "at the end"
							  : name_clean(&m->arena, f->label, false);
	if (f->processes < all)
		return SAY(" (%s of %s, %s; the others were not measured)",
			   say_count(m, f->processes), say_things(m, all, "process"), when);
	if (all > 1)
		return SAY(" (%s, %s)", say_things(m, all, "process"), when);
	return strcmp(f->label, "end") == 0 ? " at the end" : SAY(" (%s)", when);
}

const char *resident_answer(struct model *m)
{
	struct facts f = find(m);
	enum part largest = LIVE;
	if (!f.label)
		return unknown(m);
	for (int i = 0; i < PARTS; i++)
		if (figure_or_0(f.part[i]) > f.part[largest])
			largest = (enum part)i;
	return SAY(
		"RSS %s%s: the largest part, %s (%s), is %s: %s", say_size(m, f.rss),
		of_whom(m, &f), say_size(m, f.part[largest]), say_share(m, f.part[largest], f.rss),
		largest == FREE && figure_some(f.wide) ? "free, or in blocks that were not recorded"
						       : parts[largest].said,
		what_to_do(m, &f, largest));
}

/* ---- parts ---- */

enum { PART_NAME, PART_RESIDENT, PART_SHARE = 3, PART_BESIDE, PART_MEANING = 6 };
static const struct column part_columns[] = {
	{"part", "part", CELL_TEXT, .sum = false},
	{"resident", NULL, CELL_VALUE, .sum = false},
	{NULL, "resident_bytes", CELL_SIZE, .sum = false},
	{"of RSS", NULL, CELL_VALUE, .sum = false},
	{"not in RSS", NULL, CELL_VALUE, .sum = false},
	{NULL, "beside_bytes", CELL_SIZE, .sum = false},
	{"", "meaning", CELL_TEXT, .sum = false, .optional = true},
};

/* Adds a row for a part of RSS, with its size `resident` and its share; or if `share` is NULL, for
 * memory outside RSS, with its size `beside`. "n/a" = not known. */
static struct row *part_row(struct model *m, struct table *t, const char *name, uint64_t resident,
			    const char *share, uint64_t beside, const char *what)
{
	struct row *r = table_row(m, t);
	struct cell *c = r->cells;
	c[PART_NAME].s = name;
	c[PART_RESIDENT].s = share ? say_size(m, resident) : NULL;
	c[PART_RESIDENT + 1].n = share ? resident : UNKNOWN;
	c[PART_SHARE].s = share;
	c[PART_BESIDE].s = share ? NULL : say_size(m, beside);
	c[PART_BESIDE + 1].n = share ? UNKNOWN : beside;
	c[PART_MEANING].s = what;
	return r;
}

static struct table part_table(struct model *m, const struct facts *f)
{
	struct table t =
		TABLE_OF(part_columns, .title = "RESIDENT MEMORY by use", .empty = unknown(m));
	uint64_t sum = 0;
	if (!f->label)
		return t;
	t.title = SAY("%s; measuring paused %s %s", t.title,
		      f->processes > 1 ? "each process for at most" : "the process for",
		      say_time(m, f->pause_ns));
	for (int i = 0; i < PARTS; i++) {
		if (i == SHARED && f->part[i] == UNKNOWN) /* an older trace: part of files */
			continue;
		part_row(m, &t,
			 i == FREE && figure_some(f->wide) ? "free or unrecorded" : parts[i].name,
			 f->part[i], say_share(m, f->part[i], f->rss), 0, parts[i].what);
		sum += figure_or_0(f->part[i]);
	}
	part_row(m, &t, "never touched", 0, NULL, f->untouched, "of live blocks");
	part_row(m, &t, "swapped out", 0, NULL, f->swap, "of all mappings");
	if (figure_some(f->huge))
		part_row(m, &t, "huge pages", 0, NULL, f->huge,
			 "of hugetlbfs, which RSS does not count");
	part_row(m, &t, "RSS", f->rss, say_share(m, sum, f->rss), 0,
		 "sum of the parts from live data to recorder")
		->kind = ROW_TOTAL;
	return t;
}

/* ---- sites, files ---- */

enum { WHERE, PINNED, ALONE, TOUCHED, BLOCKS, NEVER, SITE, PLACE };
static const struct column site_columns[] = {
	{"first frame of your code", "function", CELL_FUNCTION, .sql = "NULL"},
	{"pins", "pinned_bytes", CELL_SIZE, .sum = true},
	{"own pages", "alone_bytes", CELL_SIZE, .sum = true, .optional = true},
	{"resident", "live_bytes", CELL_SIZE, .sum = true},
	{"blocks", "blocks", CELL_COUNT, .sum = true, .optional = true},
	{"never touched", "untouched_bytes", CELL_SIZE, .sum = true},
	{"#", "site", CELL_ID, .sum = false},
	{"", "place", CELL_PATH, .sql = "NULL", .optional = true},
};

/* Makes a table of the sites whose column `by` is not 0, the largest first. */
static struct table site_table(struct model *m, int by, size_t limit)
{
	struct table t = TABLE_OF(site_columns, .title = NULL);
	static const struct style plain = {.full_names = true};
	table_query(m, &t,
		    "FROM (" PICK "SELECT x.* FROM resident_site x JOIN site s ON s.id = x.site"
		    " JOIN pick p ON p.process = s.process AND p.moment = x.moment"
		    " WHERE %s > 0) ORDER BY site",
		    m->at_label, m->at_label, site_columns[by].name);
	for (size_t i = 0; i < t.n; i++) {
		struct cell *c = t.rows[i].cells;
		const struct site *s = model_site(m, (int64_t)c[SITE].n);
		const struct frame *f = s ? site_frame(m, s) : NULL;
		c[WHERE].s = f ? frame_name(&m->arena, m, f) : "(no stack)";
		c[PLACE].s = f ? frame_place(&m->arena, m, f, &plain) : NULL;
	}
	t.title = by == PINNED ? "SITES by pinned bytes: free bytes on pages that hold their blocks"
			       : "SITES by live bytes that were never touched";
	t.empty = "none";
	table_finish(m, &t, by, limit, "site", TOTAL_NONE);
	return t;
}

static const struct column file_columns[] = {
	{"file", "file", CELL_PATH, .sql = "iif(file = '', '(others)', file)"},
	{"", "kind", CELL_TEXT, .sql = "iif(shared, 'shared memory', '')", .optional = true},
	{"resident", "resident_bytes", CELL_SIZE, .sum = true, .sql = "sum(bytes)"},
};

static struct table file_table(struct model *m, size_t limit)
{
	struct table t = TABLE_OF(file_columns, .title = "FILES and shared memory",
				  .empty = "no pages of files are resident");
	table_query(m, &t,
		    "FROM (" PICK "SELECT f.* FROM resident_file f JOIN pick USING (process,"
		    " moment)) GROUP BY file, shared ORDER BY sum(bytes) DESC, file, shared",
		    m->at_label, m->at_label);
	table_finish(m, &t, -1, limit, "file", TOTAL_NONE);
	return t;
}

static const struct column moment_columns[] = {
	{"moment", "label", CELL_TEXT, .sum = false},
	{"at", "time_ns", CELL_TIME, .sum = false},
	{"RSS", "rss_bytes", CELL_SIZE, .sum = false},
	{"live data", "live_bytes", CELL_SIZE, .sum = false},
	{"slack", "slack_bytes", CELL_SIZE, .sum = false},
	{"free but held", "free_bytes", CELL_SIZE, .sum = false},
	{"other", "other_bytes", CELL_SIZE, .sum = false},
	{"files", "file_bytes", CELL_SIZE, .sum = false},
	{"shared memory", "shared_bytes", CELL_SIZE, .sum = false, .optional = true},
	{"process", "process", CELL_ID, .sum = false},
};

/* Makes a table of all moments at which resident memory was measured. */
static struct table moment_table(struct model *m)
{
	struct table t = TABLE_OF(moment_columns, .title = "MOMENTS");
	table_query(m, &t, "FROM resident WHERE state = 'done' ORDER BY process, moment");
	if (m->processes.n == 1)
		table_retitle(m, &t, t.column_count - 1, NULL);
	return t;
}

const char *const resident_names[RESIDENT_TABLES] = {"resident",           "resident_sites",
						     "resident_untouched", "resident_files",
						     "resident_advice",    "resident_moments"};

size_t resident_tables(struct model *m, size_t limit, struct table out[RESIDENT_TABLES])
{
	struct facts f = find(m);
	size_t n = 0;
	out[n++] = part_table(m, &f);
	if (!f.label)
		return n;
	out[n++] = site_table(m, PINNED, limit);
	out[n++] = site_table(m, NEVER, limit);
	out[n++] = file_table(m, limit);
	out[n++] = advice_table(m, &f);
	out[n] = moment_table(m);
	return n + (out[n].n > 1);
}
