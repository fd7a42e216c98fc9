/* SPDX-License-Identifier: MIT
 * Names and budgets of ms-report, one table each: what goes in, what must come out.
 */
#include "ms-report/ci/budget.h"
#include "ms-report/model/figures.h"
#include "ms-report/words/names.h"

#include "libcommon/base/err.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>

static int failed;

static void same(const char *what, const char *in, const char *got, const char *want)
{
	if (strcmp(got, want) == 0)
		return;
	printf("%s of '%s': '%s', expected '%s'\n", what, in, got, want);
	failed++;
}

static const char *const shorts[][2] = {
	{"main", "main"},
	{"", ""},
	{"f()", "f"},
	{"ns::f(int, char const*)", "ns::f"},
	{"std::vector<Level>::push_back(Level const&)", "std::vector<Level>::push_back"},
	{"std::vector<int, std::allocator<int> >::push_back(int&&)", "std::vector<int>::push_back"},
	{"void ns::g<int>(int)", "ns::g<int>"},
	{"std::pair<int, std::map<int, int> > ns::h(int) const", "ns::h"},
	{"ns::S::operator()(int) const", "ns::S::operator()"},
	{"ns::operator<(A const&, A const&)", "ns::operator<"},
	{"std::ostream& std::operator<< <std::char_traits<char> >(std::ostream&, char const*)",
	 "std::operator<<"},
	{"std::basic_string<char, std::char_traits<char> > std::operator+<char, "
	 "std::char_traits<char> >(char const*)",
	 "std::operator+"},
	{"A::operator->() const", "A::operator->"},
	{"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> "
	 ">::_M_append(char const*, unsigned long)",
	 "std::string::_M_append"},
	{"std::basic_string<char, std::char_traits<char>, std::allocator<char>>::reserve(unsigned "
	 "long)",
	 "std::string::reserve"},
	{"ns::Set<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > "
	 ">::add(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > "
	 "const&)",
	 "ns::Set<std::string>::add"},
	{"std::__cxx11::basic_string<wchar_t, std::char_traits<wchar_t>, std::allocator<wchar_t> "
	 ">::reserve()",
	 "std::__cxx11::basic_string<wchar_t>::reserve"},
	{"operator new(unsigned long)", "operator new"},
	{"operator new[](unsigned long, std::nothrow_t const&)", "operator new[]"},
	{"A::operator bool() const", "A::operator bool"},
	{"A::operator new(unsigned long)", "A::operator new"},
	{"(anonymous namespace)::f(int)", "(anon)::f"},
	{"ns::(anonymous namespace)::T<int>::f(int)", "ns::(anon)::T<int>::f"},
	{"main::{lambda(int)#1}::operator()(int) const", "main::{lambda#1}::operator()"},
	{"f(int)::{lambda(std::string const&)#2}::operator()(std::string const&) const",
	 "f::{lambda#2}::operator()"},
	{"f(int) const::{lambda()#1}::operator()() const", "f::{lambda#1}::operator()"},
	{"f[abi:cxx11](int)", "f"},
	{"parse.isra.0", "parse.isra.0"},
	{"parse(int) [clone .isra.0]", "parse"},
	{"parse [clone .part.0]", "parse"},
	{"void ns::apply<ns::binary_operator<int>, 3>(int)",
	 "ns::apply<ns::binary_operator<int>, 3>"},
	{"f<operator_tag<int> >()", "f<operator_tag<int>>"},
	{"A<&(B::operator<(int))>::f(int)", "A<&(B::operator<(int))>::f"},
	/* .NET */
	{"void [System.Private.CoreLib] System.Threading.Thread::StartCallback()[PreJIT]",
	 "System.Threading.Thread::StartCallback"},
	{"instance !0 [System.Linq] A.List`1[System.__Canon]::get(int32)[Optimized]",
	 "A.List`1::get"},
	{"alloc::raw_vec::RawVec<T,A>::grow_one::h0123456789abcdef",
	 "alloc::raw_vec::RawVec<T,A>::grow_one"},
	{"<alloc::vec::Vec<u8> as core::clone::Clone>::clone", "<Vec<u8> as Clone>::clone"},
	{"core::ops::function::FnOnce::call_once{{vtable.shim}}",
	 "core::ops::function::FnOnce::call_once{{vtable.shim}}"},
	{"main.(*Server).handle", "main.(*Server).handle"},
	{"decltype(auto) ns::visit<A>(A&&)", "ns::visit<A>"},
	{"-[NSObject init]", "-[NSObject init]"},
	/* what is not closed stays whole */
	{"f(int", "f(int"},
	{"g<int", "g<int"},
	{"h<(", "h<("},
	{")", ")"},
	{"a>b", "a>b"},
	{"(", "("},
};

static const struct {
	const char *in;
	bool ascii;
	const char *want;
} cleans[] = {
	{"plain", false, "plain"},
	{"::error::x", false, "\\x3a:error::x"},
	{"  ::x", false, "  \\x3a:x"},
	{"a::b ::c", false, "a::b ::c"},
	{"a##[x]#[y]", false, "a\\x23#[x]#[y]"},
	{"a\nb\tc\x1b[0m\x7f", false,
	 "a\\x0a"
	 "b\\x09"
	 "c\\x1b[0m\\x7f"},
	{"na\xc3\xafve \xe2\x80\xa6 \xf0\x9f\x98\x80", false,
	 "na\xc3\xafve \xe2\x80\xa6 \xf0\x9f\x98\x80"},
	{"na\xc3\xafve \xe2\x80\xa6", true, "na?ve .."},
	{"\xff\xc3", false, "\\xff\\xc3"},
	{"\xc0\xaf \xed\xa0\x80 \xf5", false, "\\xc0\\xaf \\xed\\xa0\\x80 \\xf5"},
	{"x\xe2\x80\xaey", false, "x\\u{202e}y"},                      /* right-to-left override */
	{"x\xe2\x80\x8by\xef\xbb\xbf", false, "x\\u{200b}y\\u{feff}"}, /* invisible */
	{"x\xc2\x9by", false, "x\\u{9b}y"}, /* a control sequence of eight bits */
};

