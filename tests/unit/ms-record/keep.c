/* SPDX-License-Identifier: MIT
 * What keeps blocks alive, in graphs made by hand: ranks, sets of roots, observers, folds, rest rows,
 * mappings, limits, and graphs of which one path or one node has nearly all.
 */
#include <stdio.h>

#include "tests/unit/check.h"
#include "tests/unit/ms-record/keeping.h"

#define LONG 5000000u
#define MANY 1000000u
#define CLIQUE 2000u

/* Finds a row by its parent's index + 1 and its stack; at the top, with `stack` 0, by 1 + root; a set
 * by the negative of its number. NULL = none. */
static const struct keep_row *row_at(const struct made *m, uint32_t parent, uint32_t stack,
				     long top)
{
	for (uint32_t i = 0; i < m->out.row_count; i++) {
		const struct keep_row *r = &m->out.rows[i];
		bool same = top < 0 ? r->set == -top : top > 0 ? r->root == top : r->stack == stack;
		if (r->parent == parent && !r->rest && same)
			return r;
	}
	return NULL;
}

static uint32_t number_of(const struct made *m, const struct keep_row *r)
{
	return r ? (uint32_t)(r - m->out.rows) + 1 : 0;
}

/* Checks what a row retains, and returns its number. 0 bytes: there must be no row. */
static uint32_t retains(const struct made *m, const struct keep_row *r, uint64_t bytes,
			uint64_t blocks, const char *what)
{
	CHECK((r != NULL) == (bytes != 0), "%s", what);
	if (r)
		CHECK(r->retained_bytes == bytes && r->retained_blocks == blocks,
		      "%s: %lu B in %lu", what, (unsigned long)r->retained_bytes,
		      (unsigned long)r->retained_blocks);
	return number_of(m, r);
}

static uint32_t root_retains(const struct made *m, uint32_t root, uint64_t bytes, uint64_t blocks,
			     const char *what)
{
	return retains(m, row_at(m, 0, 0, root + 1), bytes, blocks, what);
}

static uint32_t set_retains(const struct made *m, uint32_t set, uint64_t bytes, uint64_t blocks,
			    const char *what)
{
	return retains(m, row_at(m, 0, 0, -(long)set), bytes, blocks, what);
}

static uint32_t stack_retains(const struct made *m, uint32_t parent, uint32_t stack, uint64_t bytes,
			      uint64_t blocks, const char *what)
{
	return retains(m, row_at(m, parent, stack, 0), bytes, blocks, what);
}

static void check_kept(const struct made *m, uint64_t bytes, const char *what)
{
	uint64_t top = 0;
	for (uint32_t i = 0; i < m->out.row_count; i++)
		top += m->out.rows[i].parent ? 0 : m->out.rows[i].retained_bytes;
	CHECK(m->out.state == KEEP_DONE && m->out.kept_bytes == bytes && top == bytes,
	      "%s: %lu kept, %lu at the top", what, (unsigned long)m->out.kept_bytes,
	      (unsigned long)top);
}

/* ---- ranks ---- */

/* A local of main, a callee's copy of it and a register point to what a variable has; each has
 * something of its own; a vector in a frame has a copy in a register and in its callee. */
static void test_ranks(void)
{
	struct made m = {0};
	uint32_t variable = made_root(&m, KEEP_VARIABLE, 1), outer = made_root(&m, KEEP_FRAME, 2),
		 inner = made_root(&m, KEEP_FRAME, 3), other = made_root(&m, KEEP_FRAME, 50),
		 registers = made_root(&m, KEEP_REGISTERS, 90);
	uint32_t list = made_list(&m, 1000, 100, 1), vector = made_block(&m, 5000, 2),
		 scratch = made_block(&m, 700, 3), last = made_block(&m, 60, 4),
		 lost = made_list(&m, 3, 11, 5);
	made_word(&m, variable, list, 0);
	made_word(&m, outer, list + 10, 8);
	made_word(&m, inner, list + 11, 8);
	made_word(&m, registers, list + 999, 0);
	made_word(&m, other, vector, 16);
	made_word(&m, registers, vector, 0);
	made_word(&m, inner, scratch, 0);
	made_word(&m, other, scratch, 0);
	made_word(&m, registers, last, 0);
	made_link(&m, vector, list + 5, 0);
	made_link(&m, lost + 2, list + 6, 0);
	made_find(&m);
	uint32_t up = root_retains(&m, variable, 100000, 1000, "variable");
	stack_retains(&m, up, 1, 100000, 1000, "list of the variable");
	root_retains(&m, outer, 0, 0, "frame of main");
	root_retains(&m, inner, 700, 1, "frame below main's");
	root_retains(&m, other, 5000, 1, "another thread's frame");
	root_retains(&m, registers, 60, 1, "registers");
	check_kept(&m, 105760, "ranks");
	CHECK(m.out.live_bytes == 105793 && m.out.kept_blocks == 1003 && m.out.set_count == 0,
	      "ranks");
	made_free(&m);
}

