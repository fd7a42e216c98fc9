/* SPDX-License-Identifier: MIT
 * Attaching, the plan made before the process is changed: what an earlier recorder left, which
 * functions to hook, and how.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "attach_private.h"
#include "hook_write.h"
#include "libcommon/proc/proc.h"
#include "ms-record/base/descriptor.h"

#define GUEST "libmemscope-preload.so"
#define OUR_MEMORY "/memfd:memscope (deleted)"

static bool starts(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

static bool named(const struct attach_map *m, const char *memfd)
{
	return starts(m->path, "/memfd:") && starts(m->path + 7, memfd) &&
	       m->path[7 + strlen(memfd)] == ' ';
}

/* ---- an earlier recorder --------------------------------------------------------------------- */

static void release(struct attach *a, uint64_t start, uint64_t bytes)
{
	for (uint32_t i = 0; i < a->release_count; i++)
		if (a->release[i].start == start)
			return;
	if (start && bytes && a->release_count < RELEASE_MOST)
		a->release[a->release_count++] = (struct range){start, bytes};
}

static bool owner_lives(const struct mg_manifest *m)
{
	struct ms_proc_stat s;
	struct stat ns;
	if (!m->owner || stat("/proc/self/ns/pid", &ns))
		return false;
	if ((uint32_t)ns.st_ino != m->owner_namespace)
		return true; /* assumed alive: the owner is in another PID namespace and cannot be
				checked */
	int folder = process_folder((pid_t)m->owner);
	bool lives = folder >= 0 && ms_proc_stat_at(folder, &s) &&
		     s.field[MS_STAT_START] == m->owner_start && s.state != 'Z';
	descriptor_close(folder);
	return lives;
}

/* Reads the manifest of a mapped guest image, perhaps of another version. Returns the manifest's
 * address; 0 = none. */
static uint64_t read_manifest(const struct attach *a, const struct attach_map *at,
			      struct mg_manifest *manifest)
{
	struct attach_module m;
	struct attach_symbol wanted = {.name = MG_MANIFEST_NAME};
	if (!attach_elf_module(&a->memory, &a->maps, at, &m))
		return 0;
	attach_elf_dynamic(&a->memory, &m, &wanted, 1);
	bool good = wanted.address &&
		    !hijack_read(&a->h, wanted.address, manifest, sizeof *manifest) &&
		    manifest->magic == MG_MANIFEST_MAGIC;
	return good ? wanted.address : 0;
}

static bool is_ours(const struct attach *a, const struct attach_map *at)
{
	uint8_t head[1024];
	return !hijack_read(&a->h, at->start, head, sizeof head) &&
	       attach_image_is_ours(head, sizeof head);
}

/* Checks the numbers and sizes in a manifest: the process may have overwritten it, and detaching
 * copies code bytes from it. */
static bool is_sound(const struct mg_manifest *m)
{
	if (m->bytes != sizeof *m || m->hook_count > MG_HOOKS_MAX)
		return false;
	for (uint32_t i = 0; i < m->hook_count; i++)
		if (m->hooks[i].bytes < MG_JUMP_BYTES || m->hooks[i].bytes > MG_DISPLACED_MAX)
			return false;
	return true;
}

/* Tells whether any hooked entry still jumps into the guest image to which manifest `m` belongs. */
static bool is_in_use(const struct attach *a, const struct mg_manifest *m)
{
	for (uint32_t i = 0; i < m->hook_count; i++)
		if (hook_state(&a->h, &m->hooks[i]) >= PATCH_JUMPS)
			return true;
	return false;
}

/* Reuses the mapped guest image `at` if it is of this version; if there are several, the one that
 * entries jump to. Returns 0, or -1 with `err` set: another ms-record is attached, or the image is
 * unusable. */
