/* SPDX-License-Identifier: MIT
 * What a scan puts into the trace and says at its end, read back: by hand, and of random blocks
 * against a naive model that looks at all of them for each call stack.
 */
#include "ms-record/scan/scan_records.c" /* they belong to a tool, of which there is no library */
#include "ms-record/write/batch.c"

#include "tests/unit/held.h"
#include "tests/unit/is.h"
#include "tests/unit/stream.h"

#define STACKS 8u
#define BLOCKS 60u
#define MANY 300u /* more roots than fit into what a record has without them */
#define NOW 5000u

static struct session session;
static struct session_options opt;
static struct output out;
static struct scan scan;
static struct scanner scanner = {.label = "now"};
static struct work w;
static struct stream s;
/* Holds what graph_retained returns. */
static struct {
	uint32_t direct, block;
} retained[MANY];
static uint32_t retained_count;
static unsigned solved;
static char resident[200]; /* what was put of that */

/* ---- the rest of the recorder ---- */

static void locked(const char *what)
{
	bool free = !pthread_mutex_trylock(&session.queued.lock);
	CHECK(!free, "%s", what);
	if (free)
		pthread_mutex_unlock(&session.queued.lock);
}

uint64_t session_now(const struct session *k)
{
	return k == &session ? 70 : 0;
}

uint64_t clock_mono(void)
{
	return NOW;
}

uint64_t scan_pause(const struct work *k)
{
	return k == &w ? 9 : 0;
}

void resident_solve(struct work *k)
{
	solved += k == &w;
}

void resident_put(struct work *k, const char *label, uint64_t time_ns, uint64_t event)
{
	locked("what is resident");
	sprintf(resident, "%s %lu %lu state %lu%s", label, (long)time_ns, (long)event,
		(long)k->resident.state, k->s == &session && k->q == &scan ? "" : "?");
}

void graph_retained(struct graph *g, void (*f)(void *arg, uint32_t direct, uint32_t block),
		    void *arg)
{
	locked("the sites");
	for (uint32_t i = 0; i < retained_count && g == &w.graph; i++)
		f(arg, retained[i].direct, retained[i].block);
}

/* ---- the state of things ---- */

static void said(const char *what, const char *got, const char *want)
{
	CHECK(!strcmp(got, want), "%s: '%s', not '%s'", what, got, want);
}

static void begin(void)
{
	free(session.queued.verdicts.data);
	opt = (struct session_options){.leak_mark = "x"};
	session = (struct session){
		.opt = &opt, .scan = &scan, .out = &out, .queued.lock = PTHREAD_MUTEX_INITIALIZER};
	session.stats.events = 40;
	session.stats.allocations = 3;
	scan = (struct scan){.scans = 6, .events = 41, .label = "mark:x"};
	w = (struct work){.scanner = &scanner,
			  .s = &session,
			  .q = &scan,
			  .start_ns = NOW - 100,
			  .state = MS_SCAN_LOST};
	w.memory.bytes = 4096;
	retained_count = solved = 0;
	resident[0] = '\0';
}

/* The heads of scans in the records, a line each. */
static const char *heads(void)
{
	static char text[4096];
	struct ms_record_reader r = {session.queued.verdicts.data,
				     session.queued.verdicts.data + session.queued.verdicts.size};
	struct ms_record rec;
	struct ms_verdict_record v;
	text[0] = '\0';
	while (ms_record_next(&r, &rec) == MS_FMT_OK && ms_verdict_get(rec, &v))
		if (v.is_scan) {
			is("label", strnlen(v.scan.label, v.scan.label_size), v.scan.label_size);
			sprintf(text + strlen(text),
				"%lu %.*s at %lu %lu%s number %lu state %lu: %lu %lu %lu\n",
				(long)v.scan.scan, (int)v.scan.label_size, v.scan.label,
				(long)v.scan.time_ns, (long)v.scan.event,
				v.scan.wide ? " wide" : "", (long)v.scan.number, (long)v.scan.state,
				(long)v.scan.pause_ns, (long)v.scan.took_ns,
				(long)v.scan.read_bytes);
		}
	return text;
}

/* ---- words, and what others see ---- */

