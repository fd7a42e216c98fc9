/* SPDX-License-Identifier: MIT
 * Reads --when: a condition, and what to do once it is true.
 */
#include "triggers_parse.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/meant.h"
#include "libcommon/base/units.h"

#define BLANK " \t"
#define TRIGGERS_MAX 32u
#define TEXT_MAX 200u
#define EVERY_LEAST_NS UINT64_C(1000000000)
#define CONDITIONS "rss, live, cgroup, failed or every"
#define ACTIONS                                                                                    \
	"mark:NAME, leak-check, retention, resident, start, stop, checkpoint or exec:COMMAND"

static const struct {
	const char *name;
	unsigned bits;
} actions[] = {{"leak-check", TRIGGER_SCAN},   {"retention", TRIGGER_SCAN | TRIGGER_RETENTION},
	       {"resident", TRIGGER_RESIDENT}, {"start", TRIGGER_START},
	       {"stop", TRIGGER_STOP},         {"checkpoint", TRIGGER_CHECKPOINT}};
#define ACTION_COUNT (sizeof actions / sizeof *actions)

static const char *const figures[] = {[TRIGGER_RSS] = "rss",
				      [TRIGGER_LIVE] = "live",
				      [TRIGGER_CGROUP] = "cgroup",
				      [TRIGGER_FAILED] = "failed",
				      [TRIGGER_TIME] = "every"};
#define FIGURE_COUNT (sizeof figures / sizeof *figures)

static char *skip(char *s)
{
	return s + strspn(s, BLANK);
}

/* Ends a text before the blanks at its end. */
static void trim(char *s)
{
	size_t n = strlen(s);
	while (n && strchr(BLANK, s[n - 1]))
		s[--n] = '\0';
}

/* Cuts the word at *s off from the text; *s moves to the next one. */
static char *word(char **s)
{
	char *at = skip(*s), *end = at + strcspn(at, BLANK);
	*s = skip(end);
	*end = '\0';
	return at;
}

/* Says that the `n` bytes typed are no `what`; near: the nearest that is. */
static int unknown(struct ms_err *err, const char *what, const char *typed, size_t n,
		   const struct ms_meant *near, const char *all)
{
	return ms_err_set(err, "unknown %s '%.*s': %s%s%suse %s", what, (int)n, typed,
			  near->word ? "did you mean '" : "", near->word ?: "",
			  near->word ? "'? Otherwise " : "", all);
}

/* ---- conditions ---- */

/* Reads "> 2GiB" or "> 90%". */
static int parse_level(struct trigger *t, char *s, struct ms_err *err)
{
	size_t n = strlen(s);
	t->kind = TRIGGER_LEVEL;
	if (t->op == MS_OP_EQ || t->op == MS_OP_NE)
		return ms_err_set(
			err, "'%s' can only be compared with >, >=, < or <=", figures[t->figure]);
	t->percent = n && s[n - 1] == '%';
	if (!t->percent)
		return ms_parse_size(s, &t->limit, err);
	s[n - 1] = '\0';
	trim(s);
	return t->figure == TRIGGER_CGROUP
		       ? ms_parse_count(s, "percentage", 1, 100, &t->limit, err)
		       : ms_err_set(err, "only 'cgroup' can be compared with a percentage; give a "
					 "size, such as 2GiB");
}

/* Reads "100MiB in 1m". */
static int parse_growth(struct trigger *t, char *s, struct ms_err *err)
{
	char *size = word(&s), *in = word(&s), *time = word(&s);
	t->kind = TRIGGER_GROWS;
	if (strcmp(in, "in") != 0 || !*time || *s)
		return ms_err_set(err, "expected SIZE in DURATION after 'grows'");
	if (ms_parse_size(size, &t->limit, err) || ms_parse_duration(time, &t->ns, err))
		return -1;
	return t->limit && t->ns >= EVERY_LEAST_NS
		       ? 0
		       : ms_err_set(err,
				    "'grows' needs a size above 0 and a duration of at least 1s");
}

/* Reads the name of a count of memory.events. */
static int parse_event(struct trigger *t, const char *s, struct ms_err *err)
{
	t->kind = TRIGGER_EVENT;
	for (t->event = 0; t->event < CGROUP_EVENTS; t->event++)
		if (strcmp(s, cgroup_event_names[t->event]) == 0)
			return 0;
	return ms_err_set(err,
			  "expected a comparison after 'cgroup', or high, max, oom or "
			  "oom_kill, not '%s'",
			  s);
}

