/* SPDX-License-Identifier: MIT
 * Wrappers of malloc: a table of known names, and those from the user.
 */
#include "wrappers.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/order.h"
#include "libcommon/base/pattern.h"

/* Complete names of known allocation wrappers, sorted: from GNU programs, git and similar programs,
 * GLib, SQLite, Python, OpenSSL, libxml2, Perl, Ruby, PHP, Lua, FFmpeg, nginx, PostgreSQL, Apache,
 * talloc and jq. */
static const char *const known[] = {"CRYPTO_clear_realloc",
				    "CRYPTO_malloc",
				    "CRYPTO_memdup",
				    "CRYPTO_realloc",
				    "CRYPTO_strdup",
				    "CRYPTO_strndup",
				    "CRYPTO_zalloc",
				    "MemoryContextAlloc",
				    "MemoryContextAllocZero",
				    "Perl_safesyscalloc",
				    "Perl_safesysmalloc",
				    "Perl_safesysrealloc",
				    "Perl_savepv",
				    "Perl_savepvn",
				    "PyMem_Calloc",
				    "PyMem_Malloc",
				    "PyMem_RawCalloc",
				    "PyMem_RawMalloc",
				    "PyMem_RawRealloc",
				    "PyMem_Realloc",
				    "PyObject_Calloc",
				    "PyObject_Malloc",
				    "PyObject_Realloc",
				    "_PyMem_RawCalloc",
				    "_PyMem_RawMalloc",
				    "_PyMem_RawRealloc",
				    "_PyMem_RawStrdup",
				    "_PyMem_RawWcsdup",
				    "_PyMem_Strdup",
				    "_PyObject_Calloc",
				    "_PyObject_Malloc",
				    "_PyObject_Realloc",
				    "__zend_malloc",
				    "_ecalloc",
				    "_emalloc",
				    "_erealloc",
				    "_estrdup",
				    "_talloc",
				    "_talloc_array",
				    "_talloc_memdup",
				    "_talloc_realloc",
				    "_talloc_realloc_array",
				    "_talloc_zero",
				    "_talloc_zero_array",
				    "apr_palloc",
				    "apr_pcalloc",
				    "apr_pmemdup",
				    "apr_pstrdup",
				    "av_calloc",
				    "av_malloc",
				    "av_malloc_array",
				    "av_mallocz",
				    "av_memdup",
				    "av_realloc",
				    "av_realloc_array",
				    "av_realloc_f",
				    "av_strdup",
				    "checked_malloc",
				    "dbMallocRawFinish",
				    "dbReallocFinish",
				    "do_xmalloc",
				    "do_xmallocz",
				    "ecalloc",
				    "emalloc",
				    "erealloc",
				    "estrdup",
				    "g_malloc",
				    "g_malloc0",
				    "g_malloc0_n",
				    "g_malloc_n",
				    "g_memdup",
				    "g_memdup2",
				    "g_realloc",
				    "g_realloc_n",
				    "g_slice_alloc",
				    "g_slice_alloc0",
				    "g_slice_copy",
				    "g_strdup",
				    "g_strdup_printf",
				    "g_strdup_vprintf",
				    "g_strndup",
				    "g_try_malloc",
				    "g_try_malloc0",
				    "g_try_malloc_n",
				    "g_try_realloc",
				    "g_try_realloc_n",
				    "g_vasprintf",
				    "jv_mem_alloc",
				    "jv_mem_alloc_unguarded",
				    "jv_mem_calloc",
				    "jv_mem_realloc",
				    "jv_mem_strdup",
				    "luaM_malloc_",
				    "luaM_realloc_",
				    "mallocWithAlarm",
				    "mallocz",
				    "memdup",
				    "ngx_alloc",
				    "ngx_calloc",
				    "objspace_xcalloc",
				    "objspace_xmalloc0",
				    "objspace_xrealloc",
				    "palloc",
				    "palloc0",
				    "pcache1Alloc",
				    "pstrdup",
				    "pymalloc_alloc",
				    "pymalloc_realloc",
				    "repalloc",
				    "ruby_xcalloc",
				    "ruby_xmalloc",
				    "ruby_xmalloc2",
				    "ruby_xrealloc",
				    "ruby_xrealloc2",
				    "safe_calloc",
				    "safe_malloc",
				    "safe_realloc",
				    "safe_strdup",
				    "sqlite3DbMallocRaw",
				    "sqlite3DbMallocRawNN",
				    "sqlite3DbMallocZero",
				    "sqlite3DbRealloc",
				    "sqlite3DbReallocOrFree",
				    "sqlite3DbSpanDup",
				    "sqlite3DbStrDup",
				    "sqlite3DbStrNDup",
				    "sqlite3MPrintf",
				    "sqlite3Malloc",
				    "sqlite3MallocZero",
				    "sqlite3MemMalloc",
				    "sqlite3MemRealloc",
				    "sqlite3PageMalloc",
				    "sqlite3Realloc",
				    "sqlite3ScratchMalloc",
				    "sqlite3VMPrintf",
				    "sqlite3_malloc",
				    "sqlite3_malloc64",
				    "sqlite3_mprintf",
				    "sqlite3_realloc",
				    "sqlite3_realloc64",
				    "sqlite3_vmprintf",
				    "talloc_asprintf",
				    "talloc_asprintf_append",
				    "talloc_asprintf_append_buffer",
				    "talloc_named",
				    "talloc_named_const",
				    "talloc_strdup",
				    "talloc_strdup_append",
				    "talloc_strdup_append_buffer",
				    "talloc_strndup",
				    "talloc_vasprintf",
				    "x2nrealloc",
				    "x2realloc",
				    "xasprintf",
				    "xcalloc",
				    "xcharalloc",
				    "xicalloc",
				    "ximalloc",
				    "ximemdup",
				    "ximemdup0",
				    "xirealloc",
				    "xireallocarray",
				    "xizalloc",
				    "xmalloc",
				    "xmallocarray",
				    "xmallocz",
				    "xmallocz_gently",
				    "xmemdup",
				    "xmemdup0",
				    "xmemdupz",
				    "xmlMemMalloc",
				    "xmlMemRealloc",
				    "xmlStrdup",
				    "xmlStrndup",
				    "xnmalloc",
				    "xnrealloc",
				    "xpalloc",
				    "xrealloc",
				    "xreallocarray",
				    "xstrdup",
				    "xstrdup_or_null",
				    "xstrfmt",
				    "xstrndup",
				    "xstrvfmt",
				    "xvasprintf",
				    "xzalloc",
				    "zcalloc",
				    "zmalloc",
				    "zrealloc",
				    "zstrdup"};

