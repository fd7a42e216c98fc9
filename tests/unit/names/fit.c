/* SPDX-License-Identifier: MIT
 * Names of functions fitted into columns: a table of what goes in and what comes out; then, for
 * names of all kinds and broken ones, that no width is passed.
 */
#include "libcommon/base/arena.h"
#include "libcommon/base/utf8.h"
#include "libcommon/names/shorten.h"

#include "tests/unit/check.h"

#include <locale.h>
#include <string.h>

#define STRING "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"
#define INSERT                                                                                     \
	"void ns::Cache<" STRING ", ns::Quote, std::hash<" STRING " >, std::equal_to<" STRING      \
	" >, std::allocator<std::pair<" STRING                                                     \
	" const, ns::Quote> > >::insert_or_assign_with_expiry<int>(int)"
#define VECTOR                                                                                     \
	"std::vector<char, std::allocator<char> >::vector(unsigned long, "                         \
	"std::allocator<char> const&)"
#define MAKE "std::shared_ptr<desk::Session> std::make_shared<desk::Session, int&>(int&)"
#define EMPLACE                                                                                    \
	"std::pair<int, bool> std::unordered_map<" STRING ", Entry, std::hash<" STRING             \
	" > >::emplace<" STRING ">(" STRING "&&)"
#define DECODE "<net::http::Conn<I,B> as codec::decoder::Decode>::decode"
#define CLOSURE "desk::load(int)::{lambda(desk::Row const&)#2}::operator()(desk::Row const&) const"
#define NESTED "ns::f<std::pair<int, std::vector<ns::A, std::allocator<ns::A> > > >()"

static const struct {
	const char *in;
	size_t columns;
	const char *want;
} names[] = {
	{INSERT, 99, "ns::Cache<std::string, ns::Quote>::insert_or_assign_with_expiry<int>"},
	{INSERT, 66, "ns::Cache<string, Quote>::insert_or_assign_with_expiry<int>"},
	{INSERT, 58, "ns::Cache<string, …>::insert_or_assign_with_expiry<int>"},
	{INSERT, 54, "ns::Cache<…>::insert_or_assign_with_expiry<…>"},
	{INSERT, 44, "ns::Cache<…>::insert_or_assign_with_expiry"},
	{INSERT, 41, "…::Cache<…>::insert_or_assign_with_expiry"},
	{INSERT, 40, "…::insert_or_assign_with_expiry"},
	{INSERT, 33, "…::insert_or_assign_with_expiry"},
	{INSERT, 30, "…insert_or_assign_with_expiry"},
	{INSERT, 12, "…with_expiry"},
	{INSERT, 1, "…"},
	{INSERT, 0, ""},
	{VECTOR, 25, "std::vector<char>::vector"},
	{VECTOR, 24, "…::vector<char>::vector"},
	{VECTOR, 22, "std::vector<…>::vector"},
	{VECTOR, 21, "…::vector<…>::vector"},
	{VECTOR, 19, "…::vector"},
	{MAKE, 31, "std::make_shared<desk::Session>"},
	{MAKE, 30, "std::make_shared<Session>"},
	{MAKE, 24, "…::make_shared<Session>"},
	{MAKE, 22, "std::make_shared<…>"},
	{MAKE, 18, "std::make_shared"},
	{MAKE, 14, "…::make_shared"},
	{EMPLACE, 60, "std::unordered_map<std::string, Entry>::emplace"},
	{EMPLACE, 46, "std::unordered_map<string, Entry>::emplace"},
	{EMPLACE, 40, "std::unordered_map<string, …>::emplace"},
	{EMPLACE, 30, "std::unordered_map<…>::emplace"},
	{DECODE, 56, "<net::http::Conn<I,B> as codec::decoder::Decode>::decode"},
	{DECODE, 55, "<Conn<I,B> as Decode>::decode"},
	{DECODE, 28, "<Conn<…> as Decode>::decode"},
	{DECODE, 26, "<Conn<…> as …>::decode"},
	{DECODE, 20, "<Conn as …>::decode"},
	{DECODE, 18, "…Conn::decode"},
	{DECODE, 12, "…::decode"},
	{"m::<impl m::codec::Decode for m::http::Frame<T>>::decode", 60,
	 "<m::http::Frame<T> as m::codec::Decode>::decode"},
	{"m::<impl m::codec::Decode for m::http::Frame<T>>::decode", 30,
	 "<Frame<T> as Decode>::decode"},
	{"m::<impl m::http::Frame>::parse", 20, "<Frame>::parse"},
	{"alloc::vec::from_elem::<u8>", 26, "alloc::vec::from_elem::<…>"},
	{"alloc::vec::from_elem::<u8>", 24, "alloc::vec::from_elem"},
	{"alloc::vec::from_elem::<u8>", 18, "…::vec::from_elem"},
	{"alloc::vec::from_elem::<u8>", 13, "…::from_elem"},
	{CLOSURE, 40, "desk::load::{lambda#2}::operator()"},
	{CLOSURE, 30, "…::{lambda#2}::operator()"},
	{NESTED, 40, "ns::f<pair<int, vector<A>>>"},
	{NESTED, 41, "ns::f<std::pair<int, std::vector<ns::A>>>"},
	{NESTED, 20, "ns::f<pair<…>>"},
	{"std::ostream& std::operator<< <std::char_traits<char> >(std::ostream&, char)", 15,
	 "std::operator<<"},
	{"alloc::raw_vec::RawVec<T,A>::grow_one::h0123456789abcdef", 30, "…::RawVec<…>::grow_one"},
	{"github.com/a/b/pkg.(*Server).ServeHTTP", 27, "…/pkg.(*Server).ServeHTTP"},
	{"av_buffer_pool_init_with_free_callback", 20, "…_with_free_callback"},
	{"libtorrent.so.2+0x12345", 12, "…o.2+0x12345"},
	{"漢字::漢字漢字::関数", 12, "…::関数"},
	{"漢字漢字", 6, "…漢字"},
	{"f(int", 4, "…int"},
	{"g<<<<", 3, "…<<"},
	{"main", 4, "main"},
	{"(no stack)", 10, "(no stack)"},
};