/* ---- sets ---- */

/* A list into whose middle another variable points, and what the two of them and a third share. */
static void test_sets(void)
{
	struct made m = {0};
	uint32_t a = made_root(&m, KEEP_VARIABLE, 1), b = made_root(&m, KEEP_SECTION, 1),
		 c = made_root(&m, KEEP_THREAD_LOCAL, 1);
	uint32_t list = made_list(&m, 1000, 100, 1), own = made_block(&m, 900000, 2),
		 third = made_list(&m, 10, 1000, 3);
	made_word(&m, a, list, 0);
	made_word(&m, a, own, 8);
	made_word(&m, b, list + 500, 0);
	made_word(&m, c, third, 24);
	made_link(&m, list + 700, third + 4, 16);
	made_find(&m);
	root_retains(&m, a, 950000, 501, "before the middle");
	root_retains(&m, b, 0, 0, "the one that points to the middle");
	uint32_t up = root_retains(&m, c, 4000, 4, "third");
	CHECK(row_at(&m, up, 3, 0)->offset == 24, "third");
	const struct keep_set *sets = m.out.sets;
	CHECK(m.out.set_count == 2 && sets[0].count == 2 && sets[1].count == 3 && !sets[0].others,
	      "%u sets of %u, %u", m.out.set_count, sets[0].count, sets[1].count);
	uint32_t two = set_retains(&m, 1, 50000, 500, "behind the middle");
	uint32_t three = set_retains(&m, 2, 6000, 6, "of all three");
	stack_retains(&m, two, 1, 50000, 500, "behind the middle");
	stack_retains(&m, three, 3, 6000, 6, "of all three");
	check_kept(&m, 1010000, "sets");
	made_free(&m);
}

/* 80 variables share blocks: those that lead to the most bytes are named. */
static void test_others(void)
{
	struct made m = {0};
	uint32_t shared = made_block(&m, 1 << 20, 1), small = made_block(&m, 100, 2);
	for (uint32_t r = 0; r < 80; r++) {
		made_root(&m, KEEP_VARIABLE, 1);
		made_word(&m, r, shared, 0);
		uint32_t more = made_block(&m, 1000 - r, 3), own = made_block(&m, 1 << 20, 4);
		made_word(&m, r, more, 8);
		made_word(&m, r ^ 1, more, 16);
		made_word(&m, r, own, 24);
	}
	made_word(&m, 78, small, 32);
	made_word(&m, 79, small, 32);
	made_find(&m);
	const struct keep_set *all = m.out.sets, *rest = NULL;
	CHECK(all->count == KEEP_SET_ROOTS && all->others, "%u roots", all->count);
	for (uint32_t i = 0; i < all->count; i++)
		CHECK(all->roots[i] <= 61 || all->roots[i] >= 79, "root %u", all->roots[i]);
	for (uint32_t i = 1; i < m.out.set_count; i++)
		if (!m.out.sets[i].count)
			rest = &m.out.sets[i];
	CHECK(rest && rest->others, "no set of others alone");
	check_kept(&m, 81 * (1 << 20) + 100 + 80 * 1000 - 79 * 40, "others");
	made_free(&m);
}

/* ---- observers ---- */

/* A server has databases; clients, which it has too, point back to them, and so does one variable,
 * which has a little of its own. */
static void test_observer(void)
{
	struct made m = {0};
	uint32_t server = made_root(&m, KEEP_VARIABLE, 1),
		 context = made_root(&m, KEEP_VARIABLE, 1);
	uint32_t db = made_block(&m, 100, 1), data = made_list(&m, 1000, 100, 2),
		 client = made_block(&m, 300, 3), own = made_block(&m, 50, 4),
		 table = made_block(&m, 2000, 5);
	made_word(&m, server, db, 0);
	made_word(&m, server, table, 8);
	made_link(&m, db, data, 16);
	made_link(&m, table, client, 0);
	made_link(&m, client, db, 24);
	made_word(&m, context, client, 0);
	made_word(&m, context, own, 8);
	made_find(&m);
	CHECK(m.roots.v[context].observes == server + 1, "%u", m.roots.v[context].observes);
	CHECK(m.roots.v[server].observes == 0, "%u", m.roots.v[server].observes);
	root_retains(&m, server, 102400, 1003, "server");
	root_retains(&m, context, 50, 1, "what the observer has of its own");
	CHECK(m.out.set_count == 0, "%u sets", m.out.set_count);
	check_kept(&m, 102450, "observer");
	made_free(&m);
}

