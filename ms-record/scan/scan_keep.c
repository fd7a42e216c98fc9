/* SPDX-License-Identifier: MIT
 * Finds what keeps the blocks of a leak scan reachable: collects what keep_find needs.
 */
#include "scan_keep.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/trace.h"
#include "libcommon/base/order.h"
#include "libcommon/base/path.h"
#include "libcommon/proc/proc.h"
#include "ms-record/base/held_files.h"
#include "ms-record/code/modules.h"
#include "ms-record/heap/forks.h"
#include "ms-record/heap/heap.h"
#include "ms-record/heap/preexisting.h"
#include "ms-record/session/session.h"
#include "scan_work.h"

#define NODES_NS UINT64_C(5000000000)
#define STEP_US 200
#define MEMORY_PART 8u /* part of the free memory that keep_find may use */
#define MEMORY_LEAST ((uint64_t)16 << 20)

/* ---- the draining thread ---- */

static int by_start(const void *a, const void *b)
{
	const struct kept_module *x = a, *y = b;
	return MS_ORDER(x->start, y->start);
}

/* Adds a block from before the recording, or from before the fork; blocks of ms_alloc are parts of
 * others. */
static void add_before(void *arg, const struct live_block *b)
{
	struct kept_image *image = arg;
	if (b->address >> 63)
		return;
	*MS_PUSH(&image->before) = (struct graph_range){b->address, b->address + b->size};
}

static void add_mapped(void *arg, const struct ms_range *r)
{
	struct kept_image *image = arg;
	*MS_PUSH(&image->mapped) = *r;
}

void scan_keep_copy(const struct session *s, struct kept_image *image)
{
	for (size_t i = 0; i < s->modules.all.n; i++) {
		const struct module *m = &s->modules.all.v[i];
		if (m->epoch_closed != UINT32_MAX || m->start >= m->end)
			continue;
		struct kept_module *to = MS_PUSH(&image->modules);
		*to = (struct kept_module){.start = m->start,
					   .end = m->end,
					   .bias = m->bias,
					   .eh_frame_hdr = m->eh_frame_hdr,
					   .id = m->same ? m->same : (uint32_t)i + 1,
					   .number = (uint32_t)i};
		if (m->file) /* mapped, since descriptors may be few */
			elfmap_map(&to->file, m->file->fd);
		const char *path = m->same ? s->modules.all.v[m->same - 1].path : m->path;
		snprintf(to->name, sizeof to->name, "%s", path ? ms_base_name(path) : "");
	}
	if (image->modules.n)
		qsort(image->modules.v, image->modules.n, sizeof *image->modules.v, by_start);
	for (size_t i = 0; i < s->threads.all.n; i++) {
		const struct thread *t = &s->threads.all.v[i];
		*MS_PUSH(&image->tids) = (struct kept_tid){t->tid, t->outer, (uint32_t)i + 1};
	}
	preexisting_each(s->heap->preexisting, add_before, image);
	forks_each(s, add_before, image);
	ms_ranges_each(&s->heap->mapped, add_mapped, image);
}

void scan_keep_drop(struct kept_image *image)
{
	for (size_t i = 0; i < image->modules.n; i++)
		kept_module_free(&image->modules.v[i]);
	MS_FREE(image->modules.v, image->tids.v, image->before.v, image->mapped.v);
	*image = (struct kept_image){0};
}