static int take_image(struct attach *a, const struct attach_map *at, struct ms_err *err)
{
	struct mg_manifest m;
	uint64_t manifest_at = read_manifest(a, at, &m);
	if (!manifest_at)
		return 0;
	bool inherited = m.target != (uint64_t)a->pid || m.target_start != a->h.start_time;
	if (m.bytes == sizeof m && !inherited && owner_lives(&m))
		return ATTACH_REFUSE(
			a, err, "ms-record is already attached (process %u); end that one first",
			m.owner);
	bool ours = is_ours(a, at);
	if (ours && !is_sound(&m))
		return ATTACH_REFUSE(a, err,
				     "another version of ms-record was attached before, or what it "
				     "left was overwritten; restart the process");
	a->foreign |= !ours;
	if (!ours || (a->adopted && !is_in_use(a, &m)))
		return 0;
	a->manifest = m;
	a->manifest_at = manifest_at;
	a->adopted = true;
	a->shared.image = at->start;
	a->shared.gate = a->manifest.gate;
	/* attach_find_earlier releases this mapping if the mapping is named "memscope" (some
	 * kernels do not name mappings). `private` is 0 if the mapping was released. */
	const struct attach_map *own = attach_maps_at(&a->maps, a->manifest.private);
	if (own && own->start == a->manifest.private && !own->path[0])
		release(a, a->manifest.private, a->manifest.private_bytes);
	return 0;
}

/* Refuses a process in which hooks of another version of ms-record are active. If no entry jumps to
 * that version's memory, the memory is left mapped. */
static int check_foreign(struct attach *a, struct ms_err *err)
{
	a->release_count = a->foreign ? 0 : a->release_count;
	for (uint32_t i = 0; a->foreign && i < a->target_count; i++) {
		uint64_t entry = a->targets[i].patch.hook.entry;
		uint8_t now[MG_DISPLACED_MAX];
		if (!a->targets[i].fresh || hijack_read(&a->h, entry, now, sizeof now))
			continue;
		const struct attach_map *to = attach_maps_at(&a->maps, patch_target(entry, now));
		if (to && !to->path[0] && to->exec)
			return ATTACH_REFUSE(a, err,
					     "another version of ms-record was attached before, "
					     "and did not detach; restart the process");
	}
	return 0;
}

/* Tells whether the process is itself an ms-record, which keeps the memory files of its sessions
 * open; a recorded process does not. Also returns true if the descriptors cannot be read: then the
 * memory is not unmapped. */
static bool is_recorder(const struct attach *a)
{
	int folder = openat(a->h.proc, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = folder < 0 ? NULL : fdopendir(folder);
	char path[sizeof OUR_MEMORY + 1] = "";
	if (!d) {
		descriptor_close(folder);
		return true;
	}
	for (struct dirent *e; strcmp(path, OUR_MEMORY) != 0 && (e = readdir(d));)
		process_link(folder, e->d_name, path, sizeof path);
	closedir(d);
	return !strcmp(path, OUR_MEMORY);
}

int attach_find_earlier(struct attach *a, struct ms_err *err)
{
	int recorder = -1; /* -1 = not checked yet */
	for (size_t i = 0; i < a->maps.n; i++) {
		const struct attach_map *m = &a->maps.v[i];
		bool memory = !strcmp(m->path, OUR_MEMORY) && m->shared;
		recorder = memory && recorder < 0 ? is_recorder(a) : recorder;
		if (memory && !recorder)
			release(a, m->start, m->end - m->start);
		if (!strcmp(m->path, "[anon:memscope]"))
			release(a, m->start, m->end - m->start);
		if (!strcmp(basename(m->path), GUEST) && !a->launched)
			return ATTACH_REFUSE(
				a, err,
				"it was started by ms-record, whose library is still loaded: to "
				"attach later, start it with ms-record --standby");
		if (named(m, MG_IMAGE_NAME) && !m->offset && take_image(a, m, err))
			return -1;
	}
	return 0;
}

/* ---- functions ------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	uint32_t kind;
	bool must; /* without this hook, figures would be wrong */
} functions[] = {
#define ATTACHED_MUST(name, form) {#name, MG_HOOK_##form, true},
#define ATTACHED_MAY(name, form) {#name, MG_HOOK_##form, false},
#define ATTACHED_NO(name, form)
#define MS_HOOK_ALLOC(name, form, preload, attached) ATTACHED_##attached(name, form)
#define MS_HOOK_FREE(name, form, preload, attached) ATTACHED_##attached(name, form)
#include "format/functions.def"
	{"fork", MG_HOOK_FORK, false},       {"prctl", MG_HOOK_PRCTL, false},
	{"madvise", MG_HOOK_MADVISE, false}, {"mlockall", MG_HOOK_MLOCKALL, false},
	{"_exit", MG_HOOK_EXIT, false},      {"execve", MG_HOOK_EXECVE, false},
	{"fexecve", MG_HOOK_FEXECVE, false}, {"execveat", MG_HOOK_EXECVEAT, false},
	{"exit", MG_HOOK_LEAVE, false},
};
#define FUNCTIONS (sizeof functions / sizeof *functions)
enum { MALLOC = 0, FREE = 1 };