/* An observer of one block in a large heap: it shares less than a row would need. */
static void test_small_observer(void)
{
	struct made m = {0};
	uint32_t a = made_root(&m, KEEP_VARIABLE, 1), b = made_root(&m, KEEP_VARIABLE, 1);
	uint32_t block = made_block(&m, 100, 1);
	made_word(&m, a, made_block(&m, 999900, 2), 0);
	made_word(&m, a, block, 8);
	made_word(&m, b, block, 0);
	m.in.least = 0.00011;
	made_find(&m);
	CHECK(!m.roots.v[b].observes, "observed, for 100 B of 1,000,000");
	keep_result_free(&m.out);
	m.in.least = 0.0001;
	keep_find(&m.in, &m.out);
	CHECK(m.roots.v[b].observes == a + 1, "not observed");
	root_retains(&m, a, 1000000, 2, "observed");
	made_free(&m);
}

/* Two tables of the same documents, whose nodes are more than a twentieth: no observer. */
static void test_indexes(void)
{
	struct made m = {0};
	uint32_t by_id = made_root(&m, KEEP_VARIABLE, 1), by_name = made_root(&m, KEEP_VARIABLE, 1);
	uint32_t ids = made_list(&m, 1000, 24, 1), names = made_list(&m, 1000, 12, 2);
	for (uint32_t i = 0; i < 1000; i++) {
		uint32_t document = made_block(&m, 124, 3);
		made_link(&m, ids + i, document, 16);
		made_link(&m, names + i, document, 0);
	}
	made_word(&m, by_id, ids, 0);
	made_word(&m, by_name, names, 0);
	made_find(&m);
	CHECK(!m.roots.v[by_id].observes && !m.roots.v[by_name].observes, "an observer");
	root_retains(&m, by_id, 24000, 1000, "ids");
	root_retains(&m, by_name, 12000, 1000, "names");
	uint32_t up = set_retains(&m, 1, 124000, 1000, "documents");
	stack_retains(&m, up, 3, 124000, 1000, "documents");
	made_free(&m);
}

/* Two databases, which a list ties together: each variable is near to its own. */
static void test_tied(void)
{
	struct made m = {0};
	uint32_t a = made_root(&m, KEEP_VARIABLE, 1), b = made_root(&m, KEEP_VARIABLE, 1);
	uint32_t first = made_list(&m, 1000, 100, 1), second = made_list(&m, 300, 100, 2);
	made_word(&m, a, first, 0);
	made_word(&m, b, second, 0);
	made_link(&m, first, second, 16);
	made_link(&m, second, first, 24);
	made_find(&m);
	CHECK(!m.roots.v[a].observes && !m.roots.v[b].observes, "an observer");
	uint32_t up = set_retains(&m, 1, 130000, 1300, "two databases");
	stack_retains(&m, up, 1, 100000, 1000, "first");
	stack_retains(&m, up, 2, 30000, 300, "second");
	made_free(&m);
}

/* Two databases, each with a page list and a table of its pages. A buffer of the small one has memory
 * that was the large one's first table, so that its variable is nearer to a tenth of the large one's
 * pages; the other blocks about these pages are nearer to their own variable. A pointer leads to the
 * small one, too. */
static void test_stale(void)
{
	struct made m = {0};
	uint32_t a = made_root(&m, KEEP_VARIABLE, 1), b = made_root(&m, KEEP_VARIABLE, 1);
	uint32_t large = made_block(&m, 100, 1), cache = made_block(&m, 100, 2),
		 table = made_block(&m, 8000, 3), pages = made_list(&m, 1000, 4000, 4),
		 small = made_block(&m, 100, 5), buffer = made_block(&m, 800, 6);
	made_word(&m, a, large, 0);
	made_link(&m, large, cache, 0);
	made_link(&m, cache, table, 0);
	for (uint32_t i = 0; i < 1000; i++) {
		made_link(&m, table, pages + i, 8 * i);
		made_link(&m, pages + i, cache, 16);
		made_link(&m, pages + i, large, 24);
	}
	made_word(&m, b, small, 0);
	made_link(&m, small, buffer, 0);
	for (uint32_t i = 0; i < 100; i++)
		made_link(&m, buffer, pages + 10 * i, 8 * i);
	made_link(&m, pages, small, 32);
	made_find(&m);
	CHECK(m.roots.v[b].observes == a + 1, "%u", m.roots.v[b].observes);
	CHECK(!m.roots.v[a].observes, "%u", m.roots.v[a].observes);
	root_retains(&m, a, 4009100, 1005, "the large one");
	check_kept(&m, 4009100, "stale");
	made_free(&m);
}