static int parse_every(struct trigger *t, const char *s, struct ms_err *err)
{
	t->kind = TRIGGER_EVERY;
	t->times = 0;
	if (ms_parse_duration(s, &t->ns, err))
		return -1;
	return t->ns >= EVERY_LEAST_NS ? 0
				       : ms_err_set(err, "'every' needs a duration of at least 1s");
}

static int find_figure(struct trigger *t, const char *s, size_t n, struct ms_err *err)
{
	struct ms_meant near = {0};
	for (size_t i = 0; i < FIGURE_COUNT; i++) {
		t->figure = (enum trigger_figure)i;
		if (strlen(figures[i]) == n && strncmp(s, figures[i], n) == 0)
			return 0;
		ms_meant_try(&near, s, n, figures[i]);
	}
	return unknown(err, "condition", s, n, &near, CONDITIONS);
}

static int parse_condition(struct trigger *t, char *s, struct ms_err *err)
{
	size_t n = strcspn(s, BLANK "<>=!");
	if (find_figure(t, s, n, err))
		return -1;
	s = skip(s + n);
	if (t->figure == TRIGGER_TIME)
		return parse_every(t, s, err);
	if (t->figure == TRIGGER_FAILED) {
		t->kind = TRIGGER_EVENT;
		return *s ? ms_err_set(err, "'failed' stands alone: nothing may follow it") : 0;
	}
	const char *value = s;
	if (ms_op_read(&value, &t->op))
		return parse_level(t, skip(s + (value - s)), err);
	if (t->figure == TRIGGER_CGROUP)
		return parse_event(t, s, err);
	if (strncmp(s, "grows", 5) == 0 && strchr(BLANK, s[5]) && s[5])
		return parse_growth(t, skip(s + 5), err);
	return ms_err_set(err, "expected >, >=, <, <= or 'grows SIZE in DURATION' after '%s'",
			  figures[t->figure]);
}

/* Reads ", N times" or ", once" behind a condition, and cuts it off. */
static int parse_times(char *s, uint64_t *n, struct ms_err *err)
{
	char *comma = strchr(s, ',');
	if (!comma)
		return 0;
	*comma = '\0';
	char *rest = comma + 1, *number = word(&rest), *times = word(&rest);
	if (strcmp(number, "once") == 0 && !*times)
		*n = 1;
	else if ((strcmp(times, "times") != 0 && strcmp(times, "time") != 0) || *rest)
		return ms_err_set(err, "expected 'N times' or 'once' after ','");
	else if (ms_parse_count(number, "number of times", 1, 1000000, n, err))
		return -1;
	return 0;
}

/* ---- actions ---- */

static const char *const placeholders[] = {"{trace}", "{pid}", "{rss}"};
static const char *const variables[] = {"MEMSCOPE_TRACE", "MEMSCOPE_PID", "MEMSCOPE_RSS"};

/* Makes the command for sh -c: each placeholder becomes a variable, quoted as it stands, so that
 * no value is ever read as shell. */
static int parse_command(struct trigger *t, const char *s, struct ms_err *err)
{
	char *to = NULL, quote = '\0';
	size_t n = 0;
	FILE *f = open_memstream(&to, &n);
	if (!f)
		ms_out_of_memory();
	t->typed = s;
	while (*s) {
		size_t i = 0;
		while (i < 3 && strncmp(s, placeholders[i], strlen(placeholders[i])) != 0)
			i++;
		if (i < 3 && quote == '\'') {
			fclose(f);
			free(to);
			return ms_err_set(err,
					  "%s cannot be in single quotes, where the shell replaces "
					  "nothing: use double quotes or none",
					  placeholders[i]);
		}
		if (i < 3) {
			fprintf(f, quote ? "${%s}" : "\"${%s}\"", variables[i]);
			s += strlen(placeholders[i]);
			continue;
		}
		if (*s == '\\' && quote != '\'' && s[1])
			fputc(*s++, f);
		else if (*s == quote)
			quote = '\0';
		else if (!quote && (*s == '\'' || *s == '"'))
			quote = *s;
		fputc(*s++, f);
	}
	fclose(f);
	t->command = to;
	return quote       ? ms_err_set(err, "the command of 'exec:' lacks a closing %c", quote)
	       : *t->typed ? 0
			   : ms_err_set(err, "a command must follow 'exec:'");
}