/* Name in glibc's symbol table of the function that frees a thread's cache. */
#define CACHE "__malloc_arena_thread_freeres"

/* Lists functions that only one allocator has. */
static const struct {
	const char *function, *name;
} signs[] = {{"mallctl", "jemalloc"},       {"mi_malloc", "mimalloc"},
	     {"tc_malloc", "tcmalloc"},     {"MallocExtension_ReleaseFreeMemory", "tcmalloc"},
	     {"__libc_mallopt", "glibc"},   {"__libc_mallinfo", "glibc"},
	     {"__libc_malloc_impl", "musl"}};
#define SIGNS (sizeof signs / sizeof *signs)

const char *attach_allocator_known(const struct attach_memory *memory, int proc,
				   const struct attach_module *m)
{
	struct attach_symbol s[SIGNS];
	for (size_t i = 0; i < SIGNS; i++)
		s[i] = (struct attach_symbol){.name = signs[i].function};
	attach_elf_dynamic(memory, m, s, SIGNS);
	attach_elf_file(proc, m, s, SIGNS);
	for (size_t i = 0; i < SIGNS; i++)
		if (s[i].address)
			return signs[i].name;
	return NULL;
}

/* Adds the name of the module's allocator to a->allocator. */
static void name_allocator(struct attach *a, const struct attach_module *m, bool exe)
{
	const char *name = basename(m->map->path);
	const char *own = exe ? attach_allocator_known(&a->memory, a->h.proc, m) : NULL;
	size_t n = strlen(a->allocator);
	if (starts(name, "libc.so.6") || starts(name, "libc-2"))
		name = "glibc";
	else if (starts(name, "ld-musl") || !strcmp(name, "libc.so"))
		name = "musl";
	snprintf(a->allocator + n, sizeof a->allocator - n, "%s%s%s", n ? ", " : "",
		 own ? own : name, own ? " (static)" : "");
}

static struct near *near_of(struct attach *a, const struct attach_module *m)
{
	for (uint32_t i = 0; i < a->near_count; i++)
		if (a->shared.near[i].low >= m->start && a->shared.near[i].high <= m->end &&
		    a->shared.near[i].count < MG_NEAR_BYTES / MG_SLOT_BYTES)
			return &a->shared.near[i];
	if (a->near_count == NEAR_MOST)
		return NULL;
	struct near *n = &a->shared.near[a->near_count++];
	*n = (struct near){.low = m->end, .high = m->start, .fresh = true};
	return n;
}

/* Reuses the function's hook slot if an earlier attachment with this image hooked the function. */
static void adopt(const struct attach *a, struct target *t)
{
	for (uint32_t i = 0; a->adopted && t->fresh && i < a->manifest.hook_count; i++) {
		const struct mg_hook *h = &a->manifest.hooks[i];
		if (h->entry != t->patch.hook.entry || h->kind != t->patch.hook.kind ||
		    hook_state(&a->h, h) == PATCH_OTHERS)
			continue;
		t->patch.hook = *h;
		t->fresh = false;
	}
}

struct target *attach_add_target(struct attach *a, const struct attach_module *m, const char *name,
				 uint32_t kind, uint64_t address, uint64_t bytes)
{
	for (uint32_t i = 0; i < a->target_count; i++)
		if (a->targets[i].patch.hook.entry == address)
			return NULL;
	if (a->target_count == MG_HOOKS_MAX || address < m->code_low || address >= m->code_high)
		return NULL;
	struct near *n = near_of(a, m);
	if (!n)
		return NULL;
	struct target *t = &a->targets[a->target_count++];
	*t = (struct target){.size = bytes, .fresh = true, .near = (uint32_t)(n - a->shared.near)};
	t->patch.hook.entry = address;
	t->patch.hook.kind = kind;
	snprintf(t->name, sizeof t->name, "%s", name);
	snprintf(t->module, sizeof t->module, "%s", basename(m->map->path));
	n->low = address < n->low ? address : n->low;
	n->high = address + 64 > n->high ? address + 64 : n->high;
	n->count++;
	adopt(a, t);
	return t;
}