/* A table of sessions, which are a list, too; and documents, which two variables share. `pointers` of
 * the documents have a pointer to a session in memory that was the table's before. With `younger` it
 * is one that came after the document, so that it is none from before. */
static void check_cut(uint32_t pointers, bool younger, bool shared)
{
	struct made m = {0};
	uint32_t sessions = made_root(&m, KEEP_VARIABLE, 1),
		 by_id = made_root(&m, KEEP_VARIABLE, 1), by_name = made_root(&m, KEEP_VARIABLE, 1);
	uint32_t table = made_block(&m, 8000, 1), list = made_list(&m, 1000, 300, 2),
		 ids = made_list(&m, 300, 240, 3), names = made_list(&m, 300, 480, 4),
		 documents = made_block(&m, 100, 5);
	for (uint32_t i = 0; i < 300; i++) {
		uint32_t document = i ? made_block(&m, 100, 5) : documents;
		made_link(&m, ids + i, document, 16);
		made_link(&m, names + i, document, 16);
		if (i < pointers)
			made_link(&m, document, list + 100 + i, 48);
	}
	for (uint32_t i = 0; i < 1000; i++)
		made_link(&m, table, list + i, 8 * i);
	made_word(&m, sessions, table, 0);
	made_word(&m, by_id, ids, 0);
	made_word(&m, by_name, names, 0);
	for (uint32_t i = 0; i < m.blocks.n; i++)
		m.blocks.v[i].number = i + 1;
	m.blocks.v[list + 100].number += younger ? 2000 : 0;
	made_find(&m);
	uint32_t observes = m.roots.v[by_id].observes + m.roots.v[by_name].observes;
	CHECK(observes == (shared ? 0 : sessions + 1), "%u pointers: %u", pointers, observes);
	root_retains(&m, sessions, shared ? 38000 : 308000, shared ? 101 : 1001, "sessions");
	root_retains(&m, by_id, 72000, 300, "ids");
	root_retains(&m, by_name, 144000, 300, "names");
	set_retains(&m, 1, shared ? 270000 : 30000, shared ? 900 : 300, "shared by most");
	set_retains(&m, 2, shared ? 30000 : 0, shared ? 300 : 0, "documents");
	check_kept(&m, 554000, "cut");
	made_free(&m);
}

/* A list of 1,000 that another variable points into: its links are as usual as the others. */
static void check_middle(void)
{
	struct made m = {0};
	uint32_t all = made_root(&m, KEEP_VARIABLE, 1), middle = made_root(&m, KEEP_VARIABLE, 1);
	uint32_t list = made_list(&m, 1000, 100, 1);
	made_word(&m, all, list, 0);
	made_word(&m, middle, list + 500, 0);
	for (uint32_t i = 0; i < 1000; i++)
		m.blocks.v[i].number = 1000 - i;
	made_find(&m);
	CHECK(!m.roots.v[all].observes, "%u", m.roots.v[all].observes);
	root_retains(&m, all, 50000, 500, "the first half");
	set_retains(&m, 1, 50000, 500, "the second half");
	made_free(&m);
}

static void test_cut(void)
{
	check_middle();
	check_cut(1, false, false);
	check_cut(1, true, true);
	check_cut(3, false, false);
	check_cut(20, false, true);
}

/* A cycle to which one variable points: there is nobody to observe. Two variables that point to the
 * same block: the lower one owns. A chain of observers of which each is one of the next. */
