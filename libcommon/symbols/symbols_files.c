/* SPDX-License-Identifier: MIT
 * Searches the usual places for a module's file and its debug information, and accepts a file only
 * if its identity is proved.
 */
#include "symbols_files.h"
#include "libcommon/base/path.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include <libdeflate.h>

#include "symbols_debuginfod.h"

struct search {
	const struct ms_symbols_options *opt;
	const char **folders; /* folders of debug files */
	const uint8_t *id;
	size_t id_size;
	const uint32_t
		*crc; /* expected CRC of the file if there is no build-id; NULL = none known */
	const struct ms_symbols_module *module; /* NULL = not searching for the module itself */
	struct ms_debuginfod *servers;          /* or NULL */
	bool others;                            /* a file was found, but it is not the one searched
						   for */
};

static uint32_t crc_of(const struct ms_elf *e)
{
	return libdeflate_crc32(0, e->map, e->size);
}

/* Tells, without a build-id, whether a file may be the module's. If other folders are searched,
 * copies there may have another modification time. */
static bool may_be(const struct search *s, const struct ms_elf *e)
{
	const struct ms_symbols_module *m = s->module;
	bool elsewhere = s->opt->sysroot || s->opt->debug_dirs;
	if (m->file_bytes && m->file_bytes != e->size)
		return false;
	if (m->file_mtime_ns && m->file_mtime_ns != e->mtime_ns && (!elsewhere || m->deleted))
		return false;
	return !m->deleted || (m->file_bytes && m->file_mtime_ns);
}

static bool is_it(const struct search *s, const struct ms_elf *e)
{
	if (s->id_size)
		return ms_elf_is(e, s->id, s->id_size);
	if (s->crc)
		return crc_of(e) == *s->crc;
	return !s->module || may_be(s, e);
}

/* Returns the file if it is the one searched for, else closes it. The build-id decides; without
 * one, the checksum; without either, size and time must not differ. */
static struct ms_elf *if_it(struct search *s, struct ms_elf *e)
{
	if (!e || is_it(s, e))
		return e;
	s->others = true;
	ms_elf_close(e);
	return NULL;
}

static struct ms_elf *try_file(struct search *s, const char *path)
{
	return if_it(s, ms_elf_open(path));
}

__attribute__((format(printf, 2, 3))) static struct ms_elf *try_path(struct search *s,
								     const char *fmt, ...)
{
	char path[4096];
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(path, sizeof path, fmt, ap);
	va_end(ap);
	return n > 0 && (size_t)n < sizeof path ? try_file(s, path) : NULL;
}

/* Lists the folders of debug files: those of --symbols=debug-dir, then /usr/lib/debug under the
 * sysroot, then the host's. NULL-terminated. */
static const char **debug_folders(const struct ms_symbols_options *opt, struct ms_arena *a)
{
	size_t n = 0;
	while (opt->debug_dirs && opt->debug_dirs[n])
		n++;
	const char **folders = ms_arena_alloc(a, (n + 3) * sizeof *folders);
	for (size_t i = 0; i < n; i++)
		folders[i] = opt->debug_dirs[i];
	if (opt->sysroot)
		folders[n++] = ms_arena_printf(a, "%s/usr/lib/debug", opt->sysroot);
	folders[n] = "/usr/lib/debug";
	return folders;
}

static struct ms_elf *by_build_id(struct search *s)
{
	char hex[2 * 64 + 1];
	struct ms_elf *e = NULL;
	if (s->id_size < 2 || s->id_size > 64)
		return NULL;
	for (size_t i = 0; i < s->id_size; i++)
		sprintf(hex + 2 * i, "%02x", s->id[i]);
	for (const char **f = s->folders; !e && *f; f++)
		e = try_path(s, "%s/.build-id/%.2s/%s.debug", *f, hex, hex + 2);
	return e;
}

/* Gets the debug file with that build-id from a server. */
static struct ms_elf *by_server(struct search *s)
{
	char *path = s->servers ? ms_debuginfod_find(s->servers, s->id, s->id_size) : NULL;
	struct ms_elf *e = path ? try_file(s, path) : NULL;
	free(path);
	return e;
}

/* Finds the module's own file: the one held open, else the file at its path under the sysroot, else
 * a file in a folder of --symbols=debug-dir, at the module's whole path or by its name alone. */
static struct ms_elf *find_binary(struct search *s, const char *path)
{
	int held = s->module->held;
	struct ms_elf *e = held > 0 ? if_it(s, ms_elf_held(held, path)) : NULL;
	s->others |= held < 0;
	if (held && !s->id_size)
		return e; /* without a build-id, no other file can be verified */
	if (!e)
		e = try_path(s, "%s%s", s->opt->sysroot ? s->opt->sysroot : "", path);
	/* Without a build-id, only the original path is searched; otherwise any file of that name
	 * would be accepted. */
	for (const char *const *d = s->opt->debug_dirs; !e && s->id_size && d && *d; d++)
		if (!(e = try_path(s, "%s/%s", *d, path)))
			e = try_path(s, "%s/%s", *d, ms_base_name(path));
	return e;
}

