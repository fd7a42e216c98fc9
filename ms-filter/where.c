/* SPDX-License-Identifier: MIT
 * Compiles --where EXPR to SQL: tokens, recursive descent, and the functions of the SQL.
 *
 * Each comparison is an expression of SQL. "and", "or" and "not" are letters behind their operands,
 * which holds() evaluates: parentheses may be nested more deeply than SQLite's parser allows.
 */
#include "where.h"

#include "options.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/meant.h"
#include "libcommon/base/pattern.h"
#include "libcommon/base/units.h"
#include "libcommon/snapshot/snapshot.h"

#define DEPTH_MAX 100
#define GROUP 500 /* steps joined without parentheses: SQLite limits the depth of expressions */

/* ---- tokens ---- */

enum token { END, OPEN, CLOSE, OPERATOR, WORD, NUMBER, TEXT, WORD_AND, WORD_OR, WORD_NOT, BAD };

struct parser {
	struct ms_arena *arena;
	const char *text, *at;
	struct where *where;
	struct ms_err *err;
	int depth;
	size_t steps; /* number of steps put so far */
	/* current token */
	enum token token;
	const char *op; /* operator in SQL; "~" = match */
	bool opposite;  /* the operator is the opposite of `op` */
	const char *start;
	size_t length; /* length of a word or number */
	const char *string;
};

/* Reports the position of a syntax error. An earlier error remains. */
static void complain(struct parser *p, const char *what)
{
	size_t at = (size_t)(p->start - p->text) + 1;
	if (p->token == END)
		ms_err_set(p->err, "option '--where': %s at the end of '%s'", what, p->text);
	else
		ms_err_set(p->err, "option '--where': %s at character %zu of '%s'", what, at,
			   p->text);
}

/* Reads a text in quotes; two quotes inside it mean one quote, as in 'it''s'. */
static enum token quoted_text(struct parser *p)
{
	char quote = *p->at++, *out = ms_arena_alloc(p->arena, strlen(p->at) + 1), *o = out;
	for (; *p->at; p->at++) {
		if (*p->at == quote && *++p->at != quote) {
			p->string = out;
			return TEXT;
		}
		*o++ = *p->at;
	}
	complain(p, "the closing quote is missing");
	return BAD;
}

static enum token symbol(struct parser *p)
{
	static const struct {
		const char *text;
		enum token token;
		const char *op;
		bool opposite;
	} table[] = {
		{"&&", WORD_AND, NULL, false}, {"||", WORD_OR, NULL, false},
		{"==", OPERATOR, "=", false},  {"!=", OPERATOR, "=", true},
		{"<>", OPERATOR, "=", true},   {"<=", OPERATOR, "<=", false},
		{">=", OPERATOR, ">=", false}, {"!~", OPERATOR, "~", true},
		{"=", OPERATOR, "=", false},   {"<", OPERATOR, "<", false},
		{">", OPERATOR, ">", false},   {"~", OPERATOR, "~", false},
		{"(", OPEN, NULL, false},      {")", CLOSE, NULL, false},
		{"!", WORD_NOT, NULL, false},
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		size_t n = strlen(table[i].text);
		if (strncmp(p->at, table[i].text, n) != 0)
			continue;
		p->at += n;
		p->op = table[i].op;
		p->opposite = table[i].opposite;
		return table[i].token;
	}
	complain(p, "unknown operator");
	return BAD;
}

static bool is_word(const struct parser *p, const char *word)
{
	return p->length == strlen(word) && strncasecmp(p->start, word, p->length) == 0;
}

static enum token word(struct parser *p)
{
	bool number = isdigit((unsigned char)*p->at) || *p->at == '.' || *p->at == '-';
	for (p->at++; isalnum((unsigned char)*p->at) || (*p->at && strchr("_.-", *p->at)); p->at++)
		;
	p->length = (size_t)(p->at - p->start);
	return number              ? NUMBER
	       : is_word(p, "and") ? WORD_AND
	       : is_word(p, "or")  ? WORD_OR
	       : is_word(p, "not") ? WORD_NOT
				   : WORD;
}

