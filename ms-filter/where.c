/* SPDX-License-Identifier: MIT
 * Parses and evaluates --where EXPR: tokens, recursive descent to a tree, and its value for a site.
 */
#include "where.h"

#include "columns.h"

#include <ctype.h>
#include <regex.h>
#include <string.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/meant.h"
#include "libcommon/base/pattern.h"
#include "libcommon/base/units.h"

#define DEPTH_MAX 100

enum kind { AND, OR, NOT, COMPARE, IS_NULL };
/* Lists the operators. A comparison is the set of results that satisfy it: less, equal, greater. */
enum op {
	NO_OP = 0,
	LT = 1,
	EQ = 2,
	GT = 4,
	LE = LT | EQ,
	GE = GT | EQ,
	NE = LT | GT,
	MATCH = 8,
	NO_MATCH
};

struct node {
	enum kind kind;
	struct node *a, *b; /* operands of AND and OR; NOT has only a */
	enum op op;
	int left, right; /* operands: column indexes; right = -1: a literal */
	struct value literal;
	regex_t regex; /* for MATCH, NO_MATCH */
	struct node *next_regex;
};

struct where {
	struct node *root, *regexes;
	bool stack;
};

/* ---- tokens ---- */

enum token { END, OPEN, CLOSE, OPERATOR, WORD, NUMBER, TEXT, WORD_AND, WORD_OR, WORD_NOT, BAD };

struct parser {
	struct ms_arena *arena;
	const char *text, *at;
	struct where *where;
	struct ms_err *err;
	int depth;
	/* current token */
	enum token token;
	enum op op;
	const char *start;
	size_t length; /* length of a word or number */
	const char *string;
};

/* Reports the position of a syntax error; returns NULL. */
static struct node *complain(struct parser *p, const char *what)
{
	size_t at = (size_t)(p->start - p->text) + 1;
	if (p->token == END)
		ms_err_set(p->err, "option '--where': %s at the end of '%s'", what, p->text);
	else
		ms_err_set(p->err, "option '--where': %s at character %zu of '%s'", what, at,
			   p->text);
	return NULL;
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

static enum token operator(struct parser *p) {
	static const struct {const char * text; enum token token; enum op op;}
table[] = {
	{"&&", WORD_AND, NO_OP}, {"||", WORD_OR, NO_OP},     {"==", OPERATOR, EQ},
	{"!=", OPERATOR, NE},    {"<>", OPERATOR, NE},       {"<=", OPERATOR, LE},
	{">=", OPERATOR, GE},    {"!~", OPERATOR, NO_MATCH}, {"=", OPERATOR, EQ},
	{"<", OPERATOR, LT},     {">", OPERATOR, GT},        {"~", OPERATOR, MATCH},
	{"(", OPEN, NO_OP},      {")", CLOSE, NO_OP},        {"!", WORD_NOT, NO_OP},
};
for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
	size_t n = strlen(table[i].text);
	if (strncmp(p->at, table[i].text, n) != 0)
		continue;
	p->at += n;
	p->op = table[i].op;
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
		p->token = operator(p);
}

/* ---- the tree ---- */

static struct node *new_node(struct parser *p, enum kind kind, struct node *a, struct node *b)
{
	struct node *n = ms_arena_alloc(p->arena, sizeof *n);
	*n = (struct node){.kind = kind, .a = a, .b = b, .left = -1, .right = -1};
	return n;
}

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
		o->column = column_find(p->start, p->length);
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

static struct node *unknown_column(struct parser *p, const struct operand *o)
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
	return NULL;
}

/* Parses a literal according to the type of the column compared with. */
static int take_literal(struct parser *p, struct node *n, const struct operand *o)
{
	const struct column *c = &columns[n->left];
	const char *text = o->text ? o->text : "";
	bool minus = text[0] == '-';
	const char *digits = text + minus;
	uint64_t v = 0;
	int rc = 0;
	n->literal = (struct value){.known = true, .text = o->text};
	if (c->type == COLUMN_SIZE)
		rc = ms_parse_size(digits, &v, p->err);
	else if (c->type == COLUMN_DURATION)
		rc = ms_parse_duration(digits, &v, p->err);
	else if (c->type == COLUMN_COUNT)
		rc = ms_parse_count(digits, c->name, 0, INT64_MAX, &v, p->err);
	int64_t number = v < INT64_MAX ? (int64_t)v : INT64_MAX;
	n->literal.number = minus ? -number : number;
	return rc;
}

