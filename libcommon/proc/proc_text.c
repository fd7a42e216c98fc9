/* SPDX-License-Identifier: MIT
 * Parses the texts of /proc/PID.
 */
#include "proc_text.h"

#include <string.h>

/* Reads an unsigned whole number in base 10 or 16 at *at, and moves *at behind it. */
static bool number(const char **at, int base, uint64_t *v)
{
	const char *p = *at;
	uint64_t n = 0;
	for (;; p++) {
		unsigned digit = *p >= '0' && *p <= '9'                 ? (unsigned)(*p - '0')
				 : base == 16 && *p >= 'a' && *p <= 'f' ? (unsigned)(*p - 'a' + 10)
									: 16;
		if (digit >= (unsigned)base)
			break;
		n = n * (unsigned)base + digit;
	}
	bool any = p != *at;
	*at = p;
	*v = n;
	return any;
}

static const char *skip_blanks(const char *p)
{
	return p + strspn(p, " \t");
}

static uint64_t times(uint64_t n, uint64_t unit)
{
	uint64_t out;
	return __builtin_mul_overflow(n, unit, &out) ? UINT64_MAX : out;
}

bool ms_proc_parse_statm(const char *text, uint64_t page_bytes, struct ms_proc_statm *out)
{
	uint64_t v[3];
	for (unsigned i = 0; i < 3; i++) {
		text = skip_blanks(text);
		if (!number(&text, 10, &v[i]))
			return false;
	}
	*out = (struct ms_proc_statm){times(v[0], page_bytes), times(v[1], page_bytes),
				      times(v[2], page_bytes)};
	return v[1] != 0;
}

bool ms_proc_parse_stat(const char *text, struct ms_proc_stat *out)
{
	/* The name can contain anything, even ") R 1"; the text after the last ')' cannot. */
	const char *open = strchr(text, '('), *close = strrchr(text, ')');
	*out = (struct ms_proc_stat){.fields = 4};
	if (!open || !close || close < open || close[1] != ' ' || !close[2])
		return false;
	size_t n = (size_t)(close - open - 1);
	n = n < sizeof out->name ? n : sizeof out->name - 1;
	memcpy(out->name, open + 1, n);
	out->state = close[2];
	const char *p = close + 3;
	for (; out->fields < MS_STAT_FIELDS; out->fields++) {
		p = skip_blanks(p);
		bool negative = *p == '-';
		p += negative;
		uint64_t v;
		if (!number(&p, 10, &v))
			break;
		out->field[out->fields] = negative ? -v : v;
	}
	return out->fields > MS_STAT_RSS;
}

static uint64_t labelled(const char *text, const char *label, int base, uint64_t none)
{
	const char *at = strstr(text, label);
	uint64_t v;
	if (!at)
		return none;
	at = skip_blanks(at + strlen(label));
	return number(&at, base, &v) ? v : none;
}

uint64_t ms_proc_status_number(const char *text, const char *label, uint64_t none)
{
	return labelled(text, label, 10, none);
}

uint64_t ms_proc_status_mask(const char *text, const char *label)
{
	return labelled(text, label, 16, 0);
}

uint32_t ms_proc_status_inner(const char *text)
{
	const char *at = strstr(text, "\nNSpid:");
	uint64_t v, last = 0;
	for (at = at ? skip_blanks(at + 7) : ""; number(&at, 10, &v); at = skip_blanks(at))
		last = v;
	return (uint32_t)last;
}

void ms_proc_memory_add(struct ms_proc_memory *sum, const struct ms_proc_memory *m)
{
	sum->rss += m->rss;
	sum->pss += m->pss;
	sum->shared_clean += m->shared_clean;
	sum->shared_dirty += m->shared_dirty;
	sum->private_clean += m->private_clean;
	sum->private_dirty += m->private_dirty;
	sum->anonymous += m->anonymous;
	sum->swap += m->swap;
}

void ms_proc_parse_memory_line(const char *line, struct ms_proc_memory *m)
{
	static const struct {
		const char *label;
		size_t length, offset;
	} labels[] = {
#define LABEL(text, member) {text, sizeof text - 1, offsetof(struct ms_proc_memory, member)}
		LABEL("Rss:", rss),
		LABEL("Pss:", pss),
		LABEL("Shared_Clean:", shared_clean),
		LABEL("Shared_Dirty:", shared_dirty),
		LABEL("Private_Clean:", private_clean),
		LABEL("Private_Dirty:", private_dirty),
		LABEL("Anonymous:", anonymous),
		LABEL("Swap:", swap),
#undef LABEL
	};
	for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
		if (strncmp(line, labels[i].label, labels[i].length) != 0)
			continue;
		const char *p = skip_blanks(line + labels[i].length);
		uint64_t kb;
		if (number(&p, 10, &kb))
			*(uint64_t *)((char *)m + labels[i].offset) = times(kb, 1024);
		return;
	}
}