/* Tries the three locations that .gnu_debuglink prescribes, and the folders of debug files. */
static struct ms_elf *by_link(struct search *s, const char *binary, const char *name)
{
	char real[4096], sysroot[4096];
	if (!realpath(binary, real))
		snprintf(real, sizeof real, "%s", binary);
	int dir = (int)(ms_base_name(real) - real);
	struct ms_elf *e = try_path(s, "%.*s%s", dir, real, name);
	if (!e)
		e = try_path(s, "%.*s.debug/%s", dir, real, name);
	size_t root = s->opt->sysroot && realpath(s->opt->sysroot, sysroot) ? strlen(sysroot) : 0;
	size_t skip = root && !strncmp(real, sysroot, root) && real[root] == '/' ? root : 0;
	for (const char **f = s->folders; !e && *f; f++)
		if (!(e = try_path(s, "%s/%.*s%s", *f, dir - (int)skip, real + skip, name)))
			e = try_path(s, "%s/%s", *f, name);
	return e;
}

/* Returns the NUL-terminated file name at the start of a section; *rest is the data after it. NULL
 * = damaged. */
static const char *link_name(struct ms_elf *e, const char *section, const uint8_t **rest,
			     size_t *rest_size)
{
	struct ms_elf_section *s = ms_elf_section(e, section);
	const uint8_t *data = ms_elf_data(s);
	const uint8_t *end = data ? memchr(data, 0, s->size) : NULL;
	if (!end || end == data)
		return NULL;
	*rest = end + 1;
	*rest_size = s->size - (size_t)(*rest - data);
	return (const char *)data;
}

static struct ms_elf *find_debug(struct search *s, struct ms_elf *binary)
{
	struct ms_elf *e = by_build_id(s);
	const uint8_t *rest;
	size_t rest_size;
	if (e || !binary)
		return e;
	const char *name = link_name(binary, ".gnu_debuglink", &rest, &rest_size);
	if (!name || strchr(name, '/'))
		return NULL;
	size_t pad = (4 - (strlen(name) + 1) % 4) % 4;
	uint32_t crc;
	if (rest_size < pad + sizeof crc)
		return NULL;
	memcpy(&crc, rest + pad, sizeof crc);
	s->crc = &crc;
	e = by_link(s, binary->path, name);
	s->crc = NULL;
	return e;
}

/* Finds the supplementary file, into which dwz moves the common parts of several debug files; it is
 * named by path and build-id. */
static struct ms_elf *find_alt(struct search *s, struct ms_elf *e)
{
	char real[4096];
	const char *name = e ? link_name(e, ".gnu_debugaltlink", &s->id, &s->id_size) : NULL;
	if (!name || !s->id_size)
		return NULL;
	struct ms_elf *alt = NULL;
	if (*name == '/') {
		alt = try_path(s, "%s%s", s->opt->sysroot ? s->opt->sysroot : "", name);
	} else {
		if (!realpath(e->path, real))
			snprintf(real, sizeof real, "%s", e->path);
		alt = try_path(s, "%.*s%s", (int)(ms_base_name(real) - real), real, name);
	}
	for (const char **f = s->folders; !alt && *f; f++)
		alt = try_path(s, "%s/.dwz/%s", *f, ms_base_name(name));
	if (!alt)
		alt = by_build_id(s);
	return alt ? alt : by_server(s);
}

/* Finds the vDSO: the kernel's code in every process is not a file, but our own copy is identical
 * with the same kernel. */
static struct ms_elf *find_vdso(const struct search *s)
{
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	if (!h || !s->id_size)
		return NULL;
	struct ms_elf *e = ms_elf_copy("[vdso]", h, h->e_shoff + h->e_shnum * sizeof(Elf64_Shdr));
	if (!e || ms_elf_is(e, s->id, s->id_size))
		return e;
	ms_elf_close(e);
	return NULL;
}

struct ms_elf *ms_module_binary(const struct ms_symbols_options *opt,
				const struct ms_symbols_module *m)
{
	struct search s = {.opt = opt, .id = m->build_id, .id_size = m->build_id_size, .module = m};
	return find_binary(&s, m->path);
}

struct ms_module_files ms_module_files(const struct ms_symbols_options *opt,
				       struct ms_debuginfod *servers,
				       const struct ms_symbols_module *m)
{
	enum { KIND_VDSO = 1 };
	struct ms_module_files f = {0};
	struct ms_arena a = {0};
	struct search s = {.opt = opt,
			   .folders = debug_folders(opt, &a),
			   .id = m->build_id,
			   .id_size = m->build_id_size,
			   .module = m};
	f.binary = m->kind == KIND_VDSO ? find_vdso(&s) : find_binary(&s, m->path);
	f.mismatch = !f.binary && s.others;
	f.damaged = f.binary && f.binary->cut_short;
	s.module = NULL;
	s.others = false;
	s.servers = m->kind == KIND_VDSO ? NULL : servers;
	if (f.binary && !s.id_size) {
		s.id = f.binary->build_id;
		s.id_size = f.binary->build_id_size;
	}
	bool whole = ms_elf_has_dwarf(f.binary);
	if (!whole)
		f.debug = find_debug(&s, f.binary);
	if (!whole && !ms_elf_has_dwarf(f.debug)) {
		struct ms_elf *served = by_server(&s);
		ms_elf_close(served ? f.debug : NULL);
		f.debug = served ? served : f.debug;
	}
	f.refused = s.others && !f.debug;
	f.alt = find_alt(&s, f.debug ? f.debug : f.binary);
	ms_arena_free(&a);
	return f;
}

void ms_module_files_close(struct ms_module_files *f)
{
	ms_elf_close(f->binary);
	ms_elf_close(f->debug);
	ms_elf_close(f->alt);
}