static void check_words(void)
{
	static const char *const words[] = {
		NULL,
		NULL,
		"the program was killed, or ended without calling exit()",
		"the scan would have taken longer than --leak-check allows",
		"some of the program's memory could not be read",
		"the program's threads could not be stopped",
		"events were lost",
		NULL,
		"the recorder had too little memory for the pointers that it found",
		NULL,
		"the program ended before it could be scanned",
		"the recorder ran out of file descriptors",
		NULL,
	};
	uint64_t read, due;
	for (uint64_t i = 0; i < sizeof words / sizeof *words; i++) {
		const char *got = scan_state_words(i);
		said("words", got ? got : "", words[i] ? words[i] : "");
		is("none", got != NULL, words[i] != NULL);
	}
	for (int held = 0; held < 2; held++) {
		struct scan q = {.held = held, .read_bytes = 5, .due_bytes = 6};
		is("held", scan_holds(&q, &read, &due), held != 0);
		is("read", read, 5);
		is("of", due, 6);
		is("its result", scan_result(&q) == &q.result, true);
	}
}

/* ---- no scan at the end ---- */

static struct mg_session memory;

static void finish_case(unsigned how, enum session_end ending)
{
	begin();
	opt.leak_check = how & 1;
	opt.resident = how & 2;
	opt.attached = how & 4;
	scan.ended = how & 8;
	session.stats.allocations = how & 16 ? 0 : 1;
	opt.sample_bytes = how & 32;
	session.ending = ending;
	memory.end_unheard = how & 64;
	memory.end_state = how & 128 ? MG_END_LATE : 0;
	session.mem = &memory;
	int why = how & 32                    ? MS_SCAN_SAMPLED
		  : ending == SESSION_STOPPED ? MS_SCAN_STOPPED
		  : how & (64 | 128)          ? MS_SCAN_TIME
					      : MS_SCAN_KILLED;
	bool told = !(how & (4 | 8 | 16)) && ending != SESSION_EXECED;
	char want[100] = "", lives[100] = "";
	if (told && how & 1)
		sprintf(want, "7 end at 70 40 number 0 state %d: 0 0 0\n", why);
	if (told && how & 2)
		sprintf(lives, "end 70 40 state %d", why);
	scan_finish(&session);
	said("no scan", heads(), want);
	said("nothing known", resident, lives);
	is("for people", scan.result.state, *want ? (uint64_t)why : 0);
	is("scans", scan.scans, *want ? 7 : 6);
	is("unlocked", (uint64_t)pthread_mutex_trylock(&session.queued.lock), 0);
}

static void check_finish(void)
{
	for (unsigned how = 0; how < 256; how++)
		for (unsigned ending = SESSION_RUNS; ending <= SESSION_STOPPED; ending++)
			finish_case(how, (enum session_end)ending);
}

/* ---- which stack made a block ---- */

/* Numbers that rise by 1 to `step` each. */
static void name_case(uint32_t n, uint64_t first, uint64_t step)
{
	struct scan_live l = {.count = 3 * n + 4};
	l.blocks = ms_xcalloc(l.count, sizeof *l.blocks);
	for (uint64_t i = 0, number = first; i < n; i++) {
		*MS_PUSH(&l.stacks) = (struct number_stack){number, (uint32_t)i + 10};
		number += 1 + stream_random(&s) % step;
	}
	const struct number_stack *v = l.stacks.v;
	uint64_t last = n ? v[n - 1].number : first;
	for (uint32_t i = 0; i < l.count; i++)
		l.blocks[i].number = i < n       ? v[n - 1 - i].number
				     : i < n + 4 ? last + 2 * (i - n)
				     : i < 2 * n + 4
					     ? first - 1 - stream_random(&s) % first
					     : first + stream_random(&s) % (last - first + 1);
	uint32_t *want = ms_xcalloc(l.count, sizeof *want);
	for (uint32_t i = 0; i < l.count; i++)
		for (uint32_t k = 0; k < n; k++)
			if (v[k].number == l.blocks[i].number)
				want[i] = v[k].stack;
	scan_name_stacks(&l);
	for (uint32_t i = 0; i < l.count; i++)
		is("stack", l.blocks[i].stack, want[i]);
	is("given back", l.stacks.v || l.stacks.n || l.stacks.cap, false);
	MS_FREE(l.blocks, want);
}

