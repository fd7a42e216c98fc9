/* SPDX-License-Identifier: MIT
 * A table of known allocations that the C and C++ runtimes make once and never free.
 *
 * A name alone is no proof: a program that leaks in a loop may do so through these functions. So an
 * entry also limits the blocks that one call stack may hold at once, and the sizes if they are
 * fixed.
 */
#include "one_time.h"
#include "libcommon/base/path.h"

#include <string.h>

#define FEW 16 /* maximum blocks per call stack, for instance one per locale category */

static const struct entry {
	const char *name;
	const char *module;          /* prefix of the module's base name; NULL: any that is_sign
					allows */
	const char *functions;       /* names separated by spaces; a final * matches anything; NULL:
				  all */
	uint64_t blocks;             /* maximum blocks per call stack */
	uint64_t min_size, max_size; /* size range of the blocks in bytes; 0: any */
	bool inner;                  /* a frame counts only if it called the allocator */
	bool alone;                  /* applies only if no frame is, or may be, user code */
} entries[] = {
	{"libstdc++ emergency pool", "libstdc++.so", NULL, 1, 70000, 80000, true, true},
	{"libstdc++ emergency pool", NULL,
	 "_GLOBAL__sub_I__ZN9__gnu_cxx9__freeresEv _GLOBAL__sub_I_eh_alloc.cc", 1, 70000, 80000,
	 false, false},
	{"stdio buffer", NULL, "_IO_file_doallocate _IO_wfile_doallocate _IO_default_doallocate", 1,
	 0, 0, false, false},
	{"locale", NULL,
	 "setlocale __GI_setlocale _nl_find_locale _nl_load_locale _nl_intern_locale_data "
	 "_nl_load_locale_from_archive std::locale::classic std::locale::_S_initialize "
	 "std::locale::_S_initialize_once",
	 FEW, 0, 0, false, false},
	{"time zone", NULL,
	 "tzset __tzset tzset_internal __tzfile_read __tzset_parse_tz __tz_convert __tzstring "
	 "__tzstring_len localtime localtime_r mktime",
	 FEW, 0, 0, false, false},
	{"name service", NULL,
	 "__nss_* __GI___nss_* nss_database_* nss_action_* nss_load_* nss_module_*", FEW, 0, 0,
	 false, false},
	{"name service", "libc",
	 "getpwnam getpwuid getpwent getgrnam getgrgid getgrent getspnam gethostbyname "
	 "gethostbyname2 gethostbyaddr getservbyname getservbyport getprotobyname "
	 "getprotobynumber",
	 1, 0, 0, true, false},
	{"character conversion", NULL,
	 "__gconv_find_shlib __gconv_load_cache __gconv_load_conf __gconv_read_conf "
	 "__gconv_get_path __gconv_lookup_cache __wcsmbs_load_conv",
	 FEW, 0, 0, false, false},
	{"message catalogue", NULL,
	 "textdomain __textdomain bindtextdomain __bindtextdomain set_binding_values "
	 "__dcigettext _nl_find_domain _nl_load_domain",
	 FEW, 0, 0, false, false},
	{"unwinder", NULL,
	 "__libc_unwind_link_get pthread_cancel_init __register_frame_info _Unwind_Find_FDE "
	 "__deregister_frame_info",
	 FEW, 0, 0, false, false},
	{"exit handlers", NULL, "__new_exitfn __cxa_atexit __internal_atexit", 1, 0, 0, true,
	 false},
	{"thread control data", NULL, "allocate_dtv _dl_allocate_tls _dl_allocate_tls_init", FEW, 0,
	 0, false, false},
	{"dlerror state", NULL, "_dlerror_run __dlerror", 1, 0, 0, true, false},
	{"static buffer", "libc", "strerror strsignal ttyname getlogin getmntent ptsname", 1, 0, 0,
	 true, false},
	{"C start-up", NULL, "init_cacheinfo __libc_setup_tls __libc_init_first", FEW, 0, 0, false,
	 false},
	{"dynamic linker", "ld-", NULL, FEW, 0, 0, true, true},
};
enum { ENTRIES = sizeof entries / sizeof *entries };
_Static_assert(ENTRIES <= 32, "a bit for each");

static bool is_name(const char *list, const char *function)
{
	size_t length = strcspn(function, "("); /* without the parameters of a demangled name */
	for (const char *s = list; *s;) {
		size_t n = strcspn(s, " ");
		bool open = s[n - 1] == '*';
		if (open ? strncmp(s, function, n - 1) == 0
			 : n == length && strncmp(s, function, n) == 0)
			return true;
		s += n + (s[n] == ' ');
	}
	return false;
}

/* Tells whether a frame is typical of the one-time allocation `e`. Functions with reserved names
 * count in any module, also in a static executable; others in the C library only. */
static bool is_sign(const struct entry *e, const char *base, const char *function)
{
	if (e->module && strncmp(base, e->module, strlen(e->module)) != 0)
		return false;
	if (!e->functions)
		return true;
	if (!function || !is_name(e->functions, function))
		return false;
	return function[0] == '_' || strncmp(function, "std::", 5) == 0 ||
	       strncmp(base, "libc.so", 7) == 0 || strncmp(base, "libc-", 5) == 0;
}

uint32_t ms_one_time_signs(const char *module, const char *function)
{
	const char *base = module ? ms_base_name(module) : "";
	uint32_t signs = 0;
	for (unsigned i = 0; i < ENTRIES; i++)
		if (is_sign(&entries[i], base, function))
			signs |= UINT32_C(1) << i;
	return signs;
}

uint32_t ms_one_time_inner(void)
{
	uint32_t inner = 0;
	for (unsigned i = 0; i < ENTRIES; i++)
		if (entries[i].inner)
			inner |= UINT32_C(1) << i;
	return inner;
}

const char *ms_one_time(uint32_t signs, const struct ms_one_time_site *s)
{
	for (unsigned i = 0; i < ENTRIES; i++) {
		const struct entry *e = &entries[i];
		bool sizes =
			!e->max_size || (s->min_size >= e->min_size && s->max_size <= e->max_size);
		if ((signs >> i & 1) && s->blocks <= e->blocks && sizes && !(e->alone && s->user))
			return e->name;
	}
	return NULL;
}