static void advance(struct parser *p)
{
	while (isspace((unsigned char)*p->at))
		p->at++;
	p->start = p->at;
	if (!*p->at)
		p->token = END;
	else if (*p->at == '\'' || *p->at == '"')
		p->token = quoted_text(p);
	else if (isalnum((unsigned char)*p->at) || strchr("_.-", *p->at))
		p->token = word(p);
	else
		p->token = symbol(p);
}

/* ---- SQL ---- */

static void put(struct where *w, const char *sql)
{
	while (*sql)
		*MS_PUSH(&w->sql) = *sql++;
}

/* Adds a step: an operator as a letter, or a comparison, whose result becomes a letter. */
static void put_step(struct parser *p, const char *sql)
{
	if (p->steps)
		put(p->where, p->steps % GROUP ? "||" : ")||(");
	put(p->where, sql);
	p->steps++;
}

static void put_test(struct parser *p, bool opposite, const char *test)
{
	put_step(p, ms_arena_printf(p->arena, "coalesce(%s%s, '?')", opposite ? "NOT " : "", test));
}

/* Adds a test of frames. Returns the expression that applies it to the site's stack. */
static const char *stack_test(struct parser *p, const char *test)
{
	*MS_PUSH(&p->where->tests) = test;
	return ms_arena_printf(p->arena, "on_stack(%zu, s.stack)", p->where->tests.n - 1);
}

const char *where_quoted(struct ms_arena *a, const char *text)
{
	char *out = ms_arena_alloc(a, 2 * strlen(text) + 3), *o = out;
	for (*o++ = '\''; *text; *o++ = *text++)
		if (*text == '\'')
			*o++ = '\'';
	stpcpy(o, "'");
	return out;
}

/* ---- grammar ---- */

struct operand {
	int column;       /* index of the column; -1 = a literal */
	const char *text; /* text of the operand as written */
	bool quoted;
	const char *start; /* position in the expression, for messages */
};

static int take_operand(struct parser *p, struct operand *o)
{
	*o = (struct operand){.column = -1, .start = p->start};
	switch (p->token) {
	case TEXT:
		o->text = p->string;
		o->quoted = true;
		break;
	case WORD:
		for (size_t i = 0; i < column_count; i++)
			if (strlen(columns[i].name) == p->length &&
			    memcmp(columns[i].name, p->start, p->length) == 0)
				o->column = (int)i;
		/* fall through */
	case NUMBER:
		o->text = ms_arena_strndup(p->arena, p->start, p->length);
		break;
	default:
		complain(p, p->token == BAD ? "" : "a column or a value is missing");
		return -1;
	}
	advance(p);
	return 0;
}

static void unknown_column(struct parser *p, const struct operand *o)
{
	struct ms_meant meant = {0};
	for (size_t i = 0; i < column_count; i++)
		ms_meant_try(&meant, o->text, strlen(o->text), columns[i].name);
	ms_err_set(p->err,
		   "option '--where': no column '%s' at character %zu of '%s'%s%s%s ('--where "
		   "help' lists all columns)",
		   o->text, (size_t)(o->start - p->text) + 1, p->text,
		   meant.word ? ": did you mean " : "", meant.word ? meant.word : "",
		   meant.word ? "?" : "");
}

/* Returns a literal in SQL, according to the type of the column compared with. */
static const char *literal(struct parser *p, const struct column *c, const char *text)
{
	bool minus = text[0] == '-';
	const char *digits = text + minus;
	uint64_t v = 0;
	int rc = 0;
	if (c->type == COLUMN_SIZE)
		rc = ms_parse_size(digits, &v, p->err);
	else if (c->type == COLUMN_DURATION)
		rc = ms_parse_duration(digits, &v, p->err);
	else if (c->type == COLUMN_COUNT)
		rc = ms_parse_count(digits, c->name, 0, INT64_MAX, &v, p->err);
	else
		return where_quoted(p->arena, text);
	long long number = v < INT64_MAX ? (long long)v : INT64_MAX;
	return rc ? "" : ms_arena_printf(p->arena, "%lld", minus ? -number : number);
}

