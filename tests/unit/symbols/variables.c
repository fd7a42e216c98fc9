/* SPDX-License-Identifier: MIT
 * Where variables are declared, and of which type: those of this program, looked up in its own
 * debug information, and written into a trace of which they are roots.
 */
#include "libcommon/base/err.h"
#include "libcommon/snapshot/snapshot.h"
#include "libcommon/symbols/symbols.h"
#include "format/retention.h"
#include "format/verdict.h"

#include "tests/unit/check.h"
#include "tests/unit/made_trace.h"

#include <limits.h>
#include <link.h>

/* ---- the variables: each is the only one of its line ---- */

struct session {
	int id;
};
typedef struct session *session_list;
enum kind { ONE };
enum { FIRST_LINE = __LINE__ + 1 };
struct session *g_session;
static const char *names[4] = {"a"};
int matrix[2][3];
static session_list list_of;
const struct session *const constant;
static int (*callback)(int);
static void *nothing;
struct {
	long x;
} untyped;
static enum kind kind_of = ONE;
static _Thread_local long in_thread = 1;
static volatile unsigned char flags[] = "abc";

static long *in_function(void)
{
	static long calls;
	calls++;
	return &calls;
}

static char exe[PATH_MAX];

#define AT(v) (uint64_t)(uintptr_t)(v)

static int take_program(struct dl_phdr_info *i, size_t size, void *to)
{
	(void)size;
	*(struct dl_phdr_info *)to = *i;
	return 1; /* the first is the program */
}

static struct dl_phdr_info program(void)
{
	struct dl_phdr_info i = {0};
	dl_iterate_phdr(take_program, &i);
	return i;
}

static uint64_t bias(void)
{
	return program().dlpi_addr;
}

/* Returns where the variable is in thread-local storage. */
static uint64_t thread_offset(void)
{
	return AT(&in_thread) - AT(program().dlpi_tls_data);
}

static struct variable {
	const char *name;
	uint64_t address; /* in this process */
	unsigned line;    /* after FIRST_LINE */
	const char *type;
} variables[] = {
	{"g_session", AT(&g_session), 0, "session *"},
	{"names", AT(names), 1, "const char *[4]"},
	{"matrix", AT(matrix), 2, "int [2][3]"},
	{"list_of", AT(&list_of), 3, "session_list"},
	{"constant", AT(&constant), 4, "const session *const"},
	{"callback", AT(&callback), 5, "function *"},
	{"nothing", AT(&nothing), 6, "void *"},
	{"untyped", AT(&untyped), 9, "struct {...}"},
	{"kind_of", AT(&kind_of), 10, "kind"},
	{"flags", AT(flags), 12, "volatile unsigned char [4]"},
	{"calls", 0, 16, "long int"},
};
#define VARIABLES (sizeof variables / sizeof *variables)

/* GCC and clang name some types in other ways. */
static bool same_type(const char *got, const char *want)
{
	return got &&
	       (!strcmp(got, want) || (!strcmp(want, "long int") && !strcmp(got, "long")) ||
		(!strcmp(want, "const session *const") && !strcmp(got, "const session * const")));
}

static bool is_here(const char *file)
{
	static const char tail[] = "tests/unit/symbols/variables.c";
	size_t n = file ? strlen(file) : 0;
	return n >= sizeof tail - 1 && !strcmp(file + n - (sizeof tail - 1), tail);
}

/* ---- looked up ---- */

static void test_lookup(void)
{
	struct ms_symbols *s = ms_symbols_new(&(struct ms_symbols_options){.no_cache = true});
	int m = ms_symbols_module_of(s, &(struct ms_symbols_module){.path = exe});
	struct ms_variable v;
	for (size_t i = 0; i < VARIABLES; i++) {
		const struct variable *x = &variables[i];
		bool found = ms_symbols_variable(s, m, x->address - bias(), false, &v);
		CHECK(found && same_type(v.type, x->type) && is_here(v.file) &&
			      v.line == FIRST_LINE + x->line,
		      "%s: %s:%u, %s", x->name, found ? v.file : "?", found ? v.line : 0,
		      found ? v.type : "?");
		CHECK(!ms_symbols_variable(s, m, x->address - bias() + 1, false, &v), "%s + 1",
		      x->name);
		CHECK(!ms_symbols_variable(s, m, x->address - bias(), true, &v), "%s in a thread",
		      x->name);
	}
	bool found = ms_symbols_variable(s, m, thread_offset(), true, &v);
	CHECK(found && same_type(v.type, "long int") && v.line == FIRST_LINE + 11, "in_thread: %u",
	      found ? v.line : 0);
	CHECK(!ms_symbols_variable(s, m, UINT64_MAX, false, &v), "the last address");
	CHECK(!ms_symbols_variable(s, -1, thread_offset(), true, &v), "no module");
	m = ms_symbols_module_of(s, &(struct ms_symbols_module){.path = "/dev/null"});
	CHECK(!ms_symbols_variable(s, m, AT(&g_session) - bias(), false, &v), "no program");
	ms_symbols_free(s);
}

/* ---- in a trace ---- */

