/* SPDX-License-Identifier: MIT
 * Links from frames to source files.
 */
#include "page.h"

#include "libcommon/base/err.h"

#include <string.h>

int links_check(const char *code_url, struct ms_err *err)
{
	static const char *const holes[] = {"{file}", "{line}"};
	bool http = strncmp(code_url, "https://", 8) == 0 || strncmp(code_url, "http://", 7) == 0;
	bool file = false;
	for (const char *s = code_url; http && (s = strpbrk(s, "{}"));) {
		unsigned i = 0;
		while (i < 2 && strncmp(s, holes[i], strlen(holes[i])) != 0)
			i++;
		if (i == 2)
			return ms_err_set(err,
					  "bad --source 'url:%s': braces are for {file} and {line}",
					  code_url);
		file |= i == 0;
		s += strlen(holes[i]);
	}
	for (const char *s = code_url; http && *s; s++)
		if (*s <= ' ' || *s > '~' || strchr("()<>|\"'`\\", *s))
			return ms_err_set(err,
					  "bad --source 'url:%s': character %u must be "
					  "percent-encoded",
					  code_url, (unsigned)(s - code_url) + 1);
	if (!http)
		return ms_err_set(err, "bad --source 'url:%s': expected http:// or https://",
				  code_url);
	if (!file)
		return ms_err_set(err,
				  "bad --source 'url:%s': expected {file}, such as "
				  "'https://x/blob/main/{file}#L{line}'",
				  code_url);
	return 0;
}

/* Tells whether a relative path leads out of its folder. */
static bool climbs(const char *path)
{
	for (const char *s = path; s; s = strchr(s, '/')) {
		s += *s == '/';
		if (strncmp(s, "..", 2) == 0 && (s[2] == '/' || !s[2]))
			return true;
	}
	return false;
}

const char *links_file(struct model *m, const struct links *l, const struct frame *f)
{
	const char *file = f ? f->file : NULL, *root = l->source_root ? l->source_root : m->cwd;
	if (!file || !*file || f->runtime)
		return NULL;
	if (*file == '/') {
		size_t n = root ? strlen(root) : 0;
		while (n > 1 && root[n - 1] == '/')
			n--;
		if (n < 2 || strncmp(file, root, n) != 0 || file[n] != '/')
			return NULL;
		file += n + 1;
	}
	while (strncmp(file, "./", 2) == 0)
		file += 2;
	return !*file || climbs(file) ? NULL : file;
}

const char *links_uri(struct model *m, const char *path)
{
	static const char kept[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/-._~+";
	char *out = ms_arena_alloc(&m->arena, strlen(path) * 3 + 1), *o = out;
	for (const char *s = path; *s; s++) {
		static const char digits[] = "0123456789ABCDEF";
		if (strchr(kept, *s)) {
			*o++ = *s;
			continue;
		}
		*o++ = '%';
		*o++ = digits[(unsigned char)*s >> 4];
		*o++ = digits[*s & 15];
	}
	*o = 0;
	return out;
}

const char *links_page(struct model *m, const struct links *l, const struct frame *f)
{
	const char *file = l->code_url ? links_file(m, l, f) : NULL;
	if (!file)
		return NULL;
	const char *out = "", *uri = links_uri(m, file);
	for (const char *s = l->code_url; *s;) {
		size_t n = strcspn(s, "{");
		out = ms_arena_printf(&m->arena, "%s%.*s", out, (int)n, s);
		s += n;
		if (!*s)
			break;
		bool line = s[1] == 'l';
		out = line ? ms_arena_printf(&m->arena, "%s%u", out, f->line ? f->line : 1)
			   : ms_arena_printf(&m->arena, "%s%s", out, uri);
		s += strlen("{file}");
	}
	return out;
}