/* There are at most as many parts as numbers, and at least half as many. */
static void check_index(void)
{
	static const struct number_stack v[] = {{5, 1}, {6, 2}, {9, 3}, {13, 4}};
	struct stack_index x = index_stacks(v, 4);
	is("parts of four numbers", x.shift, 2);
	is("the first", x.from[0], 0);
	is("the second", x.from[1], 2);
	is("the third", x.from[2], 3);
	is("the end", x.from[3], 4);
	free(x.from);
	x = index_stacks(v, 2);
	is("a part each", x.shift, 0);
	free(x.from);
	x = index_stacks(v, 0);
	is("none", x.first > x.last, true);
	free(x.from);
}

static void check_names(void)
{
	s = (struct stream){.seed = 4};
	for (uint32_t n = 0; n < 40; n++) {
		name_case(n, 1 + n % 3, 1);
		name_case(n, 1000, 3);
		name_case(n, 7, 1000);
		name_case(n, UINT64_C(1) << 40, UINT64_C(1) << 34);
	}
	check_index();
}

/* ---- the blocks of each stack ---- */

static struct site {
	uint64_t blocks[MS_VERDICTS], bytes[MS_VERDICTS], retained_blocks, retained_bytes;
	uint64_t root_blocks[MANY], root_bytes[MANY];
} want[MANY];

static bool is_there(const struct site *t)
{
	return t->blocks[0] || t->blocks[1] || t->blocks[2] || t->blocks[3];
}

static void model(void)
{
	const struct graph_block *v = w.graph.v;
	memset(want, 0, sizeof want);
	for (uint32_t i = 0; i < w.graph.count; i++) {
		want[v[i].stack].blocks[v[i].verdict]++;
		want[v[i].stack].bytes[v[i].verdict] += v[i].size;
	}
	for (uint32_t i = 0; i < retained_count; i++) {
		uint32_t direct = retained[i].direct, block = retained[i].block;
		want[v[direct].stack].retained_blocks++;
		want[v[direct].stack].retained_bytes += v[block].size;
		if (direct == block)
			continue;
		want[v[block].stack].root_blocks[v[direct].stack]++;
		want[v[block].stack].root_bytes[v[direct].stack] += v[block].size;
	}
}

static void compare_site(const struct ms_verdict_site *t, struct ms_record rec)
{
	const struct site *x = &want[t->stack];
	struct ms_verdict_root root = {0};
	unsigned roots = 0;
	for (unsigned v = 0; v < MS_VERDICTS; v++) {
		is("blocks", t->blocks[v], x->blocks[v]);
		is("bytes", t->bytes[v], x->bytes[v]);
	}
	is("it retains", t->retained_blocks, x->retained_blocks);
	is("bytes that it retains", t->retained_bytes, x->retained_bytes);
	for (; ms_verdict_next_root(&rec, &root); roots++) {
		is("retained with it", root.blocks, x->root_blocks[root.stack]);
		is("bytes retained with it", root.bytes, x->root_bytes[root.stack]);
	}
	for (unsigned i = 0; i < MANY; i++)
		roots -= x->root_blocks[i] != 0;
	is("roots", roots, 0);
}

static void compare(void)
{
	struct ms_record_reader r = {session.queued.verdicts.data,
				     session.queued.verdicts.data + session.queued.verdicts.size};
	struct ms_record rec;
	struct ms_verdict_record v;
	uint64_t next = 0, blocks = 0, bytes = 0;
	model();
	while (ms_record_next(&r, &rec) == MS_FMT_OK && ms_verdict_get(rec, &v)) {
		if (v.is_scan)
			continue;
		is("the scan", v.site.scan, 7);
		for (; next < MANY && !is_there(&want[next]); next++)
			continue;
		is("in order of stack", v.site.stack, next++);
		compare_site(&v.site, rec);
		blocks += v.site.blocks[0] + v.site.blocks[1];
		bytes += v.site.bytes[0] + v.site.bytes[1];
	}
	for (; next < MANY; next++)
		is("no more", is_there(&want[next]), false);
	is("all is whole", ms_record_next(&r, &rec) == MS_FMT_END, true);
	is("unreachable", scan.result.unreachable_blocks, blocks);
	is("bytes unreachable", scan.result.unreachable_bytes, bytes);
}

static void put_graph(struct graph_block *v, uint32_t count)
{
	w.graph = (struct graph){.v = v, .count = count};
	w.graphed = true;
	w.request.asker = SCAN_BY_TELL;
	scan.result.unreachable_blocks = scan.result.unreachable_bytes = 99; /* of another one */
	scan_put_result(&w);
	compare();
}

