/* SPDX-License-Identifier: MIT
 * Programs that are started: ms-record is told of one into which nothing can be preloaded, because
 * nothing else would tell of it.
 *
 * exec, fexecve and posix_spawn come by here (NAME_preload.S) and go on to the real one with all registers and
 * the stack as they were. The file is looked at first, as the kernel will look at it: a program that
 * asks for glibc's linker loads us, and makes its own handshake.
 *
 *  X1 It may be a child of vfork, or of fork in a program with threads: no lock, no allocation, and
 *     nothing is written but the stack.
 *  X2 System calls only where there is no filter. ms-record is waited for as long as by the
 *     constructor (start.c), so that the line in FILE.d/index is there before the program is.
 */
#include <elf.h>
#include <fcntl.h>
#include <sys/syscall.h>

#include "core.h"
#include "preload.h"

#define MAY_RUN 1   /* X_OK */
#define SCRIPTS 4   /* whose interpreters are scripts */
#define HEADERS 64u /* of a program */
#define NAME_BYTES 512u

enum { BY_PATH = 1, SPAWNS = 2, BY_FILE = 4 };
/* In the order of the numbers in NAME_preload.S. */
static const struct {
	const char *name;
	unsigned how;
} calls[] = {{"execve", 0},
	     {"execv", 0},
	     {"execvp", BY_PATH},
	     {"execvpe", BY_PATH},
	     {"execl", 0},
	     {"execle", 0},
	     {"execlp", BY_PATH},
	     {"posix_spawn", SPAWNS},
	     {"posix_spawnp", BY_PATH | SPAWNS},
	     {"fexecve", BY_FILE}};
#define CALLS (sizeof(calls) / sizeof(*calls))

static void *next[CALLS];

void mg_exec_resolve(void)
{
	const struct link_map *where;
	for (size_t i = 0; i < CALLS; i++)
		next[i] = mg_next(calls[i].name, &where);
}

/* ---- the file ---- */

static long open_program(const char *path)
{
	if (mg_syscall(SYS_faccessat, (uint64_t)AT_FDCWD, (uint64_t)path, MAY_RUN, 0, 0, 0))
		return -1;
	return mg_syscall(SYS_openat, (uint64_t)AT_FDCWD, (uint64_t)path,
			  O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0, 0, 0);
}

/* How many bytes there are; the rest is zeroed. */
static size_t read_at(long fd, void *to, size_t bytes, uint64_t offset)
{
	for (size_t i = 0; i < bytes; i++)
		((char *)to)[i] = 0;
	long n = mg_syscall(SYS_pread64, (uint64_t)fd, (uint64_t)to, bytes, offset, 0, 0);
	return n > 0 ? (size_t)n : 0;
}

/* Does it ask for glibc's dynamic linker, which preloads us? */
static bool loads_us(long fd, const Elf64_Ehdr *h)
{
	Elf64_Phdr p;
	char linker[128];
	if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_phentsize != sizeof(p))
		return false;
	for (uint64_t i = 0; i < h->e_phnum && i < HEADERS; i++) {
		if (read_at(fd, &p, sizeof(p), h->e_phoff + i * sizeof(p)) != sizeof(p) ||
		    p.p_type != PT_INTERP)
			continue;
		read_at(fd, linker, sizeof(linker) - 1, p.p_offset);
		linker[sizeof(linker) - 1] = 0;
		return mg_starts(mg_base_name(linker), "ld-linux");
	}
	return false;
}

/* "#! /bin/sh -e" -> "/bin/sh", in place; NULL = there is none. */
static const char *interpreter(char *line)
{
	char *path = line + 2;
	while (*path == ' ' || *path == '\t')
		path++;
	for (char *end = path; *end; end++)
		if (*end == ' ' || *end == '\t' || *end == '\n')
			*end = 0;
	return *path ? path : NULL;
}

/* Is it a program that will not load us? Of what is none, or cannot be read, that is not known. */
static bool stays_out(const char *path)
{
	union {
		Elf64_Ehdr elf;
		char text[256];
	} head;
	bool out = false;
	for (int i = 0; path && i < SCRIPTS; i++) {
		long fd = open_program(path);
		if (fd < 0)
			return false;
		read_at(fd, &head, sizeof(head) - 1, 0);
		head.text[sizeof(head) - 1] = 0;
		if (mg_starts(head.text, ELFMAG))
			out = !loads_us(fd, &head.elf);
		path = mg_starts(head.text, "#!") ? interpreter(head.text) : NULL;
		mg_syscall(SYS_close, (uint64_t)fd, 0, 0, 0, 0, 0);
	}
	return out;
}

/* ---- where it is ---- */

static bool exists(const char *path)
{
	long fd = open_program(path);
	if (fd < 0)
		return false;
	mg_syscall(SYS_close, (uint64_t)fd, 0, 0, 0, 0, 0);
	return true;
}

static bool has_slash(const char *name)
{
	return mg_base_name(name) != name;
}

/* The file that the C library will find along PATH, in `room`; or NULL. */
static const char *along_path(const char *name, char room[NAME_BYTES])
{
	const char *path = mg_variable("PATH=");
	for (path = path ? path : "/bin:/usr/bin";; path++) {
		size_t n = 0;
		for (; *path && *path != ':'; path++)
			if (n + 2 < NAME_BYTES)
				room[n++] = *path;
		if (n)
			room[n++] = '/';
		room[n] = 0;
		mg_append(room, NAME_BYTES, n, name);
		if (exists(room))
			return room;
		if (!*path)
			return NULL;
	}
}

static size_t append_number(char room[NAME_BYTES], size_t at, uint64_t n)
{
	char digits[24];
	size_t i = sizeof(digits);
	digits[--i] = 0;
	do
		digits[--i] = (char)('0' + n % 10);
	while (n /= 10);
	return mg_append(room, NAME_BYTES, at, digits + i);
}

/* The name of an open file of ours that ms-record can use, too, in `room`. */
static const char *of_file(uint64_t fd, char room[NAME_BYTES])
{
	size_t n = mg_append(room, NAME_BYTES, 0, "/proc/");
	n = append_number(room, n, (uint64_t)mg_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0));
	n = mg_append(room, NAME_BYTES, n, "/fd/");
	append_number(room, n, fd);
	return room;
}

/* ---- the call ---- */

void *mg_exec_next(uint32_t which, const char *first, const char *second)
{
	char room[NAME_BYTES];
	unsigned how = calls[which].how;
	const char *path = how & SPAWNS ? second : first;
	mg_resolve();
	if ((!path && !(how & BY_FILE)) || !mg.session || mg_filtered() ||
	    __atomic_load_n(&mg.head->state, __ATOMIC_RELAXED) == MG_OFF)
		return next[which];
	if (how & BY_FILE)
		path = of_file((uint32_t)(uint64_t)first, room);
	else if (how & BY_PATH && !has_slash(path))
		path = *path ? along_path(path, room) : NULL;
	if (path && stays_out(path))
		mg_tell_exec(path, how & SPAWNS ? MG_EXEC_CHILD : MG_EXEC_SELF);
	return next[which];
}
