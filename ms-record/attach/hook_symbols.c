/* SPDX-License-Identifier: MIT
 * Symbols of a mapped file and of its debug file, which is found by the build-id, or by the name
 * in .gnu_debuglink if the build-id is the same.
 */
#include "hook_symbols.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "ms-record/base/descriptor.h"
#include "ms-record/ptrace/attach_elf.h"

#define PATH_MOST 4400u
#define TEXTS_MOST (UINT64_C(256) << 20) /* limit on bytes of names, since a program waits */

/* ---- debug files ---- */

static bool is_of(const struct elfmap *debug, const uint8_t *id, size_t bytes)
{
	uint8_t own[MS_ELF_ID_MOST];
	return ms_elf_build_id(&debug->elf, own) == bytes && !memcmp(own, id, bytes);
}

static bool try_debug(struct hook_symbols *y, int proc, const char *path, const uint8_t *id,
		      size_t bytes)
{
	int fd = openat(proc, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool there = elfmap_open(&y->debug, fd);
	descriptor_close(fd);
	if (there && is_of(&y->debug, id, bytes))
		return true;
	if (there)
		elfmap_close(&y->debug);
	return false;
}

/* Returns the debug file's name, such as "x.debug", from .gnu_debuglink; NULL = none. */
static const char *linked_name(const struct elfmap *m)
{
	const Elf64_Shdr *s = ms_elf_named(&m->elf, ".gnu_debuglink");
	const char *name = s ? elfmap_part(m, s->sh_offset, s->sh_size) : NULL;
	return name && memchr(name, 0, s->sh_size) ? name : NULL;
}

static void open_debug(struct hook_symbols *y, int proc, const char *module)
{
	char path[PATH_MOST], hex[2 * MS_ELF_ID_MOST + 1];
	uint8_t id[MS_ELF_ID_MOST];
	size_t bytes = ms_elf_build_id(&y->file.elf, id);
	if (bytes < 2)
		return;
	for (size_t i = 0; i < bytes; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	snprintf(path, sizeof path, "root/usr/lib/debug/.build-id/%.2s/%s.debug", hex, hex + 2);
	const char *name = linked_name(&y->file), *slash = strrchr(module, '/');
	if (try_debug(y, proc, path, id, bytes) || !name || !slash)
		return;
	static const char *const places[] = {"root%.*s/%s", "root%.*s/.debug/%s",
					     "root/usr/lib/debug%.*s/%s"};
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(path, sizeof path, places[i], (int)(slash - module), module, name);
#pragma GCC diagnostic pop
		if (try_debug(y, proc, path, id, bytes))
			return;
	}
}

/* ---- tables ---- */

static void take_tables(struct hook_symbols *y, const struct elfmap *m)
{
	for (unsigned i = 0; i < m->elf.section_count && y->n < HOOK_TABLES; i++) {
		if (elfmap_table(m, i, &y->tables[y->n]))
			y->stripped &= y->tables[y->n++].dynamic;
	}
}

bool hook_symbols_open_file(struct hook_symbols *y, int fd)
{
	*y = (struct hook_symbols){.stripped = true};
	if (!elfmap_open(&y->file, fd))
		return false;
	take_tables(y, &y->file);
	return true;
}

bool hook_symbols_open(struct hook_symbols *y, int proc, const struct attach_map *map)
{
	int fd = attach_elf_open(proc, map);
	bool there = hook_symbols_open_file(y, fd);
	descriptor_close(fd);
	if (!there)
		return false;
	if (y->stripped)
		open_debug(y, proc, map->path);
	if (y->debug.file)
		take_tables(y, &y->debug);
	return true;
}

void hook_symbols_close(struct hook_symbols *y)
{
	elfmap_close(&y->file);
	elfmap_close(&y->debug);
}

bool hook_symbols_mention(const struct hook_symbols *y, const char *end)
{
	size_t n = strlen(end) + 1;
	for (unsigned i = 0; i < y->n; i++)
		if (y->tables[i].bytes && y->tables[i].bytes <= TEXTS_MOST &&
		    memmem(y->tables[i].strings, y->tables[i].bytes, end, n))
			return true;
	return false;
}