/* Changes the state of a request for stack nodes; false if it was in another state. */
static bool change(struct kept_nodes *q, int from, int to)
{
	return __atomic_compare_exchange_n(&q->state, &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

void scan_keep_look(struct session *s)
{
	struct kept_nodes *q = &s->scan->kept_nodes;
	if (!change(q, REQUEST_ASKED, REQUEST_TAKEN))
		return;
	uint32_t epoch = modules_epoch_at(&s->modules, s->scan->stamp);
	for (size_t i = 0; i < q->n; i++) {
		struct ms_frame f = {.address = q->v[i].ip,
				     .flags = q->v[i].exact ? MS_FRAME_EXACT : 0};
		f.module = modules_find(&s->modules, &f.address, epoch);
		q->v[i].stack = f.module ? stacks_node(&s->stacks, 0, &f) : 0;
	}
	__atomic_store_n(&q->state, REQUEST_DONE, __ATOMIC_RELEASE);
}

/* ---- while the memory can be read ---- */

/* Returns a thread's index in the trace + 1; 0 = it has made no record. Of threads that had the same
 * id one after the other, the last one is meant. */
static uint32_t index_of(const struct kept_image *image, const struct scan_thread *t)
{
	for (size_t i = image->tids.n; i-- > 0;) {
		const struct kept_tid *v = &image->tids.v[i];
		if (t->inner ? v->inner == t->tid
			     : v->outer == t->tid || (!v->outer && v->inner == t->tid))
			return v->index;
	}
	return 0;
}

/* Lists the threads, and where their storage is. */
static void list_threads(struct work *w)
{
	struct kept *k = &w->kept;
	const struct mg_session *m = w->s->mem;
	k->threads = ms_xcalloc(w->thread_count + 1, sizeof *k->threads);
	k->thread_count = w->thread_count;
	for (size_t i = 0; i < w->thread_count; i++) {
		struct kept_thread *t = &k->threads[i];
		t->regs = &w->threads[i];
		t->index = index_of(&w->q->live.image, t->regs);
		t->main = m->main_tp ? t->regs->tp == m->main_tp
				     : (pid_t)t->regs->tid == w->s->process.pid;
		struct graph_range locals = kept_thread_find(t, &w->memory);
		if (locals.start < locals.end)
			*MS_PUSH(&k->found.locals) = locals;
	}
}

void scan_keep_begin(struct work *w)
{
	struct kept_image *image = &w->q->live.image;
	struct roots_kept *f = &w->kept.found;
	f->before.v = image->before.v;
	f->before.n = image->before.n;
	f->mapped = image->mapped.v;
	f->mapped_count = image->mapped.n;
	for (size_t i = 0; i < image->modules.n; i++)
		*MS_PUSH(&w->kept.code) =
			(struct graph_range){image->modules.v[i].start, image->modules.v[i].end};
	f->graph.types = w->kept.code.v;
	f->graph.type_count = w->kept.code.n;
	if (image->before.n)
		qsort(image->before.v, image->before.n, sizeof *image->before.v,
		      ms_by_first_number);
	list_threads(w);
}

void scan_keep_read(struct work *w)
{
	for (size_t i = 0; i < w->kept.thread_count; i++)
		kept_thread_read(&w->kept.threads[i], &w->memory);
	kept_read_classes(w);
}

/* ---- frames ---- */

/* Has the draining thread make stack nodes of the frames' addresses. */
static void name_frames(struct work *w)
{
	struct kept *k = &w->kept;
	struct kept_nodes *q = &w->q->kept_nodes;
	uint64_t until = clock_mono() + NODES_NS;
	q->n = 0;
	q->v = ms_xrealloc(q->v, k->about.n + 1, sizeof *q->v);
	for (size_t i = 0; i < k->about.n; i++)
		if (k->about.v[i].ip)
			q->v[q->n++] = (struct kept_node){k->about.v[i].ip, 0, k->about.v[i].exact};
	if (!q->n)
		return;
	__atomic_store_n(&q->state, REQUEST_ASKED, __ATOMIC_RELEASE);
	while (__atomic_load_n(&q->state, __ATOMIC_ACQUIRE) != REQUEST_DONE) {
		if (clock_mono() > until && change(q, REQUEST_ASKED, REQUEST_FAILED))
			return;
		if (!w->scanner->drain) { /* there is no other thread */
			scan_keep_look(w->s);
			continue;
		}
		wake_up(w->scanner->drain);
		usleep(STEP_US);
	}
	for (size_t i = 0, at = 0; i < k->about.n; i++)
		if (k->about.v[i].ip)
			k->about.v[i].stack = q->v[at++].stack;
}

/* ---- edges ---- */

static int by_from(const void *a, const void *b)
{
	const struct graph_link *x = a, *y = b;
	return MS_ORDER(x->from, y->from) ?: MS_ORDER(x->offset, y->offset);
}

/* Numbers ranges for keep_find: those that are blocks first, behind the graph's blocks. */
static void number_ranges(struct work *w)
{
	struct kept *k = &w->kept;
	const struct roots_kept *f = &k->found;
	uint32_t block = w->graph.count, mapping = block + (uint32_t)f->before.n;
	if (!f->before.n)
		return;
	k->node_of = ms_xrealloc(NULL, f->ranges.n + 1, sizeof *k->node_of);
	for (size_t i = 0, at = 0; i < f->ranges.n; i++) {
		while (at < f->before.n && f->before.v[at].start < f->ranges.v[i].start)
			at++;
		bool is = at < f->before.n && f->before.v[at].start == f->ranges.v[i].start;
		k->node_of[i] = is ? block++ : mapping++;
	}
	k->before_count = (uint32_t)f->before.n;
}

/* Adds an edge to each block of ms_alloc from the block that it lies in. */
static void link_nested(struct work *w)
{
	const struct graph *g = &w->graph;
	for (uint32_t i = g->heap; i < g->count; i++) {
		const struct graph_block *b = &g->v[i];
		uint32_t outer = graph_find(g, b->address, false);
		if (graph_is_inside(g, i))
			outer = g->outer[i - g->heap] - 1;
		else if (outer >= g->heap || g->v[outer].address > b->address ||
			 g->v[outer].address + g->v[outer].size < b->address + b->size)
			continue;
		uint64_t offset = b->address - g->v[outer].address;
		*MS_PUSH(&w->kept.links) = (struct graph_link){
			outer, i, offset < KEEP_NONE ? (uint32_t)offset : KEEP_NONE};
	}
}

/* Joins the graph's edges and the links: moves the edges up in their own arrays, from the last one
 * on. Returns each node's first edge, to be freed. */
static uint32_t *join_edges(struct work *w, uint32_t nodes)
{
	struct graph *g = &w->graph;
	struct kept *k = &w->kept;
	struct graph_kept *f = &k->found.graph;
	for (size_t i = 0; i < f->links.n; i++)
		*MS_PUSH(&k->links) = f->links.v[i];
	for (size_t i = 0; k->node_of && i < k->links.n; i++) {
		k->links.v[i].from = kept_node(k, g->count, k->links.v[i].from);
		k->links.v[i].to = kept_node(k, g->count, k->links.v[i].to);
	}
	if (k->links.n)
		qsort(k->links.v, k->links.n, sizeof *k->links.v, by_from);
	size_t left = k->links.n, to = g->edge_count + left;
	uint32_t *first = ms_xrealloc(NULL, (size_t)nodes + 1, sizeof *first);
	g->edges = ms_xrealloc(g->edges, to + 1, sizeof *g->edges);
	f->offsets = ms_xrealloc(f->offsets, to + 1, sizeof *f->offsets);
	first[nodes] = (uint32_t)to;
	for (uint32_t i = nodes; i-- > 0;) {
		for (; left && k->links.v[left - 1].from == i; left--) {
			g->edges[--to] = k->links.v[left - 1].to;
			f->offsets[to] = k->links.v[left - 1].offset;
		}
		uint32_t from = i < g->count ? g->first_edge[i] : 0;
		uint32_t end = i < g->count ? g->first_edge[i + 1] : 0;
		size_t n = end - from;
		to -= n;
		if (n && to != from) {
			memmove(&g->edges[to], &g->edges[from], n * sizeof *g->edges);
			memmove(&f->offsets[to], &f->offsets[from], n * sizeof *f->offsets);
		}
		first[i] = (uint32_t)to;
	}
	return first;
}

/* ---- all ---- */

static uint64_t memory_limit(void)
{
	char text[8192];
	ms_proc_text_at(AT_FDCWD, "/proc/meminfo", text, sizeof text);
	uint64_t some = ms_proc_status_number(text, "\nMemAvailable:", 0) * 1024 / MEMORY_PART;
	return some > MEMORY_LEAST ? some : MEMORY_LEAST;
}

/* Returns the graph's blocks, and behind them those from before the recording. */
static struct graph_block *join_blocks(const struct work *w, uint32_t count)
{
	const struct roots_kept *f = &w->kept.found;
	struct graph_block *all = ms_xrealloc(NULL, (size_t)count + 1, sizeof *all);
	memcpy(all, w->graph.v, (size_t)w->graph.count * sizeof *all);
	for (uint32_t i = w->graph.count; i < count; i++) {
		const struct graph_range *b = &f->before.v[i - w->graph.count];
		all[i] = (struct graph_block){.address = b->start, .size = b->end - b->start};
	}
	return all;
}

/* Lists the mappings, which are the nodes from `blocks` on. */
static void list_mappings(struct kept *k, uint32_t count, uint32_t blocks, uint32_t mappings)
{
	const struct roots_kept *f = &k->found;
	k->mapping_bytes = ms_xcalloc(mappings + 1, sizeof *k->mapping_bytes);
	k->mapping_stacks = ms_xcalloc(mappings + 1, sizeof *k->mapping_stacks);
	for (uint32_t i = 0; i < f->ranges.n; i++) {
		const struct graph_range *r = &f->ranges.v[i];
		uint32_t node = kept_node(k, count, count + i);
		if (node < blocks)
			continue;
		size_t at = MS_COUNT_UP_TO(f->mapped, f->mapped_count, end, r->start);
		bool known = at < f->mapped_count && f->mapped[at].start <= r->start;
		k->mapping_bytes[node - blocks] = r->end - r->start;
		k->mapping_stacks[node - blocks] = known ? f->mapped[at].owner : 0;
	}
}

static void find(struct work *w, struct keep_result *out)
{
	struct kept *k = &w->kept;
	const struct roots_kept *f = &k->found;
	struct graph *g = &w->graph;
	uint32_t blocks = g->count + k->before_count;
	uint32_t mappings = (uint32_t)f->ranges.n - k->before_count, nodes = blocks + mappings;
	struct graph_block *all = k->node_of ? join_blocks(w, blocks) : g->v;
	list_mappings(k, g->count, blocks, mappings);
	link_nested(w);
	uint32_t *first = join_edges(w, nodes);
	uint64_t *types = kept_find_types(w, nodes, first);
	/* at the end nothing waits; a scan at a moment is not given up when the process ends */
	bool stays = w->request.asker == SCAN_BY_END || w->moment;
	struct keep_input in = {.blocks = all,
				.block_count = blocks,
				.mapping_bytes = k->mapping_bytes,
				.mapping_stacks = k->mapping_stacks,
				.mapping_count = mappings,
				.first_edge = first,
				.edges = g->edges,
				.offsets = f->graph.offsets,
				.words = k->words.v,
				.word_count = k->words.n,
				.roots = k->roots.v,
				.root_count = (uint32_t)k->roots.n,
				.types = types,
				.memory_max = w->scanner->opt->retention_bytes ?: memory_limit(),
				.deadline_ns = clock_mono() + SCAN_YES_NS,
				.word = stays ? NULL : &w->s->mem->end_state,
				.value = MG_END_SEEN,
				.least = KEEP_LEAST,
				.rows_most = KEEP_ROWS_MOST};
	keep_find(&in, out);
	MS_FREE(first, types, k->node_of ? all : NULL);
}

void scan_keep_find(struct work *w)
{
	struct kept *k = &w->kept;
	struct kept_image *image = &w->q->live.image;
	if (!w->retains || w->state != MS_SCAN_DONE || !w->graphed)
		return;
	k->modules = image->modules.v;
	k->module_count = image->modules.n;
	kept_find_storage(k);
	number_ranges(w);
	kept_find_roots(w, k);
	name_frames(w);
	find(w, &w->keeps);
	w->retained = true;
	kept_put(w);
}

void scan_keep_free(struct work *w)
{
	struct kept *k = &w->kept;
	for (size_t i = 0; i < k->thread_count; i++)
		kept_thread_free(&k->threads[i]);
	graph_kept_free(&k->found.graph);
	keep_result_free(&w->keeps);
	MS_FREE(k->found.ranges.v, k->found.heaps.v, k->found.locals.v, k->threads, k->storage.v,
		k->roots.v, k->about.v, k->words.v, k->links.v, k->node_of, k->mapping_bytes,
		k->mapping_stacks, k->code.v, k->classes.v);
	scan_keep_drop(&w->q->live.image);
}