static void check_sites(void)
{
	static struct graph_block v[MANY + 1];
	s = (struct stream){.seed = 1};
	for (unsigned round = 0; round < 300 && !failures; round++) {
		begin();
		uint32_t count = (uint32_t)(stream_random(&s) % BLOCKS);
		uint32_t stacks = 1 + (uint32_t)(stream_random(&s) % STACKS);
		for (uint32_t i = 0; i < count; i++) {
			v[i] = (struct graph_block){
				.stack = (uint32_t)(stream_random(&s) % stacks * 3),
				.size = stream_random(&s) % 1000,
				.verdict = (uint8_t)(stream_random(&s) % MS_VERDICTS)};
			bool itself = stream_random(&s) % 3 == 0;
			retained[i].block = i;
			retained[i].direct = itself ? i : (uint32_t)(stream_random(&s) % (i + 1));
		}
		v[count].stack = UINT32_MAX; /* it is none of them */
		retained_count = count;
		put_graph(v, count);
	}
	begin();
	for (uint32_t i = 0; i < MANY; i++) {
		v[i] = (struct graph_block){.stack = i, .size = UINT64_C(1) << 40};
		retained[i].block = 0;
		retained[i].direct = i;
	}
	retained_count = MANY;
	put_graph(v, MANY);
}

/* ---- the head ---- */

static void put_case(unsigned how, enum scan_asker asker)
{
	static const char *const labels[] = {"end", "request", "mark:x", "now"};
	bool answered = how & 1, judged = !(how & 2), end = asker == SCAN_BY_END;
	char head[200] = "", lives[100] = "";
	begin();
	w.request.asker = asker;
	w.answered = answered;
	w.unjudged = !judged;
	w.resident.wanted = how & 4;
	w.resident.state = MS_SCAN_DONE;
	scan.live.wide = how & 8;
	scan.live.time_ns = 50;
	scan.live.event = 30;
	scan.live.number = 20;
	scan.result = (struct scan_result){.unreachable_blocks = 1, .unreachable_bytes = 2};
	if (judged)
		sprintf(head, "7 %s at %s%s number %d state 6: 9 100 4096\n", labels[asker],
			answered ? "50 30" : "70 41", how & 8 ? " wide" : "", answered ? 20 : 0);
	if (how & 4)
		sprintf(lives, "%s %s state 1", labels[asker], answered ? "50 30" : "70 41");
	scan_put_result(&w);
	said("head", heads(), head);
	said("resident", resident, lives);
	is("once", solved, 1);
	is("the end was there", scan.ended, end);
	is("scans", scan.scans, judged ? 7 : 6);
	is("number", w.number, judged ? 7 : 0);
	is("held for", scan.result.pause_ns, end ? 9 : 0);
	is("how it went", scan.result.state, end && judged ? MS_SCAN_LOST : 0);
	is("read", scan.result.read_bytes, end && judged ? 4096 : 0);
	is("took", scan.result.took_ns, end && judged ? 100 : 0);
	is("blocks", scan.result.unreachable_blocks, !judged);
	is("bytes", scan.result.unreachable_bytes, judged ? 0 : 2);
	is("unlocked", (uint64_t)pthread_mutex_trylock(&session.queued.lock), 0);
}

/* Checks that the longest name of a mark, 255 bytes, is kept whole. */
static void check_long(void)
{
	char mark[256] = "";
	memset(mark, 'm', sizeof mark - 1);
	begin();
	snprintf(scan.label, sizeof scan.label, "mark:%s", mark);
	w.request.asker = SCAN_BY_MARK;
	scan_put_result(&w);
	is("a long one", (uint64_t)(strchr(heads(), ' ') - heads()), 1);
	is("all of it", strspn(heads() + 2 + strlen("mark:"), "m"), sizeof mark - 1);
}

static void check_put(void)
{
	for (unsigned how = 0; how < 16; how++)
		for (unsigned asker = SCAN_BY_END; asker <= SCAN_BY_TELL_RESIDENT; asker++)
			put_case(how, (enum scan_asker)asker);
}

int main(void)
{
	check_words();
	check_finish();
	check_names();
	check_sites();
	check_put();
	check_long();
	free(session.queued.verdicts.data);
	is("all is given back", (uint64_t)held_blocks, 0);
	return failures != 0;
}