static bool is_libc(const char *name)
{
	return starts(name, "libc.so") || starts(name, "libc-") || starts(name, "ld-musl");
}

/* If a function consists of a single jump, hooks the jump's target instead, because the module
 * itself calls the target directly. Does nothing if the target is in `all` or cannot be hooked. */
static void go_behind(const struct attach *a, const struct attach_module *m,
		      const struct attach_symbol all[FUNCTIONS], struct attach_symbol *y)
{
	uint8_t code[PATCH_BODY_MOST];
	struct patch p = {0};
	struct ms_err ignored = {0};
	bool is_short = y->bytes && y->bytes <= MG_DISPLACED_MAX;
	if (!is_short || hijack_read(&a->h, y->address, code, y->bytes))
		return;
	uint64_t to = patch_leads(y->address, code, y->bytes);
	for (size_t i = 0; i < FUNCTIONS; i++)
		if (all[i].address == to)
			return;
	if (to < m->code_low || to >= m->code_high ||
	    patch_plan(&p, to, code, hook_code(&a->h, to, 0, code), 0, to, &ignored))
		return;
	y->address = to;
	y->bytes = 0;
}

/* Adds the allocation functions of the module to the targets, if it has an allocator. */
static void look_for_allocator(struct attach *a, const struct attach_module *m)
{
	struct attach_symbol s[FUNCTIONS + 1], found[FUNCTIONS];
	const char *name = basename(m->map->path);
	bool exe = !strcmp(m->map->path, a->exe);
	struct range inner = {0};
	for (size_t i = 0; i < FUNCTIONS; i++)
		s[i] = (struct attach_symbol){.name = functions[i].name};
	s[FUNCTIONS] = (struct attach_symbol){.name = CACHE};
	attach_elf_dynamic(&a->memory, m, s, FUNCTIONS);
	if (exe && !s[MALLOC].address)
		attach_elf_file(a->h.proc, m, s, FUNCTIONS + 1);
	/* A static program that never calls free may not contain free. */
	if (!s[MALLOC].address || (!s[FREE].address && (!exe || m->interpreter)))
		return;
	if (is_libc(name))
		inner = (struct range){m->code_low, m->code_high - m->code_low};
	else if (s[FUNCTIONS].address)
		inner = (struct range){s[FUNCTIONS].address, s[FUNCTIONS].bytes};
	name_allocator(a, m, exe);
	memcpy(found, s, sizeof found);
	for (size_t i = 0; i < FUNCTIONS; i++)
		go_behind(a, m, found, &s[i]);
	for (size_t i = 0; i < FUNCTIONS; i++) {
		uint32_t kind = functions[i].kind;
		struct target *t = NULL;
		bool always = kind != MG_HOOK_FORK && kind < MG_HOOK_EXIT;
		if (s[i].address &&
		    (kind == MG_HOOK_LEAVE ? a->hooks->exit : always || a->launched))
			t = attach_add_target(a, m, functions[i].name, kind, s[i].address,
					      s[i].bytes);
		if (!t)
			continue;
		t->must = functions[i].must;
		t->patch.hook.inner_low = inner.start;
		t->patch.hook.inner_high = inner.start + inner.bytes;
	}
}

/* Adds the empty function that the dynamic linker calls whenever its list of modules changes. */
static void look_for_linker(struct attach *a, const struct attach_module *m)
{
	enum { STATE = 24 }; /* offset of r_state in struct r_debug */
	struct attach_symbol s[] = {{.name = "_dl_debug_state"}, {.name = "_r_debug"}};
	attach_elf_dynamic(&a->memory, m, s, 2);
	if (!s[0].address || !s[1].address)
		return;
	attach_add_target(a, m, s[0].name, MG_HOOK_LINKER, s[0].address, s[0].bytes);
	a->manifest.debug_state = s[1].address + STATE;
}

static uint64_t page_of(const struct mg_hook *h)
{
	return h->slot & ~(uint64_t)(MG_NEAR_BYTES - 1);
}

