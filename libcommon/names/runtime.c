/* SPDX-License-Identifier: MIT
 * Recognizes frames of the language's runtime by tables of modules, folders and names.
 */
#include "runtime.h"
#include "libcommon/base/path.h"

#include <stddef.h>
#include <string.h>

/* Base names of modules of language runtimes: prefixes, up to ".so", "-2.36.so" and similar
 * suffixes. */
static const char *const modules[] = {
	"libc.so",     "libc-",        "libstdc++.so", "libgcc_s",
	"libc++.so",   "libc++abi.so", "libunwind.so", "libm.so",
	"libm-",       "libpthread",   "libdl.so",     "libdl-",
	"librt.so",    "librt-",       "ld-linux",     "ld-2.",
	"ld.so",       "ld-musl",      "libjemalloc",  "libtcmalloc",
	"libmimalloc", "libsnmalloc",  "libhoard",     "libasan.so",
	"libtsan.so",  "libubsan.so",  "liblsan.so",   "libmemscope-preload",
	"[vdso]",      "linux-vdso",   "libgnat",      "libgnarl",
	"libgfortran", "libquadmath",  "libgphobos",   "libgdruntime",
	"libphobos2",  "libdruntime",  "libobjc.so",   "libgomp.so",
	"libjvm.so",   "libjli.so",    "libnode.so",   "python3",
	"libpython3",
};

/* Folders of runtime sources, which may occur anywhere in the path of a source file. */
static const char *const folders[] = {
	"/usr/include/",     "/usr/lib/gcc/",      "/usr/lib/llvm",       "/usr/local/include/c++/",
	"/include/c++/",     "/libstdc++-v3/",     "/libsupc++/",         "/rustc/",
	"/library/std/src/", "/library/core/src/", "/library/alloc/src/", "../sysdeps/",
	"../csu/",           "/memscope.h",
};

/* Prefixes of the names of runtime functions: qualified, without the return type. */
static const char *const names[] = {
	"std::",
	"__gnu_cxx::",
	"__cxxabiv1::",
	"alloc::",
	"core::",
	"<std::",
	"<alloc::",
	"<core::",
	"operator new",
	"operator delete",
	"__rust_",
	"__rdl_",
	"rust_begin_unwind",
	"hashbrown::",
	"<hashbrown::",
	"__gnat_",
	"_gfortran_",
	"ada__",
	"system__",
	"_d_",
	"core.",
	"std.",
	"GOMP_",
	/* Node.js */
	"v8::",
	"node::",
	"Builtins_",
	"Builtin:",
	/* Java */
	"java.",
	"jdk.",
	"sun.",
	"Java_java_",
	"Java_jdk_",
	"Java_sun_",
};

/* Complete names of runtime functions: roots of a stack, and allocators that are linked
 * statically. */
static const char *const exact[] = {
	"_start",
	"__libc_start_main",
	"__libc_start_call_main",
	"__libc_start_main_impl",
	"__libc_csu_init",
	"start_thread",
	"clone",
	"clone3",
	"__clone",
	"__clone3",
	"_dl_start_user",
	"_dl_init",
	"_dl_relocate_object",
#define MS_HOOK_ALLOC(name, ...) #name,
#include "format/functions.def"
	"strdup",
	"strndup",
	"__strdup",
	"__strndup",
	"Interpreter", /* Java's interpreter, its callers, and stubs by which compiled code
			  leaves */
	"StubRoutines (1)",
	"StubRoutines (2)",
	"UncommonTrapBlob",
	"ExceptionBlob",
	"DeoptimizationBlob",
};

static bool any_prefix(const char *s, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (*s == *list[i] && strncmp(s, list[i], strlen(list[i])) == 0)
			return true;
	return false;
}
#define ANY_PREFIX(s, list) any_prefix((s), (list), sizeof(list) / sizeof *(list))

/* Returns the name after the return type, which demanglers write before function templates: "void
 * std::sort<...>(...)". Spaces in brackets and in "operator new" do not end a type. */
static const char *without_return_type(const char *f)
{
	const char *name = f;
	int depth = 0;
	for (const char *p = f; *p; p++) {
		if (strncmp(p, "operator", 8) == 0 && (p == f || strchr(": ", p[-1])) && depth == 0)
			break;
		if (*p == '<' || *p == '(' || *p == '[' || *p == '{') {
			if (*p == '(' && depth == 0 && p > name &&
			    strncmp(p, "(anonymous", 10) != 0)
				break; /* the parameters begin */
			depth++;
		} else if ((*p == '>' && (p == f || p[-1] != '-')) || *p == ')' || *p == ']' ||
			   *p == '}') {
			depth -= depth > 0;
		} else if (*p == ' ' && depth == 0) {
			name = p + 1;
		}
	}
	while (*name == '*' || *name == '&')
		name++;
	return name;
}

static bool runtime_function(const char *function)
{
	for (size_t i = 0; i < sizeof exact / sizeof *exact; i++)
		if (*function == *exact[i] && strcmp(function, exact[i]) == 0)
			return true;
	return ANY_PREFIX(without_return_type(function), names);
}

bool ms_is_runtime(const char *module, const char *function, const char *file)
{
	if (module && (ANY_PREFIX(ms_base_name(module), modules) ||
		       strstr(module, "/lib-dynload/"))) /* Python's own C modules */
		return true;
	if (file && !strncmp(file, "node:", 5)) /* node's own JavaScript */
		return true;
	if (file)
		for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
			if (strstr(file, folders[i]))
				return true;
	return function && runtime_function(function);
}

const char *ms_entry_point(const char *function)
{
	static const char *const entries[] = {
#define MS_HOOK_ALLOC(name, ...) #name,
#include "format/functions.def"
		"strdup", "strndup", "mmap", "mmap64", "mremap", "sbrk", "brk"};
	static const char *const operators[][2] = {{"operator new[](", "operator new[]"},
						   {"operator new(", "operator new"},
						   {"_Zna", "operator new[]"},
						   {"_Znw", "operator new"}};
	for (size_t i = 0; function && i < sizeof operators / sizeof *operators; i++)
		if (strncmp(function, operators[i][0], strlen(operators[i][0])) == 0)
			return operators[i][1];
	if (function && strncmp(function, "__libc_", 7) == 0)
		function += 7;
	else if (function && strncmp(function, "__", 2) == 0)
		function += 2;
	for (size_t i = 0; function && i < sizeof entries / sizeof *entries; i++)
		if (strcmp(function, entries[i]) == 0)
			return entries[i];
	return NULL;
}