static void test_odd_observers(void)
{
	struct made m = {0};
	uint32_t alone = made_root(&m, KEEP_VARIABLE, 1), first = made_root(&m, KEEP_VARIABLE, 1),
		 twin = made_root(&m, KEEP_VARIABLE, 1);
	uint32_t ring = made_list(&m, 100, 10, 1), block = made_block(&m, 777, 2);
	made_link(&m, ring + 99, ring, 8);
	made_word(&m, alone, ring + 50, 0);
	made_word(&m, twin, block, 0);
	made_word(&m, first, block, 0);
	made_find(&m);
	root_retains(&m, alone, 1000, 100, "ring");
	root_retains(&m, first, 777, 1, "the lower of twins");
	CHECK(!m.roots.v[alone].observes && m.roots.v[twin].observes == first + 1, "%u, %u",
	      m.roots.v[alone].observes, m.roots.v[twin].observes);
	made_free(&m);
	uint32_t roots[3], lists[3];
	for (uint32_t i = 0; i < 3; i++) {
		roots[i] = made_root(&m, KEEP_VARIABLE, 1);
		lists[i] = made_list(&m, 1000, i ? 1 : 100, i + 1);
		made_word(&m, roots[i], lists[i], 0);
		if (i)
			made_link(&m, lists[i], lists[i - 1], 0);
	}
	made_find(&m);
	CHECK(m.roots.v[1].observes == 1 && m.roots.v[2].observes == 1, "%u, %u",
	      m.roots.v[1].observes, m.roots.v[2].observes);
	root_retains(&m, 0, 100000, 1000, "observed by two");
	root_retains(&m, 2, 1000, 1000, "second observer");
	set_retains(&m, 1, 1000, 1000, "of both observers");
	made_free(&m);
}

/* A heap in which all leads to all, by its first root; variables point into it, and it points to
 * a block of one of them, by a word that may be left over. */
static void test_first(void)
{
	struct made m = {0};
	uint32_t a = made_root(&m, KEEP_VARIABLE, 1), b = made_root(&m, KEEP_VARIABLE, 1),
		 heap = made_root(&m, KEEP_SECTION, 1);
	uint32_t ring = made_list(&m, 100, 10, 1), own = made_list(&m, 1000, 100, 2);
	m.roots.v[heap].first = true;
	made_link(&m, ring + 99, ring, 8);
	made_link(&m, ring + 7, own + 900, 16);
	made_link(&m, own, ring + 20, 16);
	made_word(&m, heap, ring, 0);
	made_word(&m, a, own, 0);
	made_word(&m, a, ring + 10, 8);
	made_word(&m, b, ring, 0);
	made_find(&m);
	root_retains(&m, heap, 11000, 200, "the heap");
	root_retains(&m, a, 90000, 900, "what only a variable leads to");
	CHECK(!m.roots.v[heap].observes && !m.roots.v[a].observes, "%u, %u",
	      m.roots.v[heap].observes, m.roots.v[a].observes);
	CHECK(m.out.set_count == 0, "%u sets", m.out.set_count);
	check_kept(&m, 101000, "first");
	made_free(&m);
}

/* A pointer of lower rank makes no observer of a frame, and frames do not observe. */
static void test_no_observers(void)
{
	struct made m = {0};
	uint32_t a = made_root(&m, KEEP_FRAME, 2), b = made_root(&m, KEEP_FRAME, 2);
	uint32_t block = made_block(&m, 777, 2);
	made_word(&m, a, block, 0);
	made_word(&m, b, block, 0);
	made_find(&m);
	CHECK(!m.roots.v[a].observes && !m.roots.v[b].observes, "a frame observes");
	set_retains(&m, 1, 777, 1, "shared by frames");
	made_free(&m);
}

/* ---- rows ---- */

static void check_list(uint32_t count)
{
	struct made m = {0};
	uint32_t root = made_root(&m, KEEP_VARIABLE, 1), list = made_list(&m, count, 3, 9);
	uint32_t tail = made_block(&m, 1000, 8);
	made_word(&m, root, list, 16);
	made_link(&m, list + count - 1, tail, 0);
	made_find(&m);
	uint32_t up = root_retains(&m, root, 1000 + 3 * (uint64_t)count, count + 1, "list");
	uint32_t row = stack_retains(&m, up, 9, 1000 + 3 * (uint64_t)count, count + 1, "list");
	stack_retains(&m, row, 8, 1000, 1, "at its end");
	const struct keep_row *r = &m.out.rows[row - 1];
	CHECK(m.out.row_count == 3 && r->blocks == count && r->bytes == 3 * (uint64_t)count &&
		      r->depth == count && r->offset == 16 && r->path_blocks == count,
	      "%u rows, %lu blocks, depth %u", m.out.row_count, (unsigned long)r->blocks, r->depth);
	const struct keep_path *p = &m.out.paths[m.out.rows[2].path];
	CHECK(p->root == 1 && p->count == 2 && !p->cut && p->steps[0].stack == 9 &&
		      p->steps[0].count == count && p->steps[1].stack == 8 &&
		      p->steps[1].count == 1,
	      "%u steps, of %u and %u", p->count, p->steps[0].count, p->steps[1].count);
	made_free(&m);
}