int ms_wrapper_take(const struct ms_cli_arg *arg, struct ms_err *err)
{
	struct ms_wrappers *w = arg->to;
	struct ms_wrapper one = {.text = arg->text};
	char room[MS_PATTERN_WHY];
	const char *why = *arg->text ? ms_pattern_compile(&one.regex, arg->text, 0, room)
				     : "it would match every function";
	if (why)
		return ms_err_set(err, "option '--%s': bad regular expression '%s': %s",
				  arg->row->name, arg->text, why);
	*MS_PUSH(w) = one;
	return 0;
}

void ms_wrappers_tell(const struct ms_wrappers *w, const struct ms_cli *cli)
{
	for (size_t i = 0; i < w->n; i++)
		if (!w->v[i].met)
			ms_cli_remark(cli, "--wrapper '%s': no function of that name was found",
				      w->v[i].text);
}

void ms_wrappers_free(struct ms_wrappers *w)
{
	for (size_t i = 0; i < w->n; i++)
		regfree(&w->v[i].regex);
	MS_FREE(w->v);
	*w = (struct ms_wrappers){0};
}

static int by_name(const void *key, const void *element)
{
	const char *function = key, *name = *(const char *const *)element;
	/* without parameters and suffixes of the compiler's copies (.part.0) */
	size_t length = strcspn(function, "(.@"), n = strlen(name);
	int c = memcmp(function, name, length < n ? length : n);
	return c ? c : MS_ORDER(length, n);
}

/* Recognizes the operator new of a class: "Node::operator new(unsigned long)". */
static bool is_operator_new(const char *function)
{
	const char *name = strstr(function, "::operator new");
	return name && strchr("([", name[strlen("::operator new")]);
}

bool ms_is_wrapper(const char *function, const struct ms_wrappers *also)
{
	bool found = false;
	if (!function || !*function)
		return false;
	/* no early exit: every match must be noted, so that unmatched expressions can be
	 * reported */
	for (size_t i = 0; also && i < also->n; i++)
		if (regexec(&also->v[i].regex, function, 0, NULL, 0) == 0)
			also->v[i].met = found = true;
	return found || is_operator_new(function) ||
	       bsearch(function, known, sizeof known / sizeof *known, sizeof *known, by_name);
}