static int parse_action(struct trigger *t, const char *s, struct ms_err *err)
{
	struct ms_meant near = {0};
	for (size_t i = 0; i < ACTION_COUNT; i++) {
		if (strcmp(s, actions[i].name) == 0) {
			t->actions |= actions[i].bits;
			return 0;
		}
		ms_meant_try(&near, s, strlen(s), actions[i].name);
	}
	if (strncmp(s, "mark:", 5) == 0) {
		if (!s[5] || strlen(s + 5) > 255)
			return ms_err_set(err, "a name of at most 255 bytes must follow 'mark:'");
		*MS_PUSH(&t->marks) = s + 5;
		return 0;
	}
	return unknown(err, "action", s, strlen(s), &near, ACTIONS);
}

static int parse_actions(struct trigger *t, char *s, struct ms_err *err)
{
	for (char *end; s; s = end) {
		s = skip(s);
		if (strncmp(s, "exec:", 5) == 0)
			return parse_command(t, skip(s + 5), err);
		end = strchr(s, ',');
		if (end)
			*end++ = '\0';
		trim(s);
		if (parse_action(t, s, err))
			return -1;
	}
	return 0;
}

/* ---- all ---- */

static void drop(struct trigger *t)
{
	MS_FREE(t->text, (void *)t->marks.v, t->command);
}

int triggers_add(struct triggers *to, const char *text, struct ms_err *err)
{
	const char *colon = strchr(text, ':');
	struct ms_err why = {0};
	struct trigger t = {.times = TRIGGER_TIMES};
	if (!colon || !colon[1 + strspn(colon + 1, BLANK)])
		return ms_err_set(err,
				  "bad --when '%s': expected CONDITION: ACTION[, ACTION...], such "
				  "as 'rss > 2GiB: retention'",
				  text);
	/* the condition, which is kept; its words, which are cut apart; the actions */
	size_t blank = strspn(text, BLANK), n = (size_t)(colon - text) - blank;
	t.text = ms_xcalloc(2 * strlen(text) + 3, 1);
	char *words = t.text + n + 1, *rest = words + n + 1;
	memcpy(t.text, text + blank, n);
	memcpy(words, t.text, n);
	strcpy(rest, colon + 1);
	t.text[strcspn(t.text, ",")] = '\0';
	trim(t.text);
	trim(rest);
	uint64_t times = 0;
	int rc = parse_times(words, &times, &why);
	trim(words);
	rc = rc || parse_condition(&t, words, &why) || parse_actions(&t, rest, &why) ? -1 : 0;
	t.times = times ? times : t.times;
	if (rc == 0 && strlen(t.text) > TEXT_MAX)
		rc = ms_err_set(&why, "its condition is longer than %u bytes", TEXT_MAX);
	if (rc == 0 && to->n == TRIGGERS_MAX)
		rc = ms_err_set(&why, "there can be at most %u of these options", TRIGGERS_MAX);
	if (rc == 0)
		*MS_PUSH(to) = t;
	else
		drop(&t);
	return rc == 0 ? 0 : ms_err_set(err, "bad --when '%s': %s", text, why.text);
}

void triggers_add_moment(struct triggers *to, enum trigger_kind kind, enum trigger_figure figure,
			 uint64_t value, const char *label)
{
	bool every = kind == TRIGGER_EVERY;
	struct trigger *t = MS_PUSH(to);
	*t = (struct trigger){.text = ms_xstrdup(label),
			      .kind = kind,
			      .figure = figure,
			      .op = MS_OP_GE,
			      .limit = value,
			      .ns = value,
			      .times = !every,
			      .actions = TRIGGER_SCAN};
	t->label = t->text;
}

const char *triggers_action(const struct triggers *t, unsigned wanted, unsigned on)
{
	for (size_t i = 0; i < t->n; i++)
		for (size_t k = ACTION_COUNT; k-- && (on >> t->v[i].figure & 1);)
			if ((t->v[i].actions & wanted & actions[k].bits) &&
			    (t->v[i].actions & actions[k].bits) == actions[k].bits &&
			    !t->v[i].label)
				return actions[k].name;
	return NULL;
}

bool triggers_need_merge(const struct triggers *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->v[i].figure == TRIGGER_LIVE || t->v[i].figure == TRIGGER_FAILED)
			return true;
	return false;
}

void triggers_free(struct triggers *t)
{
	for (size_t i = 0; i < t->n; i++)
		drop(&t->v[i]);
	free(t->v);
}