/* A tree whose nodes and values take turns, two stacks each, and a list of lists. */
static void test_folds(void)
{
	struct made m = {0};
	uint32_t root = made_root(&m, KEEP_VARIABLE, 1), outer = made_list(&m, 50, 100, 3);
	uint32_t before = KEEP_NONE;
	for (uint32_t i = 0; i < 1000; i++) {
		uint32_t object = made_block(&m, 10, 1), array = made_block(&m, 20, 2);
		if (before == KEEP_NONE)
			made_word(&m, root, object, 0);
		else
			made_link(&m, before, object, i % 2 ? 8 : 16);
		made_link(&m, object, array, 0);
		before = array;
	}
	made_word(&m, root, outer, 8);
	for (uint32_t i = 0; i < 50; i++)
		made_link(&m, outer + i, made_list(&m, 4, 7, 4), 24);
	made_find(&m);
	uint32_t up = root_retains(&m, root, 30000 + 5000 + 1400, 2250, "folds");
	uint32_t object = stack_retains(&m, up, 1, 30000, 2000, "objects"),
		 array = stack_retains(&m, object, 2, 20000, 1000, "arrays"),
		 lists = stack_retains(&m, up, 3, 6400, 250, "outer list"),
		 inner = stack_retains(&m, lists, 4, 1400, 200, "inner lists");
	CHECK(m.out.row_count == 5 && m.out.rows[object - 1].bytes == 10000, "%u rows",
	      m.out.row_count);
	CHECK(m.out.rows[object - 1].depth == 2 && m.out.rows[array - 1].offset == 0, "%u",
	      m.out.rows[object - 1].depth);
	CHECK(m.out.rows[lists - 1].depth == 50 && m.out.rows[inner - 1].depth == 4 &&
		      m.out.rows[inner - 1].offset == 24,
	      "depths %u, %u", m.out.rows[lists - 1].depth, m.out.rows[inner - 1].depth);
	const struct keep_path *p = &m.out.paths[m.out.rows[inner - 1].path];
	CHECK(p->count == 2 && p->steps[0].count == 50 && p->steps[1].count == 4, "%u: %u, %u",
	      p->count, p->steps[0].count, p->steps[1].count);
	made_free(&m);
}

/* 100 sites of 1000 x i bytes, each with a string below, of which the least are left out. */
static void test_rest(void)
{
	struct made m = {0};
	uint32_t root = made_root(&m, KEEP_VARIABLE, 1), tiny = made_root(&m, KEEP_VARIABLE, 1);
	for (uint32_t i = 1; i <= 100; i++) {
		uint32_t block = made_block(&m, 1000 * i, i), string = made_block(&m, 5, 200);
		made_word(&m, root, block, 0);
		made_link(&m, block, string, 0);
	}
	made_word(&m, tiny, made_block(&m, 999, 300), 0);
	m.in.least = 0.01; /* of 5,051,499 B */
	made_find(&m);
	uint32_t up = root_retains(&m, root, 5050500, 200, "root");
	root_retains(&m, tiny, 0, 0, "tiny");
	stack_retains(&m, up, 51, 51005, 2, "the least of those that are kept");
	stack_retains(&m, up, 50, 0, 0, "the largest of those that are not");
	uint64_t top = 0, below = 0, rests = 0;
	for (uint32_t i = 0; i < m.out.row_count; i++) {
		const struct keep_row *r = &m.out.rows[i];
		rests += r->rest;
		if (r->rest && !r->parent)
			top = r->bytes;
		if (r->rest && r->parent == up)
			below = r->bytes * 1000 + r->blocks;
		CHECK(!r->rest || r->bytes == r->retained_bytes, "row %u", i);
	}
	CHECK(top == 999 && below == UINT64_C(1275250) * 1000 + 100, "rests %lu, %lu",
	      (unsigned long)top, (unsigned long)below);
	CHECK(rests == 52 && m.out.row_count == 1 + 50 + 52, "%u rows", m.out.row_count);
	check_kept(&m, 5051499, "rest");
	keep_result_free(&m.out);
	m.in.rows_most = 20;
	keep_find(&m.in, &m.out);
	CHECK(m.out.row_count == 19, "%u rows", m.out.row_count);
	check_kept(&m, 5051499, "few rows");
	made_free(&m);
}