static bool is_text(int column)
{
	return columns[column].type >= COLUMN_TEXT;
}

static int compile_regex(struct parser *p, struct node *n)
{
	char room[MS_PATTERN_WHY];
	const char *why = ms_pattern_compile(&n->regex, n->literal.text, 0, room);
	if (why)
		return ms_err_set(p->err, "option '--where': bad regular expression '%s': %s",
				  n->literal.text, why);
	n->next_regex = p->where->regexes;
	p->where->regexes = n;
	return 0;
}

static enum op mirrored(enum op op)
{
	return (op & EQ) | (op & LT ? GT : 0) | (op & GT ? LT : 0);
}

static int check_types(struct parser *p, const struct node *n, const struct operand *right)
{
	const struct column *l = &columns[n->left];
	bool match = n->op == MATCH || n->op == NO_MATCH;
	if (match && !is_text(n->left))
		return ms_err_set(p->err,
				  "option '--where': '~' needs a text column, which '%s' is not",
				  l->name);
	if (match && n->right >= 0)
		return ms_err_set(p->err,
				  "option '--where': '~' needs a regular expression, and '%s' "
				  "is a column; if it is meant as text, put it in quotes",
				  right->text);
	if (n->right >= 0 &&
	    (columns[n->right].type != l->type || columns[n->right].type == COLUMN_STACK))
		return ms_err_set(p->err,
				  "option '--where': columns '%s' and '%s' cannot be compared",
				  l->name, columns[n->right].name);
	return 0;
}

/* Refuses `null` in a comparison: it would be read as the text "null", and no comparison with an
 * unknown value is true. */
static struct node *no_null(struct parser *p, const char *column, const struct operand *o)
{
	ms_err_set(p->err,
		   "option '--where': '%s' at character %zu of '%s' is not a value: write '%s is "
		   "null' or '%s is not null', or put a text in quotes",
		   o->text, (size_t)(o->start - p->text) + 1, p->text, column, column);
	return NULL;
}

static struct node *compare(struct parser *p, struct operand left)
{
	struct operand right;
	struct node *n = new_node(p, COMPARE, NULL, NULL);
	n->op = p->op;
	advance(p);
	if (take_operand(p, &right) != 0)
		return NULL;
	if (left.column < 0 && right.column >= 0 && n->op < MATCH) {
		struct operand o = left;
		left = right;
		right = o;
		n->op = mirrored(n->op);
	}
	if (left.column < 0)
		return unknown_column(p, &left);
	n->left = left.column;
	n->right = right.quoted ? -1 : right.column;
	if (n->right < 0 && !right.quoted && n->op < MATCH && !strcasecmp(right.text, "null"))
		return no_null(p, columns[n->left].name, &right);
	p->where->stack |= columns[n->left].type == COLUMN_STACK;
	if (check_types(p, n, &right) != 0)
		return NULL;
	if (n->right < 0 && take_literal(p, n, &right) != 0)
		return NULL;
	if ((n->op == MATCH || n->op == NO_MATCH) && compile_regex(p, n) != 0)
		return NULL;
	return n;
}

/* Parses "is null" or "is not null" after a column. */
static struct node *is_null(struct parser *p, const struct operand *o)
{
	struct node *n = new_node(p, IS_NULL, NULL, NULL);
	n->left = o->column;
	advance(p);
	bool inverted = p->token == WORD_NOT;
	if (inverted)
		advance(p);
	if (p->token != WORD || !is_word(p, "null"))
		return complain(p, "'null' is missing");
	advance(p);
	if (o->column < 0)
		return unknown_column(p, o);
	p->where->stack |= columns[n->left].type == COLUMN_STACK;
	return inverted ? new_node(p, NOT, n, NULL) : n;
}

static struct node *parse_chain(struct parser *p, enum kind kind);

static struct node *primary(struct parser *p)
{
	struct operand left;
	if (p->token == OPEN) {
		advance(p);
		struct node *n = parse_chain(p, OR);
		if (n && p->token != CLOSE)
			return complain(p, "')' is missing");
		advance(p);
		return n;
	}
	if (take_operand(p, &left) != 0)
		return NULL;
	if (p->token == WORD && is_word(p, "is"))
		return is_null(p, &left);
	if (p->token == OPERATOR)
		return compare(p, left);
	return left.column < 0 ? unknown_column(p, &left) : complain(p, "a comparison is missing");
}