static int check_types(struct parser *p, const struct column *c, bool match,
		       const struct operand *other)
{
	const struct column *o = other->column < 0 ? NULL : &columns[other->column];
	if (match && c->type < COLUMN_TEXT)
		return ms_err_set(p->err,
				  "option '--where': '~' needs a text column, which '%s' is not",
				  c->name);
	if (match && o)
		return ms_err_set(p->err,
				  "option '--where': '~' needs a regular expression, and '%s' "
				  "is a column; if it is meant as text, put it in quotes",
				  o->name);
	if (o && (o->type != c->type || o->type == COLUMN_STACK))
		return ms_err_set(p->err,
				  "option '--where': columns '%s' and '%s' cannot be compared",
				  c->name, o->name);
	return match ? regex_check("where", other->text, p->err) : 0;
}

/* Refuses `null` in a comparison: it would be read as the text "null", and no comparison with an
 * unknown value is true. */
static void no_null(struct parser *p, const char *column, const struct operand *o)
{
	ms_err_set(p->err,
		   "option '--where': '%s' at character %zu of '%s' is not a value: write '%s is "
		   "null' or '%s is not null', or put a text in quotes",
		   o->text, (size_t)(o->start - p->text) + 1, p->text, column, column);
}

static void compare(struct parser *p, const struct operand *left)
{
	struct operand right;
	const char *op = p->op;
	bool opposite = p->opposite, match = op[0] == '~';
	advance(p);
	if (take_operand(p, &right) != 0)
		return;
	bool swapped = left->column < 0 && right.column >= 0 && !match;
	const struct operand *column = swapped ? &right : left, *other = swapped ? left : &right;
	if (column->column < 0) {
		unknown_column(p, column);
		return;
	}
	const struct column *c = &columns[column->column];
	if (other->column < 0 && !other->quoted && !match && !strcasecmp(other->text, "null"))
		no_null(p, c->name, other);
	if (check_types(p, c, match, other) != 0)
		return;
	const char *value =
		other->column < 0 ? literal(p, c, other->text) : columns[other->column].sql;
	const char *test = match     ? ms_arena_printf(p->arena, "matches(%s, %s)", value, c->sql)
			   : swapped ? ms_arena_printf(p->arena, "%s %s %s", value, op, c->sql)
				     : ms_arena_printf(p->arena, "%s %s %s", c->sql, op, value);
	put_test(p, opposite, c->type == COLUMN_STACK ? stack_test(p, test) : test);
}

/* Parses "is null" or "is not null" after a column. */
static void is_null(struct parser *p, const struct operand *o)
{
	advance(p);
	bool opposite = p->token == WORD_NOT;
	if (opposite)
		advance(p);
	if (p->token != WORD || !is_word(p, "null"))
		complain(p, "'null' is missing");
	advance(p);
	if (o->column < 0) {
		unknown_column(p, o);
		return;
	}
	const struct column *c = &columns[o->column];
	put_test(p, opposite,
		 ms_arena_printf(p->arena, "%s IS NULL",
				 c->type == COLUMN_STACK ? stack_test(p, "1") : c->sql));
}

static void parse_chain(struct parser *p, enum token between);

static void primary(struct parser *p)
{
	struct operand left;
	if (p->token == OPEN) {
		advance(p);
		parse_chain(p, WORD_OR);
		if (p->token != CLOSE)
			complain(p, "')' is missing");
		advance(p);
	} else if (take_operand(p, &left) == 0) {
		if (p->token == WORD && is_word(p, "is"))
			is_null(p, &left);
		else if (p->token == OPERATOR)
			compare(p, &left);
		else if (left.column < 0)
			unknown_column(p, &left);
		else
			complain(p, "a comparison is missing");
	}
}