bool ms_proc_parse_rollup(const char *text, struct ms_proc_memory *out)
{
	*out = (struct ms_proc_memory){0};
	bool any = false;
	for (const char *line = text; line && *line;) {
		ms_proc_parse_memory_line(line, out);
		any |= strncmp(line, "Rss:", 4) == 0;
		line = strchr(line, '\n');
		if (line)
			line++;
	}
	return any;
}

static bool expect(const char **at, char c)
{
	bool yes = **at == c;
	*at += yes;
	return yes;
}

bool ms_proc_parse_map(const char *line, struct ms_proc_map *out)
{
	uint64_t major, minor;
	const char *p = line;
	if (!number(&p, 16, &out->start) || !expect(&p, '-') || !number(&p, 16, &out->end) ||
	    !expect(&p, ' ') || out->end < out->start || strnlen(p, 5) < 5)
		return false;
	memcpy(out->perms, p, 4);
	out->perms[4] = '\0';
	p += 4;
	if (!expect(&p, ' ') || !number(&p, 16, &out->offset) || !expect(&p, ' ') ||
	    !number(&p, 16, &major) || !expect(&p, ':') || !number(&p, 16, &minor) ||
	    !expect(&p, ' ') || !number(&p, 10, &out->inode))
		return false;
	out->dev_major = (uint32_t)major;
	out->dev_minor = (uint32_t)minor;
	/* A path begins with '/', so leading blanks are not part of it. */
	out->path = skip_blanks(p);
	return true;
}

bool ms_proc_unescape(char *path)
{
	static const char newline[] = "\\012";
	char *to = strstr(path, newline);
	if (!to)
		return false;
	for (const char *p = to; *p;) {
		bool is = strncmp(p, newline, sizeof newline - 1) == 0;
		*to++ = is ? '\n' : *p;
		p += is ? sizeof newline - 1 : 1;
	}
	*to = '\0';
	return true;
}

/* Tells whether a path, which begins with a slash, is a library's. */
static bool is_library(const char *path)
{
	for (const char *p = strrchr(path, '/'); (p = strstr(p, ".so")); p += 3)
		if (!p[3] || p[3] == '.' || p[3] == ' ') /* ' ' begins " (deleted)" */
			return true;
	return false;
}

static bool starts(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

enum ms_region_kind ms_region_kind_of(const struct ms_proc_map *map)
{
	const char *path = map->path;
	if (*path == '\0')
		return map->inode ? MS_REGION_UNKNOWN : MS_REGION_ANONYMOUS;
	if (*path == '[') {
		return starts(path, "[heap]")       ? MS_REGION_HEAP
		       : starts(path, "[stack")     ? MS_REGION_STACK
		       : starts(path, "[anon")      ? MS_REGION_ANONYMOUS
		       : starts(path, "[vdso]")     ? MS_REGION_VDSO
		       : starts(path, "[vvar")      ? MS_REGION_VVAR
		       : starts(path, "[vsyscall]") ? MS_REGION_VSYSCALL
						    : MS_REGION_UNKNOWN;
	}
	if (*path != '/')
		return map->inode ? MS_REGION_MAPPED_FILE : MS_REGION_UNKNOWN;
	return is_library(path)       ? MS_REGION_SHARED_LIB
	       : map->perms[2] == 'x' ? MS_REGION_CODE
				      : MS_REGION_MAPPED_FILE;
}

const char *ms_region_word(enum ms_region_kind kind)
{
	static const char *const words[MS_REGION_KINDS] = {
		"heap",      "stack", "code", "shared_lib", "mapped_file",
		"anonymous", "vdso",  "vvar", "vsyscall",   "unknown"};
	return words[kind < MS_REGION_KINDS ? kind : MS_REGION_UNKNOWN];
}

bool ms_region_is_heap(enum ms_region_kind kind, const char perms[5])
{
	return kind == MS_REGION_HEAP || (kind == MS_REGION_ANONYMOUS && perms[3] == 'p');
}