static struct node *parse_not(struct parser *p)
{
	bool inverted = p->token == WORD_NOT;
	if (++p->depth > DEPTH_MAX)
		return complain(p, "too many parentheses");
	if (inverted)
		advance(p);
	struct node *n = inverted ? parse_not(p) : primary(p);
	p->depth--;
	return n && inverted ? new_node(p, NOT, n, NULL) : n;
}

/* Parses operands joined by "or" (kind OR) or by "and", which binds more tightly. */
static struct node *parse_chain(struct parser *p, enum kind kind)
{
	enum token between = kind == OR ? WORD_OR : WORD_AND;
	struct node *n = kind == OR ? parse_chain(p, AND) : parse_not(p);
	while (n && p->token == between) {
		advance(p);
		struct node *b = kind == OR ? parse_chain(p, AND) : parse_not(p);
		n = b ? new_node(p, kind, n, b) : NULL;
	}
	return n;
}

struct where *where_parse(struct ms_arena *a, const char *text, struct ms_err *err)
{
	struct where *w = ms_arena_alloc(a, sizeof *w);
	struct parser p = {.arena = a, .text = text, .at = text, .where = w, .err = err};
	advance(&p);
	w->root = parse_chain(&p, OR);
	if (w->root && p.token != END)
		w->root = complain(&p, "'and' or 'or' is missing");
	if (!w->root || (err && err->text[0])) {
		where_free(w);
		return NULL;
	}
	return w;
}

void where_free(struct where *w)
{
	for (struct node *n = w ? w->regexes : NULL; n; n = n->next_regex)
		regfree(&n->regex);
}

bool where_needs_stack(const struct where *w)
{
	return w->stack;
}

/* ---- evaluation ---- */

static bool ordered(enum op op, int order)
{
	return op & (order < 0 ? LT : order > 0 ? GT : EQ);
}

static bool text_holds(const struct node *n, const char *text, const char *other)
{
	if (n->op == MATCH || n->op == NO_MATCH)
		return (regexec(&n->regex, text, 0, NULL, 0) == 0) == (n->op == MATCH);
	return ordered(n->op, strcmp(text, other));
}

/* Tells whether any frame satisfies the comparison; for != and !~, whether every frame does. */
static enum truth stack_holds(const struct node *n, const struct where_row *row)
{
	bool all = n->op == NE || n->op == NO_MATCH, some = false, gap = false;
	const char *function;
	for (unsigned i = 0; row->frame(row->stack, i, &function); i++) {
		gap |= !function;
		if (!function)
			continue;
		some = true;
		if (text_holds(n, function, n->literal.text) != all)
			return all ? UNTRUE : TRUE;
	}
	return !some || gap ? UNSURE : all ? TRUE : UNTRUE;
}

static enum truth holds_compare(const struct node *n, const struct where_row *row)
{
	const struct value *a = &row->values[n->left];
	const struct value *b = n->right >= 0 ? &row->values[n->right] : &n->literal;
	if (columns[n->left].type == COLUMN_STACK)
		return stack_holds(n, row);
	if (!a->known || !b->known)
		return UNSURE;
	if (is_text(n->left))
		return text_holds(n, a->text, b->text) ? TRUE : UNTRUE;
	int order = a->number < b->number ? -1 : a->number > b->number;
	return ordered(n->op, order) ? TRUE : UNTRUE;
}

static bool no_stack(const struct where_row *row)
{
	const char *function;
	return !row->frame(row->stack, 0, &function);
}

static enum truth holds(const struct node *n, const struct where_row *row)
{
	enum truth a, b;
	switch (n->kind) {
	case COMPARE:
		return holds_compare(n, row);
	case IS_NULL:
		if (columns[n->left].type == COLUMN_STACK)
			return no_stack(row) ? TRUE : UNTRUE;
		return row->values[n->left].known ? UNTRUE : TRUE;
	case NOT:
		return TRUE - holds(n->a, row);
	default:
		a = holds(n->a, row);
		b = holds(n->b, row);
		return (a < b) == (n->kind == AND) ? a : b;
	}
}

enum truth where_holds(const struct where *w, const struct where_row *row)
{
	return holds(w->root, row);
}