static void parse_not(struct parser *p)
{
	if (++p->depth > DEPTH_MAX) {
		complain(p, "too many parentheses");
	} else if (p->token == WORD_NOT) {
		advance(p);
		parse_not(p);
		put_step(p, "'!'");
	} else {
		primary(p);
	}
	p->depth--;
}

/* Parses operands joined by "or" or by "and", which binds more tightly. */
static void parse_chain(struct parser *p, enum token between)
{
	const char *step = NULL;
	do {
		if (step)
			advance(p);
		if (between == WORD_OR)
			parse_chain(p, WORD_AND);
		else
			parse_not(p);
		if (step)
			put_step(p, step);
		step = between == WORD_OR ? "'|'" : "'&'";
	} while (p->token == between);
}

struct where *where_parse(struct ms_arena *a, const char *text, struct ms_err *err)
{
	struct where *w = ms_arena_alloc(a, sizeof *w);
	struct parser p = {.arena = a, .text = text, .at = text, .where = w, .err = err};
	*w = (struct where){0};
	put(w, "SELECT s.id, holds((");
	advance(&p);
	parse_chain(&p, WORD_OR);
	if (p.token != END)
		complain(&p, "'and' or 'or' is missing");
	if (err->text[0]) {
		where_free(w);
		return NULL;
	}
	put(w, "))");
	put(w, columns_from);
	*MS_PUSH(&w->sql) = '\0';
	return w;
}

void where_free(struct where *w)
{
	if (w)
		MS_FREE(w->sql.v, w->tests.v);
}

/* ---- functions of the SQL ---- */

/* Implements holds(steps): evaluates letters in postfix notation. */
static void holds(sqlite3_context *c, int n, sqlite3_value **v)
{
	enum truth stack[2 * DEPTH_MAX + 3] = {UNSURE};
	size_t top = 0; /* stack[0] is no operand */
	(void)n;
	for (const unsigned char *s = sqlite3_value_text(v[0]); s && *s; s++) {
		if (*s == '&' || *s == '|') {
			top--;
			if ((stack[top + 1] < stack[top]) == (*s == '&'))
				stack[top] = stack[top + 1];
		} else if (*s == '!') {
			stack[top] = TRUE - stack[top];
		} else {
			stack[++top] = *s == '?' ? UNSURE : *s == '1' ? TRUE : UNTRUE;
		}
	}
	if (stack[top] != UNSURE)
		sqlite3_result_int(c, stack[top] == TRUE);
}

static void free_regex(void *regex)
{
	regfree(regex);
	free(regex);
}

/* Implements matches(regex, text), null if the text is. SQLite keeps the compiled expression as
 * long as the first argument is the same constant. */
static void matches(sqlite3_context *c, int n, sqlite3_value **v)
{
	regex_t *regex = sqlite3_get_auxdata(c, 0), *made = NULL;
	const char *text = (const char *)sqlite3_value_text(v[1]);
	char room[MS_PATTERN_WHY];
	(void)n;
	if (!text)
		return;
	if (!regex) {
		regex = made = ms_xcalloc(1, sizeof *made);
		const char *why =
			ms_pattern_compile(made, (const char *)sqlite3_value_text(v[0]), 0, room);
		if (why) {
			free(made);
			sqlite3_result_error(c, why, -1);
			return;
		}
	}
	sqlite3_result_int(c, regexec(regex, text, 0, NULL, 0) == 0);
	if (made)
		sqlite3_set_auxdata(c, 0, made, free_regex);
}

void where_functions(sqlite3 *db)
{
	int flags = SQLITE_UTF8 | SQLITE_DIRECTONLY;
	sqlite3_create_function(db, "holds", 1, flags, NULL, holds, NULL, NULL);
	sqlite3_create_function(db, "matches", 2, flags, NULL, matches, NULL, NULL);
}
