/* SPDX-License-Identifier: MIT
 * Which frames are the user's own: the table of cases. And the parsing of POINT.
 */
#include "libcommon/base/err.h"
#include "libcommon/base/point.h"
#include "libcommon/names/runtime.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *module, *function, *file;
	bool runtime;
} frames[] = {
	{"/lib/x86_64-linux-gnu/libc.so.6", "strdup", "string/strdup.c", true},
	{"/usr/lib/libstdc++.so.6.0.30", "operator new(unsigned long)", NULL, true},
	{"/lib64/ld-linux-x86-64.so.2", NULL, NULL, true},
	{"/opt/lib/libjemalloc.so.2", "je_malloc", NULL, true},
	{"[vdso]", NULL, NULL, true},
	{"/usr/lib/libcurl.so.4", "curl_easy_init", NULL, false},
	{"/usr/lib/libcairo.so.2", NULL, NULL, false},
	{"/usr/lib/libmine.so", NULL, NULL, false},
	{"/bin/app", "main", "/home/u/main.c", false},
	{"/bin/app", "_start", NULL, true},
	{"/bin/app", "start", NULL, false},
	{"/bin/app", NULL, NULL, false},
	{NULL, NULL, NULL, false},
	{"/bin/app", "std::vector<int, std::allocator<int> >::push_back(int const&)",
	 "/usr/include/c++/12/bits/stl_vector.h", true},
	{"/bin/app", "std::vector<int, std::allocator<int> >::push_back(int const&)", NULL, true},
	{"/bin/app", "void std::vector<int>::_M_realloc_insert<int const&>(int*, int const&)", NULL,
	 true},
	{"/bin/app", "std::vector<int> make<int>(int)", "make.h", false},
	{"/bin/app", "my::stdlike::f(std::string)", NULL, false},
	{"/bin/app", "f(std::string const&)", NULL, false},
	{"/bin/app", "app::Cache::operator new(unsigned long)", NULL, false},
	{"/bin/app", "operator new[](unsigned long)", NULL, true},
	{"/bin/app", "__gnu_cxx::new_allocator<int>::allocate(unsigned long, void const*)", NULL,
	 true},
	{"/bin/app", "<alloc::vec::Vec<T> as core::clone::Clone>::clone", NULL, true},
	{"/bin/app", "alloc::raw_vec::finish_grow", "/rustc/abc/library/alloc/src/raw_vec.rs",
	 true},
	{"/bin/app", "<app::Parser as core::iter::Iterator>::next", "src/parser.rs", false},
	{"/bin/app", "(anonymous namespace)::helper(int)", NULL, false},
	{"/bin/app", "app::operator<<(std::ostream&, app::T const&)", NULL, false},
	{"/bin/app", "corelib::init()", NULL, false},
	{"/usr/lib/x86_64-linux-gnu/libgnat-12.so", "system__pool_global__allocate", NULL, true},
	{"/bin/app", "__gnat_malloc", NULL, true},
	{"/bin/app", "main__grow", "main.adb", false},
	{"/usr/lib/x86_64-linux-gnu/libgfortran.so.5", NULL, NULL, true},
	{"/bin/app", "core.memory.GC.malloc", NULL, true},
};

static const struct {
	const char *text;
	int kind; /* -1 = refused */
	uint64_t ns, nth;
} points[] = {
	{"peak", MS_POINT_PEAK, 0, 0},
	{"end", MS_POINT_END, 0, 0},
	{"start", MS_POINT_START, 0, 0},
	{"1.5s", MS_POINT_AFTER, 1500000000, 0},
	{"3", MS_POINT_AFTER, UINT64_C(3000000000), 0},
	{"-10m", MS_POINT_BEFORE, UINT64_C(600000000000), 0},
	{"14:30:05", MS_POINT_CLOCK, UINT64_C(52205000000000), 0},
	{"00:01", MS_POINT_CLOCK, UINT64_C(60000000000), 0},
	{"mark:a", MS_POINT_MARK, 0, 1},
	{"mark:a#3", MS_POINT_MARK, 0, 3},
	{"mark:a#last", MS_POINT_MARK, 0, 0},
	{"mark:a#b", MS_POINT_MARK, 0, 1},
	{"mark:#1", -1, 0, 0},
	{"mark:a#0", -1, 0, 0},
	{"24:00", -1, 0, 0},
	{"1:30", -1, 0, 0},
	{"12:60", -1, 0, 0},
	{"12:30:0x", -1, 0, 0},
	{"Peak", -1, 0, 0},
	{"1.5x", -1, 0, 0},
	{"--1s", -1, 0, 0},
	{"- 1s", -1, 0, 0},
	{"", -1, 0, 0},
};

int main(void)
{
	int failures = 0;
	for (size_t i = 0; i < sizeof frames / sizeof *frames; i++)
		if (ms_is_runtime(frames[i].module, frames[i].function, frames[i].file) !=
		    frames[i].runtime) {
			failures++;
			printf("%s in %s: want %d\n",
			       frames[i].function ? frames[i].function : "(none)",
			       frames[i].module ? frames[i].module : "(none)", frames[i].runtime);
		}
	for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
		struct ms_err err = {0};
		struct ms_point p;
		int rc = ms_point_parse(points[i].text, &p, &err);
		bool right = points[i].kind < 0
				     ? rc != 0 && strstr(err.text, "use peak, end")
				     : rc == 0 && (int)p.kind == points[i].kind &&
					       p.ns == points[i].ns && p.nth == points[i].nth;
		if (!right) {
			failures++;
			printf("point '%s': kind %d, %llu ns, %llu: %s\n", points[i].text,
			       (int)p.kind, (unsigned long long)p.ns, (unsigned long long)p.nth,
			       err.text);
		}
	}
	return failures != 0;
}