static const struct {
	const char *in, *figure;
	enum ms_op op;
	uint64_t value; /* UNKNOWN: refused */
} budgets[] = {
	{"peak_bytes > 64k", "peak_bytes", MS_OP_GT, 65536},
	{"  peak_bytes>=1.5M\t", "peak_bytes", MS_OP_GE, 1572864},
	{"frees<7", "frees", MS_OP_LT, 7},
	{"frees <= 7", "frees", MS_OP_LE, 7},
	{"unreachable_bytes != 0", "unreachable_bytes", MS_OP_NE, 0},
	{"allocations = 3", "allocations", MS_OP_EQ, 3},
	{"allocations == 18446744073709551614", "allocations", MS_OP_EQ, UNKNOWN - 1},
	{"peak_time_ns > 2s", "peak_time_ns", MS_OP_GT, 2000000000},
	{"peak_time_ns > 5", "peak_time_ns", MS_OP_GT, 5},
	{"peak_bytes > 0x10", NULL, 0, UNKNOWN},
	{"peak_bytes >> 1", NULL, 0, UNKNOWN},
	{"peak_bytes > 1 2", NULL, 0, UNKNOWN},
	{"frees > 1k", NULL, 0, UNKNOWN},
	{"peak", NULL, 0, UNKNOWN},
	{"peak_bytes", NULL, 0, UNKNOWN},
	{"> 1", NULL, 0, UNKNOWN},
	{"", NULL, 0, UNKNOWN},
};

static void check_budget(size_t i)
{
	struct budget b;
	struct ms_err err = {0};
	bool want = budgets[i].value != UNKNOWN;
	bool ok = budget_parse(budgets[i].in, &b, &err) == 0;
	if (ok == want && (!ok || (strcmp(figures[b.figure].name, budgets[i].figure) == 0 &&
				   b.op == budgets[i].op && b.value == budgets[i].value)))
		return;
	printf("budget '%s': not as expected\n", budgets[i].in);
	failed++;
}

static void check_cuts(struct ms_arena *a)
{
	same("cut", "abcdef 4", name_cut(a, "abcdef", 4, false), "abc\xe2\x80\xa6");
	same("cut", "abcdef 4 ascii", name_cut(a, "abcdef", 4, true), "ab..");
	same("cut", "abcdef 6", name_cut(a, "abcdef", 6, false), "abcdef");
	same("cut", "e-acute", name_cut(a, "\xc3\xa9\xc3\xa9\xc3\xa9", 2, false),
	     "\xc3\xa9\xe2\x80\xa6");
	same("cut", "wide", name_cut(a, "\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2", 4, false),
	     "\xe6\xbc\xa2\xe2\x80\xa6");
	same("cut", "none", name_cut(a, "abc", 0, false), "");
	same("cut at start", "a path", name_cut_start(a, "/home/ann/src/cache.cpp:77", 18, false),
	     "\xe2\x80\xa6/src/cache.cpp:77");
	same("cut at start", "no folder", name_cut_start(a, "abcdefgh", 4, true), "..gh");
}

/* Lists a frame's file, function and kind of module, and the language that follows from these. */
static const char *const languages[][4] = {
	{"a.c", "f", "file", "C"},
	{"/src/a.b/c.cc", "f", "file", "C++"},
	{"lib.rs", "core::f", "file", "Rust"},
	{"net.go", "net.f", "file", "Go"},
	{"/app/cache.py", "load", "source", "Python"},
	{"made of text", "<module>", "source", "Python"},
	{"cache.js", "load", "jit", "JavaScript"},
	{"a.h", "f", "file", "C or C++"},
	{"a.h", "ns::f", "file", "C++"},
	{"/usr/include/c++/12/vector", "std::vector<int>::push_back", "file", "C++"},
	{".c", "f", "file", "(unknown)"},
	{"a.cx", "f", "file", "(unknown)"},
	{NULL, "ns::f(int)", "file", "(unknown)"},
	{NULL, NULL, NULL, "(unknown)"},
};

int main(void)
{
	struct ms_arena a = {0};
	setlocale(LC_CTYPE, "C.UTF-8");
	for (size_t i = 0; i < sizeof shorts / sizeof *shorts; i++)
		same("short name", shorts[i][0], ms_name_short(&a, shorts[i][0]), shorts[i][1]);
	for (size_t i = 0; i < sizeof cleans / sizeof *cleans; i++)
		same("clean name", cleans[i].in, name_clean(&a, cleans[i].in, cleans[i].ascii),
		     cleans[i].want);
	for (size_t i = 0; i < sizeof languages / sizeof *languages; i++) {
		const char *const *l = languages[i];
		same("language", l[0] ? l[0] : "no file",
		     frame_language(&(struct frame){.file = l[0], .function = l[1]}, l[2]), l[3]);
	}
	for (size_t i = 0; i < sizeof budgets / sizeof *budgets; i++)
		check_budget(i);
	check_cuts(&a);
	ms_arena_free(&a);
	printf("%d wrong\n", failed);
	return failed != 0;
}