static const char *const broken[] = {
	"a::<impl ",
	"a::<impl >::b",
	"a::<impl  for >",
	"a::<",
	"",
	"<",
	">",
	"<>",
	"::",
	"a::",
	"::a",
	"<a",
	"a>",
	"a<b::",
	"a<,>",
	"a<b,>",
	"a<,,c>::d<",
	"<A as >::b",
	"< as B>::b",
	"<A as B",
	"operator",
	"operator<",
	"operator()::x<int>",
	"a/",
	"/",
	"a<(b>",
	"a<b)>::c",
	"a<b->c>::d",
	"\xff\xfe<\xff>",
	"a<\xe6\xbc>::b",
	"a b<c d>::e f",
	"{lambda(",
	"a{b}::c",
	"[x]",
	"a[b",
	"std::",
	"std::f<>",
	"std::a<b>::c<d>",
	"a<b<c<d<e<f<g<h<i<j<k>>>>>>>>>>::l",
};

#define TABLE(of) "void ns::Table<std::string, ns::" of ">::insert_or_assign(int)"

/* Rows of one list, in so many columns. */
static const struct {
	size_t columns;
	const char *in[4], *want[4];
} rows[] = {
	{60,
	 {TABLE("Quote"), TABLE("Trade"), TABLE("Quote"), "main"},
	 {"ns::Table<string, Quote>::insert_or_assign",
	  "ns::Table<string, Trade>::insert_or_assign",
	  "ns::Table<string, Quote>::insert_or_assign", "main"}},
	{29,
	 {TABLE("Quote"), TABLE("Trade"), TABLE("Quote"), "main"},
	 {"…<…Quote>::insert_or_assign", "…<…Trade>::insert_or_assign",
	  "…<…Quote>::insert_or_assign", "main"}},
	{24,
	 {TABLE("SnapshotOfQuotes"), TABLE("SnapshotOfTrades"), TABLE("Level"), "f"},
	 {"…Quotes…::…ert_or_assign", "…Trades…::…ert_or_assign", "…<…Level>::…rt_or_assign", "f"}},
	{20,
	 {"a::reader::open", "b::reader::open", "b::reader::open", "open"},
	 {"a::reader::open", "b::reader::open", "b::reader::open", "open"}},
	{13,
	 {"alpha::session::open_file", "beta::session::open_file", "open_file", "open_file"},
	 {"alpha::…::…le", "beta::…::…ile", "open_file", "open_file"}},
	{6, {TABLE("Quote"), TABLE("Trade"), "f", "g"}, {"…ssign", "…ssign", "f", "g"}},
};

int main(void)
{
	struct ms_arena a = {0};
	setlocale(LC_CTYPE, "C.UTF-8");
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *got = ms_name_fit(&a, names[i].in, names[i].columns, false);
		CHECK(strcmp(got, names[i].want) == 0, "%s in %zu: '%s', expected '%s'",
		      names[i].in, names[i].columns, got, names[i].want);
	}
	size_t n = sizeof names / sizeof *names, all = n + sizeof broken / sizeof *broken;
	for (size_t i = 0; i < all; i++)
		for (size_t columns = 0; columns < 80; columns++)
			for (int ascii = 0; ascii < 2; ascii++) {
				const char *in = i < n ? names[i].in : broken[i - n];
				const char *got = ms_name_fit(&a, in, columns, ascii);
				CHECK(ms_utf8_columns(got) <= columns, "%s in %zu: '%s'", in,
				      columns, got);
				got = ms_name_fit(&a, ms_name_short(&a, in), columns, ascii);
				CHECK(ms_utf8_columns(got) <= columns, "short %s in %zu: '%s'", in,
				      columns, got);
			}
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *v[4];
		memcpy(v, rows[i].in, sizeof v);
		ms_names_fit(&a, v, 4, rows[i].columns, false);
		for (int k = 0; k < 4; k++)
			CHECK(strcmp(v[k], rows[i].want[k]) == 0, "row %zu.%d: '%s', expected '%s'",
			      i, k, v[k], rows[i].want[k]);
	}
	for (size_t columns = 0; columns < 80; columns++) {
		const char *v[sizeof names / sizeof *names + sizeof broken / sizeof *broken];
		for (size_t i = 0; i < all; i++)
			v[i] = i < n ? names[i].in : broken[i - n];
		ms_names_fit(&a, v, all, columns, columns % 2);
		for (size_t i = 0; i < all; i++)
			CHECK(ms_utf8_columns(v[i]) <= columns, "%zu in %zu: '%s'", i, columns,
			      v[i]);
	}
	CHECK(strcmp(ms_name_fit(&a, VECTOR, 18, true), "..::vector") == 0, "in ASCII");
	CHECK(strcmp(ms_name_fit(&a, VECTOR, 23, true), "std::vector<..>::vector") == 0,
	      "in ASCII");
	ms_arena_free(&a);
	return failures != 0;
}