static void take_page(struct attach *a, const struct mg_hook *h)
{
	for (uint32_t k = 0; k < a->near_count; k++) {
		struct near *n = &a->shared.near[k];
		if (h->entry < n->low || h->entry >= n->high ||
		    (!n->fresh && n->page != page_of(h)))
			continue;
		n->page = page_of(h);
		n->fresh = false;
		return;
	}
}

/* Marks hook slots that an earlier attachment uses as taken. Modules may share a page of slots (see
 * hook_late.c). Slots behind the taken ones may be free. */
static void take_pages(struct attach *a)
{
	const struct mg_hook *hooks = a->manifest.hooks;
	uint32_t count = a->adopted ? a->manifest.hook_count : 0;
	for (uint32_t i = 0; i < count; i++)
		take_page(a, &hooks[i]);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t slot = (uint32_t)(hooks[i].slot - page_of(&hooks[i])) / MG_SLOT_BYTES;
		for (uint32_t k = 0; k < a->near_count; k++) {
			struct near *n = &a->shared.near[k];
			if (!n->fresh && n->page == page_of(&hooks[i]) && slot >= n->taken)
				n->taken = slot + 1;
		}
	}
}

int attach_find_targets(struct attach *a, struct ms_err *err)
{
	bool any = false;
	for (size_t i = 0; i < a->maps.n; i++) {
		struct attach_module m;
		const struct attach_map *at = &a->maps.v[i];
		if (hook_is_ours(at->path) || !attach_elf_module(&a->memory, &a->maps, at, &m))
			continue;
		if (starts(basename(at->path), "ld-linux"))
			look_for_linker(a, &m);
		else
			look_for_allocator(a, &m);
	}
	for (uint32_t i = 0; i < a->target_count; i++)
		any |= a->targets[i].patch.hook.kind == MG_HOOK_MALLOC;
	if (!any)
		return ATTACH_REFUSE(a, err,
				     "no allocator was found in it: neither its executable, which "
				     "may be stripped, nor a library has a symbol malloc");
	if (attach_find_hooks(a, err))
		return -1;
	take_pages(a);
	return check_foreign(a, err);
}

/* ---- jumps ----------------------------------------------------------------------------------- */

/* Uses one more hook slot of the page, which several entries of near[] may share. */
static void use_slot(struct attach *a, struct near *n)
{
	n->used++;
	for (uint32_t k = 0; k < a->near_count; k++)
		if (!a->shared.near[k].fresh && a->shared.near[k].page == n->page)
			a->shared.near[k].used = n->used;
}

static int plan_one(struct attach *a, struct target *t, struct ms_err *err)
{
	uint8_t code[PATCH_BODY_MOST];
	struct near *n = &a->shared.near[t->near];
	if ((n->used + 1) * MG_SLOT_BYTES > MG_NEAR_BYTES && t->fresh)
		return ms_err_set(err, HOOK_LIMIT_REACHED);
	uint64_t slot = t->fresh ? n->page + n->used * MG_SLOT_BYTES : t->patch.hook.slot;
	size_t bytes = hook_code(&a->h, t->patch.hook.entry, t->size, code);
	if (!t->fresh) /* the entry may still have the jump of an earlier attachment */
		memcpy(code, t->patch.hook.original, t->patch.hook.bytes);
	if (patch_plan(&t->patch, t->patch.hook.entry, code, bytes, t->size, slot, err))
		return -1;
	if (t->fresh)
		use_slot(a, n);
	return 0;
}

static void note_missing(struct attach *a, const struct target *t, const char *why)
{
	size_t n = strlen(a->shared.times.missing);
	snprintf(a->shared.times.missing + n, sizeof a->shared.times.missing - n, "%s%s (%s)",
		 n ? "; " : "", t->name, why);
}

int attach_plan(struct attach *a, struct ms_err *err)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < a->near_count; i++)
		a->shared.near[i].used = a->shared.near[i].taken;
	for (uint32_t i = 0; i < a->target_count; i++) {
		struct target *t = &a->targets[i];
		struct ms_err why = {0};
		if (!plan_one(a, t, &why)) {
			a->targets[kept++] = *t;
			continue;
		}
		if (t->must)
			return ATTACH_REFUSE(a, err, "%s in '%s' cannot be hooked: %s", t->name,
					     t->module, why.text);
		note_missing(a, t, why.text);
	}
	a->target_count = kept;
	return 0;
}