static void put_root(struct made *m, uint64_t scan, uint64_t root, uint64_t kind, uint64_t module,
		     uint64_t offset)
{
	CHECK(ms_retention_put_root(&m->records, &(struct ms_retention_root){.scan = scan,
									     .root = root,
									     .kind = kind,
									     .module = module,
									     .offset = offset}),
	      "root");
}

/* A trace of two scans, of which the roots of the second are: each variable, the thread-local one, a
 * section, and what is no variable. */
static void make_trace(const char *name)
{
	struct made m;
	made_open(&m, name);
	made_info(&m, 77, 0);
	made_records(&m);
	ms_record_number(&m.records, MS_MODULE_ID, 1);
	ms_record_string(&m.records, MS_MODULE_PATH, exe);
	made_write(&m, MS_BLOCK_MODULES);
	ms_record_writer_init(&m.records, m.record_memory, sizeof m.record_memory);
	for (unsigned scan = 1; scan <= 2; scan++)
		ms_verdict_put_scan(&m.records, &(struct ms_verdict_scan){.scan = scan,
									  .state = 1,
									  .label = "x",
									  .label_size = 1});
	struct ms_column c = ms_record_column(&m.records);
	made_block(&m, MS_BLOCK_VERDICTS, &c, 1);
	ms_record_writer_init(&m.records, m.record_memory, sizeof m.record_memory);
	for (unsigned scan = 1; scan <= 2; scan++) {
		uint64_t n = 0;
		ms_retention_put_head(&m.records,
				      &(struct ms_retention_head){.scan = scan, .state = 1});
		for (size_t i = 0; i < VARIABLES; i++)
			put_root(&m, scan, ++n, MS_KEEPER_VARIABLE, 1,
				 variables[i].address - bias());
		put_root(&m, scan, ++n, MS_KEEPER_THREAD_LOCAL, 1, thread_offset());
		put_root(&m, scan, ++n, MS_KEEPER_SECTION, 1, variables[0].address - bias());
		put_root(&m, scan, ++n, MS_KEEPER_VARIABLE, 1, 7);
		put_root(&m, scan, ++n, MS_KEEPER_VARIABLE, 9, variables[0].address - bias());
	}
	c = ms_record_column(&m.records);
	made_block(&m, MS_BLOCK_RETENTION, &c, 1);
	made_end(&m, 1000, NULL);
	made_close(&m);
}

static void check_snapshot(const char *how, const char *name, bool no_symbols, bool told)
{
	struct ms_build_options opt = {.no_symbols = no_symbols, .no_cache = true};
	struct ms_err err = {0};
	sqlite3 *db = ms_snapshot_build(&name, 1, &opt, NULL, &err);
	CHECK(db, "%s: %s", how, err.text);
	sqlite3_stmt *q = ms_sql_prepare(
		db, "SELECT id, type, file, line FROM keeper WHERE scan = 2 ORDER BY id", &err);
	size_t n = 0;
	for (; q && sqlite3_step(q) == SQLITE_ROW; n++) {
		const char *type = (const char *)sqlite3_column_text(q, 1),
			   *file = (const char *)sqlite3_column_text(q, 2);
		int line = sqlite3_column_int(q, 3);
		bool known = told && n <= VARIABLES;
		unsigned want = n < VARIABLES ? variables[n].line : 11;
		CHECK(known ? same_type(type, n < VARIABLES ? variables[n].type : "long int") &&
				      is_here(file) && line == FIRST_LINE + (int)want
			    : !type && !file && !line,
		      "%s: root %zu: %s:%d, %s", how, n + 1, file, line, type);
	}
	CHECK(n == VARIABLES + 4, "%s: %zu roots", how, n);
	sqlite3_finalize(q);
	sqlite3_close(db);
}

static void test_trace(void)
{
	struct ms_err err = {0};
	make_trace("variables.trace");
	check_snapshot("without symbols", "variables.trace", true, false);
	check_snapshot("from files", "variables.trace", false, true);
	CHECK(ms_symbols_embed("variables.trace", NULL, NULL, &err) == 0, "%s", err.text);
	check_snapshot("embedded", "variables.trace", true, true);
	struct ms_trace *t = ms_trace_open("variables.trace", &err);
	struct ms_block b;
	size_t records = 0;
	while (ms_trace_next(t, UINT64_C(1) << MS_BLOCK_SYMBOLS, 1, &b, &err) == MS_NEXT_BLOCK) {
		struct ms_record_reader r;
		struct ms_record rec;
		struct ms_field f;
		const struct ms_column *c = ms_block_column(&b, MS_RECORDS_COLUMN);
		ms_record_reader_init(&r, c->data, c->size);
		while (ms_record_next(&r, &rec) == MS_FMT_OK)
			records +=
				ms_record_field(&rec, &f) == MS_FMT_OK && f.id == MS_SYM_VARIABLE;
	}
	CHECK(records == VARIABLES + 1, "%zu records: each variable once", records);
	ms_trace_close(t);
}

int main(void)
{
	ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
	CHECK(n > 0, "its own file");
	variables[VARIABLES - 1].address = AT(in_function());
	test_lookup();
	test_trace();
	return failures != 0 || !in_thread || list_of || callback || nothing || kind_of ||
	       constant || !names[0] || !flags[0];
}
