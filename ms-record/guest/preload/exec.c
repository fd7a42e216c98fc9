/* SPDX-License-Identifier: MIT
 * The preload backend: reports to ms-record a program that is about to begin and that cannot load
 * the preload library, because nothing else would report it.
 *
 * exec, fexecve, execveat, syscall(SYS_execve) and posix_spawn come here (NAME_preload.S), and then
 * jump to the real function with all registers and the stack unchanged. The file is examined first,
 * as the kernel will do: a program that requests glibc's linker loads the guest, and makes its own
 * handshake, unless the caller has changed its root and the linker cannot find the library.
 *
 *  X1 The caller may be a child of vfork, or of fork in a program with threads: so no lock, no
 *     allocation, and no writes except to the stack.
 *  X2 System calls are made only without a seccomp filter. The wait for ms-record is as long as the
 *     constructor's (start.c), so that the line in FILE.d/index exists before the program begins.
 */
#include <fcntl.h>
#include <sys/syscall.h>

#include "ms-record/guest/core.h"
#include "preload.h"

enum { BY_PATH = 1, SPAWNS = 2, BY_FILE = 4, BY_FOLDER = 8 };
enum { EXECVEAT = 10 };
/* Lists the functions in the order of their numbers in preload.inc. */
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
	     {"fexecve", BY_FILE},
	     {"execveat", BY_FOLDER},
	     {"syscall", 0},          /* SYS_execve */
	     {"syscall", BY_FOLDER}}; /* SYS_execveat */
#define CALLS (sizeof(calls) / sizeof(*calls))

static void *next[CALLS];

/* Replaces execveat, which glibc before 2.34 lacks. */
static long no_execveat(int folder, const char *path, char **arguments, char **environment, int how)
{
	return mg_real.syscall(SYS_execveat, (uint64_t)folder, (uint64_t)path, (uint64_t)arguments,
			       (uint64_t)environment, (uint64_t)how, 0);
}

void mg_exec_resolve(void)
{
	const struct link_map *where;
	for (size_t i = 0; i < CALLS; i++)
		next[i] = mg_next(calls[i].name, &where);
	if (!next[EXECVEAT])
		next[EXECVEAT] = (void *)no_execveat;
}

/* ---- finding the file ---- */

static bool exists(const char *path)
{
	long fd = mg_open_program(path);
	if (fd < 0)
		return false;
	mg_syscall(SYS_close, (uint64_t)fd, 0, 0, 0, 0, 0);
	return true;
}

static bool has_slash(const char *name)
{
	return mg_base_name(name) != name;
}

/* Returns the path of the file that the C library will find in PATH, built in `room`; NULL =
 * none. */
static const char *along_path(const char *name, char room[MG_NAME_BYTES])
{
	const char *path = mg_variable("PATH=");
	for (path = path ? path : "/bin:/usr/bin";; path++) {
		size_t n = 0;
		for (; *path && *path != ':'; path++)
			if (n + 2 < MG_NAME_BYTES)
				room[n++] = *path;
		if (n)
			room[n++] = '/';
		room[n] = 0;
		mg_append(room, MG_NAME_BYTES, n, name);
		if (exists(room))
			return room;
		if (!*path)
			return NULL;
	}
}

/* Tells whether the dynamic linker will not find the library, the first of LD_PRELOAD. */
static bool library_lost(void)
{
	char room[MG_NAME_BYTES];
	const char *list = mg_variable("LD_PRELOAD=");
	size_t n = 0;
	for (; list && list[n] && list[n] != ':' && n + 1 < MG_NAME_BYTES; n++)
		room[n] = list[n];
	room[n] = 0;
	return n && mg_starts(mg_base_name(room), "libmemscope-preload") &&
	       mg_syscall(SYS_faccessat, (uint64_t)AT_FDCWD, (uint64_t)room, 0, 0, 0, 0);
}

/* ---- the call ---- */

void *mg_exec_next(uint32_t which, const char *first, const char *second)
{
	char room[MG_NAME_BYTES];
	unsigned how = calls[which].how;
	const char *path = how & BY_FILE ? "" : how & (SPAWNS | BY_FOLDER) ? second : first;
	mg_resolve();
	if (!path || !mg.session || mg_filtered() ||
	    __atomic_load_n(&mg.head->state, __ATOMIC_RELAXED) == MG_OFF)
		return next[which];
	if (how & (BY_FILE | BY_FOLDER))
		path = mg_file_name((int32_t)(uint64_t)first, path, room);
	else if (how & BY_PATH && !has_slash(path))
		path = *path ? along_path(path, room) : NULL;
	if (path && (mg_stays_out(path) || library_lost()))
		mg_tell_exec(mg_socket_name(), path, how & SPAWNS ? MG_EXEC_CHILD : MG_EXEC_SELF);
	return next[which];
}