/* A table of blocks without pointers, each of a stack of its own, so that a row is made for each. */
static void test_many_rows(void)
{
	struct made m = {0};
	uint32_t root = made_root(&m, KEEP_VARIABLE, 1), table = made_block(&m, 8000, 5000);
	for (uint32_t i = 1; i <= 1000; i++)
		made_link(&m, table, made_block(&m, i, i), 8 * i - 8);
	made_word(&m, root, table, 0);
	made_find(&m);
	check_kept(&m, 8000 + 500500, "many rows");
	uint32_t up = root_retains(&m, root, 508500, 1001, "many rows");
	up = stack_retains(&m, up, 5000, 508500, 1001, "table");
	for (uint32_t i = 1; i <= 1000; i++)
		stack_retains(&m, up, i, i, 1, "one of many rows");
	CHECK(m.out.row_count == 1002, "%u rows", m.out.row_count);
	made_free(&m);
}

static void test_types(void)
{
	struct made m = {0};
	uint32_t root = made_root(&m, KEEP_VARIABLE, 1);
	for (uint32_t i = 0; i < 300; i++) {
		made_word(&m, root, made_block(&m, 10, 1 + i / 100), 0);
		/* 90 of 100 of one type; 89 of 100, and one of another; none */
		*MS_PUSH(&m.types) = i < 100    ? (i % 10 ? 7
						   : i    ? 0
							  : 5)
				     : i < 189  ? 8
				     : i == 189 ? 9
						: 0;
	}
	made_find(&m);
	uint32_t up = root_retains(&m, root, 3000, 300, "types");
	CHECK(row_at(&m, up, 1, 0)->type == 7 && !row_at(&m, up, 2, 0)->type &&
		      !row_at(&m, up, 3, 0)->type,
	      "types");
	made_free(&m);
}

/* ---- mappings ---- */

static void test_mappings(void)
{
	struct made m = {0};
	uint32_t pool = made_root(&m, KEEP_VARIABLE, 1);
	uint32_t used = made_list(&m, 10, 100, 1), own = made_block(&m, 5000, 2),
		 both = made_block(&m, 70, 3), ring = made_block(&m, 33, 4);
	uint32_t pooled = made_mapping(&m, 8 << 20, 21), alone = made_mapping(&m, 1 << 20, 22),
		 other = made_mapping(&m, 2 << 20, 0), first = made_mapping(&m, 4096, 23),
		 second = made_mapping(&m, 8192, 23);
	made_word(&m, pool, pooled, 8);
	made_link(&m, pooled, used, 64);
	made_link(&m, alone, own, 0);
	made_link(&m, alone, pooled, 0);
	made_link(&m, alone, both, 0);
	made_link(&m, other, both, 0);
	made_link(&m, first, second, 0); /* a ring of two, to which nothing leads */
	made_link(&m, second, first, 0);
	made_link(&m, first, ring, 0);
	made_find(&m);
	uint32_t up = root_retains(&m, pool, 1000, 10, "pool");
	uint32_t row = stack_retains(&m, up, 21, 1000, 10, "mapping of the pool");
	CHECK(m.out.rows[row - 1].mapping && m.out.rows[row - 1].mapped_bytes == 8 << 20 &&
		      !m.out.rows[row - 1].bytes,
	      "mapping of the pool");
	stack_retains(&m, row, 1, 1000, 10, "in the pool");
	uint32_t lone = root_retains(&m, 1 + alone - pooled, 5000, 1, "alone");
	CHECK(m.out.rows[lone - 1].mapping && m.out.rows[lone - 1].mapped_bytes == 1 << 20,
	      "alone");
	uint32_t large = root_retains(&m, 1 + second - pooled, 33, 1, "the larger of a ring");
	stack_retains(&m, stack_retains(&m, large, 23, 33, 1, "the smaller"), 4, 33, 1, "ring");
	set_retains(&m, 1, 70, 1, "of two mappings");
	CHECK(m.out.sets[0].count == 2, "%u", m.out.sets[0].count);
	check_kept(&m, 6103, "mappings");
	made_free(&m);
}

/* A later mapping leads to an earlier one, which is no root then. */
static void test_mapping_order(void)
{
	struct made m = {0};
	uint32_t block = made_block(&m, 9, 1);
	uint32_t large = made_mapping(&m, 3000, 11), small = made_mapping(&m, 1000, 12);
	made_link(&m, small, large, 0);
	made_link(&m, large, block, 0);
	made_find(&m);
	uint32_t up = root_retains(&m, small - large, 9, 1, "small");
	root_retains(&m, 0, 0, 0, "large");
	stack_retains(&m, up, 11, 9, 1, "large, below the small one");
	made_free(&m);
}

/* ---- shapes ---- */

