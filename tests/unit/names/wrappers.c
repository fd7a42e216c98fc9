/* SPDX-License-Identifier: MIT
 * Names of functions that may be wrappers of malloc, and of those that are by their name alone.
 */
#include "libcommon/names/wrappers.h"
#include "tests/unit/check.h"

static const struct {
	const char *function;
	enum ms_wrapper_hint hint;
	bool known;
} names[] = {
	{NULL, MS_HINT_NONE, false},
	{"", MS_HINT_NONE, false},
	{"main", MS_HINT_NONE, false},
	{"make_key", MS_HINT_NONE, false},
	{"parse_string", MS_HINT_NONE, false},
	{"newNode", MS_HINT_NONE, false},
	{"xmalloc", MS_HINT_MALLOC, true},
	{"xmalloc.part.0", MS_HINT_MALLOC, true},
	{"my_malloc", MS_HINT_MALLOC, false},
	{"mosquitto__calloc", MS_HINT_MALLOC, false},
	{"lt__strdup", MS_HINT_MALLOC, false},
	{"png_malloc_warn", MS_HINT_MALLOC, false},
	{"zmalloc_usable", MS_HINT_MALLOC, false},
	{"MagickRealloc", MS_HINT_MALLOC, false},
	{"guess_malloc_library", MS_HINT_NONE, false},
	{"malloc_stats", MS_HINT_NONE, false},
	{"void* util::checkedMalloc<char>(unsigned long)", MS_HINT_MALLOC, false},
	{"init_alloc_root", MS_HINT_ALLOC, false},
	{"my_once_alloc", MS_HINT_ALLOC, false},
	{"AcquireAlignedMemory", MS_HINT_ALLOC, false},
	{"llvm::allocate_buffer(unsigned long, unsigned long)", MS_HINT_ALLOC, false},
	{"Arena<Node, 4>::allocRaw(unsigned long)", MS_HINT_ALLOC, false},
	{"pool_get_from_os", MS_HINT_ALLOC, false},
	{"get_mem", MS_HINT_ALLOC, false},
	{"get_mem_usage", MS_HINT_NONE, false},
	{"memory_of", MS_HINT_NONE, false},
	{"pool_deallocate", MS_HINT_NONE, false},
	{"MyAllocator::name() const", MS_HINT_NONE, false},
	{"AllocateSemaphoreInfo", MS_HINT_NONE, false},
	{"avcodec_alloc_context3", MS_HINT_NONE, false},
	{"alloc_table_share(char const*, char const*)", MS_HINT_NONE, false},
	{"std::string app::label(app::Alloc const&)", MS_HINT_NONE, false},
	{"(anonymous namespace)::my_calloc(unsigned long)", MS_HINT_MALLOC, false},
	{"<rustc_arena::DroplessArena>::grow", MS_HINT_GROW, false},
	{"rustc_arena::TypedArena<rustc_middle::Body>::grow", MS_HINT_GROW, false},
	{"slab_grow", MS_HINT_GROW, false},
	{"Perl_sv_grow", MS_HINT_NONE, false},
	{"Table::grow(unsigned long)", MS_HINT_NONE, false},
	{"app::load::{{closure}}", MS_HINT_NONE, false},
	{"app::Cache::operator new(unsigned long)", MS_HINT_NONE, true},
	{"Cache::operator new[](unsigned long, Root*)", MS_HINT_NONE, true},
	{"Cache::operator newish(int)", MS_HINT_NONE, false},
};

int main(void)
{
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		enum ms_wrapper_hint hint = ms_wrapper_hint(names[i].function);
		bool known = ms_is_wrapper(names[i].function, NULL);
		CHECK(hint == names[i].hint, "%s: %d", names[i].function, hint);
		CHECK(known == names[i].known, "%s: %d", names[i].function, known);
	}
	return failures != 0;
}