/* A table of a million blocks, some with something below them; and every other one shared. */
static void test_star(void)
{
	struct made m = {0};
	uint32_t a = made_root(&m, KEEP_VARIABLE, 1), b = made_root(&m, KEEP_VARIABLE, 1);
	uint32_t one = made_block(&m, 8, 1), two = made_block(&m, 8, 2);
	for (uint32_t i = 0; i < MANY; i++) {
		uint32_t block = made_block(&m, 16, 3);
		made_link(&m, one, block, i * 8);
		if (i % 2)
			made_link(&m, two, block, i * 8);
	}
	made_word(&m, a, one, 0);
	made_word(&m, b, two, 0);
	made_word(&m, b, made_block(&m, MANY, 4), 8);
	made_find(&m);
	uint32_t up = root_retains(&m, a, 8 + 8 * MANY, 1 + MANY / 2, "star");
	stack_retains(&m, stack_retains(&m, up, 1, 8 + 8 * MANY, 1 + MANY / 2, "table"), 3,
		      8 * MANY, MANY / 2, "blocks of one star");
	root_retains(&m, b, 8 + MANY, 2, "second star");
	set_retains(&m, 1, 8 * MANY, MANY / 2, "blocks of both");
	made_free(&m);
}

static void test_clique(void)
{
	struct made m = {0};
	uint32_t a = made_root(&m, KEEP_VARIABLE, 1), b = made_root(&m, KEEP_VARIABLE, 1);
	for (uint32_t i = 0; i < CLIQUE; i++)
		made_block(&m, 10, 1);
	for (uint32_t i = 0; i < CLIQUE; i++)
		for (uint32_t j = 0; j < CLIQUE; j++)
			made_link(&m, i, j, 8 * j);
	made_word(&m, a, 7, 0);
	made_find(&m);
	root_retains(&m, a, 10 * CLIQUE, CLIQUE, "clique");
	CHECK(m.out.rows[1].depth == 2, "%u", m.out.rows[1].depth);
	keep_result_free(&m.out);
	made_word(&m, b, 9, 0);
	made_word(&m, b, 10, 0);
	m.in.words = m.words.v;
	m.in.word_count = m.words.n;
	keep_find(&m.in, &m.out);
	check_kept(&m, 10 * CLIQUE, "clique of two");
	made_free(&m);
}

/* ---- limits ---- */

static void test_limits(void)
{
	struct made m = {0};
	uint32_t a = made_root(&m, KEEP_VARIABLE, 1), b = made_root(&m, KEEP_VARIABLE, 1),
		 failed = 0;
	uint32_t list = made_list(&m, 2000, 10, 1), pool = made_list(&m, 100, 10, 2);
	made_mapping(&m, 4096, 3);
	made_word(&m, a, list, 0);
	made_word(&m, a, pool, 0);
	made_word(&m, b, list + 1000, 0);
	made_word(&m, made_root(&m, KEEP_VARIABLE, 1), list, 0); /* observes: another round */
	made_link(&m, 2100, pool + 50, 0);
	made_find(&m);
	check_kept(&m, 21000, "no limit");
	CHECK(m.roots.v[2].observes == a + 1, "%u", m.roots.v[2].observes);
	uint64_t need = m.out.memory_bytes;
	for (uint64_t most = 1; most <= need; most += most < need - 64 ? 61 : 1) {
		keep_result_free(&m.out);
		m.in.memory_max = most;
		keep_find(&m.in, &m.out);
		bool empty = !m.out.rows && !m.out.row_count && !m.out.kept_bytes;
		CHECK(m.out.state == (most < need ? KEEP_MEMORY : KEEP_DONE) &&
			      empty == (most < need) && m.out.memory_bytes <= most &&
			      m.out.live_bytes == 21000 && m.out.blocks == 2100,
		      "%lu of %lu B", (unsigned long)most, (unsigned long)need);
		failed += m.out.state == KEEP_MEMORY;
	}
	CHECK(failed > 100, "%u", failed);
	keep_result_free(&m.out);
	m.in.deadline_ns = 1;
	keep_find(&m.in, &m.out);
	CHECK(m.out.state == KEEP_TIME && !m.out.rows && !m.out.kept_bytes, "%d", m.out.state);
	made_free(&m);
	made_find(&m);
	CHECK(m.out.state == KEEP_DONE && !m.out.row_count, "nothing at all");
	made_free(&m);
}

int main(void)
{
	test_ranks();
	test_sets();
	test_others();
	test_observer();
	test_small_observer();
	test_indexes();
	test_tied();
	test_stale();
	test_cut();
	test_odd_observers();
	test_first();
	test_no_observers();
	check_list(3);
	check_list(LONG);
	test_folds();
	test_rest();
	test_many_rows();
	test_types();
	test_mappings();
	test_mapping_order();
	test_star();
	test_clique();
	test_limits();
	return failures != 0;
}
