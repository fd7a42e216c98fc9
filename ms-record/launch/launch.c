/* SPDX-License-Identifier: MIT
 * Starting the command: found, checked, and run with the guest preloaded. What nothing can be
 * preloaded into is started by control/inject.c.
 */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "format/block.h"
#include "ms-record/base/cpu.h"
#include "ms-record/base/descriptor.h"
#include "ms-record/base/elffile.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/elf_reader.h"
#include "libcommon/base/err.h"
#include "libcommon/symbols/symbols_cache.h"
#include "ms-record/guest/layout.h"

#define SCRIPT_DEPTH 4

char *launch_own_file(const char *name)
{
	char self[4096] = "", *path = NULL;
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	char *slash = n > 0 ? strrchr(self, '/') : NULL;
	if (!slash)
		return NULL;
	*slash = '\0';
	for (int i = 0; i < 2; i++) {
		if (asprintf(&path, "%s/%s%s", self, i ? "../lib/memscope/" : "", name) < 0)
			return NULL;
		if (!access(path, R_OK))
			return path;
		free(path);
	}
	return NULL;
}

static bool has_blank(const char *path)
{
	return strpbrk(path, " :") != NULL;
}

/* Makes the link `name` to `to` in `folder`, unless it exists. */
static bool link_in(int folder, const char *name, const char *to)
{
	char old[PATH_MAX] = "", new[32];
	if (readlinkat(folder, name, old, sizeof old - 1) > 0 && strcmp(old, to) == 0)
		return true;
	snprintf(new, sizeof new, "new.%d", (int)getpid());
	unlinkat(folder, new, 0); /* left by an ms-record that was killed here */
	return symlinkat(to, folder, new) == 0 && renameat(folder, new, folder, name) == 0;
}

/* Opens the folder for links. Root's cache is unreadable for other users, and root's commands may
 * change to another user. */
#define LINKS_OF_ROOT "/run/memscope"
static int link_folder(void)
{
	if (geteuid())
		return ms_cache_folder();
	(void)mkdir(LINKS_OF_ROOT, 0755);
	return open(LINKS_OF_ROOT, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

bool launch_preloadable(char **path)
{
	char *to = has_blank(*path) ? realpath(*path, NULL) : NULL;
	char folder[PATH_MAX] = "", of[32], own[64];
	if (!has_blank(*path))
		return true;
	int cache = to ? link_folder() : -1, fd = -1;
	/* Each installed library has its own folder. Links are kept: a program may outlive
	 * ms-record and run other programs. */
	snprintf(of, sizeof of, "preload.%08x", to ? ms_crc32c(0, to, strlen(to)) : 0);
	if (cache >= 0 && (mkdirat(cache, of, 0700) == 0 || errno == EEXIST))
		fd = openat(cache, of, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* the umask may have denied these permissions */
	if (fd >= 0 && !geteuid() && (fchmod(cache, 0755) || fchmod(fd, 0755)))
		fd = (descriptor_close(fd), -1);
	snprintf(own, sizeof own, "/proc/self/fd/%d", fd);
	char *name = strrchr(*path, '/') + 1, *link = NULL;
	bool made = fd >= 0 && readlink(own, folder, sizeof folder - 1) > 0 && !has_blank(folder) &&
		    link_in(fd, name, to) && asprintf(&link, "%s/%s", folder, name) >= 0;
	if (made) {
		free(*path);
		*path = link;
	}
	descriptor_close(fd);
	descriptor_close(cache);
	free(to);
	return made;
}

/* ---- found ---- */

static int find_along_path(struct launch *l, const char *name, struct ms_err *err)
{
	const char *path = getenv("PATH");
	char *denied = NULL;
	struct stat st;
	if (!path)
		path = "/bin:/usr/bin";
	for (const char *p = path;; p++) {
		size_t n = strcspn(p, ":");
		char *full = NULL;
		if (asprintf(&full, "%.*s%s%s", (int)n, p, n ? "/" : "", name) < 0)
			return ms_err_set(err, "out of memory");
		bool file = !stat(full, &st) && S_ISREG(st.st_mode);
		if (file && !access(full, X_OK)) {
			l->program = full;
			free(denied);
			return 0;
		}
		if (file && !denied)
			denied = full;
		else
			free(full);
		p += n;
		if (!*p)
			break;
	}
	if (!denied)
		return ms_err_set(err, "cannot run '%s': command not found", name);
	l->status = 126;
	ms_err_set(err, "cannot run '%s': permission denied", denied);
	free(denied);
	return -1;
}

/* Finds the command. On failure l->status is 127 if it does not exist, 126 if it cannot be run. */
static int find(struct launch *l, const char *name, struct ms_err *err)
{
	struct stat st;
	l->status = 127;
	if (!*name)
		return ms_err_set(err, "cannot run '': command not found");
	if (!strchr(name, '/'))
		return find_along_path(l, name, err);
	bool there = !stat(name, &st);
	if (there || (errno != ENOENT && errno != ENOTDIR))
		l->status = 126;
	if (there && S_ISDIR(st.st_mode))
		return ms_err_set(err, "cannot run '%s': it is a folder", name);
	if (!there || access(name, X_OK))
		return ms_err_sys(err, "cannot run '%s'", name);
	l->program = ms_xstrdup(name);
	return 0;
}

/* ---- checked ---- */

static int refuse(const char *path, const char *why, struct ms_err *err)
{
	return ms_err_set(err, "cannot record '%s': %s", path, why);
}

/* Refuses privileged programs: the dynamic linker ignores LD_PRELOAD if a program gets rights that
 * its caller lacks. */
static int check_rights(const char *path, struct ms_err *err)
{
	struct stat st;
	struct statvfs fs;
	char caps[64];
	if (stat(path, &st) || (!statvfs(path, &fs) && fs.f_flag & ST_NOSUID))
		return 0;
	if (st.st_mode & S_ISUID && st.st_uid != geteuid())
		return refuse(path, "it is setuid; run it as its owner", err);
	if (st.st_mode & S_ISGID && st.st_mode & S_IXGRP && st.st_gid != getegid())
		return refuse(path, "it is setgid; run it as its group", err);
	if (getuid() && getxattr(path, "security.capability", caps, sizeof caps) > 0)
		return refuse(path, "it has file capabilities; run it as root", err);
	return 0;
}

static bool is_loader(const char *path)
{
	char full[4096];
	return realpath(path, full) && !strncmp(basename(full), "ld-linux", 8);
}

/* Checks a static program, whose allocator can be found only by its symbols. */
static int check_static(struct launch *l, const char *path, const struct elffile_malloc *m,
			struct ms_err *err)
{
	if (is_loader(path))
		return 0;
	if (!m->malloc)
		return refuse(
			path,
			m->table ? "it is statically linked and has no malloc, so its "
				   "allocator is not known; --poll works"
				 : "it is statically linked and stripped, so its allocator "
				   "cannot be found; keep its symbols, link it dynamically, or "
				   "use --poll",
			err);
	l->inject = "it is statically linked";
	return 0;
}

/* Checks a dynamic program. The preload library is built for glibc, so musl's linker cannot load
 * it. A program with its own malloc is hooked by that library's constructor, and traced as well,
 * so that static programs that it execs are noticed. */
static int check_dynamic(struct launch *l, const char *path, const char *linker,
			 const struct elffile_malloc *m, struct ms_err *err)
{
	const char *name = basename(linker);
	bool glibc = !strncmp(name, CPU_LINKER, sizeof CPU_LINKER - 1),
	     musl = !strncmp(name, "ld-musl", 7);
	if (!glibc && !musl)
		return refuse(path, "it is linked against neither glibc nor musl", err);
	if (m->checked)
		return refuse(path,
			      "a sanitizer is linked into it, whose malloc cannot be interposed or "
			      "hooked; build it without -fsanitize, link the "
			      "sanitizer dynamically (gcc does without -static-libasan or "
			      "-static-libtsan), or use --poll",
			      err);
	if (musl)
		l->inject = "it is linked against musl";
	l->own_malloc = !musl && (m->exported || (m->defined && !m->wanted));
	if (l->own_malloc)
		l->inject = "it has a malloc of its own";
	return 0;
}

/* Copies the name of the dynamic linker that a program asks for; "" = none. */
static void find_linker(const struct ms_elf_reader *f, char to[256])
{
	const Elf64_Phdr *p = ms_elf_segment(f, PT_INTERP);
	size_t n = !p ? 0 : p->p_filesz < 256 ? p->p_filesz : 255;
	if (n && !ms_elf_get(f, p->p_offset, to, n))
		strcpy(to, "?");
	to[n] = '\0';
}

static int check_elf(struct launch *l, const char *path, const struct ms_elf_reader *f, int fd,
		     struct ms_err *err)
{
	struct elffile_malloc m;
	char linker[256];
	if (!f->supported || f->head.e_machine != CPU_MACHINE)
		return refuse(path, "it is not an " CPU_NAME " program", err);
	elffile_malloc(fd, &m);
	find_linker(f, linker);
	if (linker[0] ? check_dynamic(l, path, linker, &m, err) : check_static(l, path, &m, err))
		return -1;
	return check_rights(path, err);
}

/* Reads the interpreter of a script, "#! /bin/sh -e" -> "/bin/sh". False = not a script. */
static bool interpreter(int fd, char out[512])
{
	char line[512];
	ssize_t n = pread(fd, line, sizeof line - 1, 0);
	if (n < 3 || line[0] != '#' || line[1] != '!')
		return false;
	line[n] = '\0';
	char *p = line + 2 + strspn(line + 2, " \t");
	p[strcspn(p, " \t\n")] = '\0';
	strcpy(out, p);
	return *p != '\0';
}

static int check(struct launch *l, const char *path, int depth, struct ms_err *err)
{
	struct ms_elf_reader f;
	char script[512];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && errno == ENOENT) { /* the missing file is the interpreter of a script */
		l->status = 127;
		return ms_err_sys(err, "cannot run '%s'", path);
	}
	if (fd < 0)
		return refuse(path,
			      "its file cannot be read, which is needed to choose how to record it",
			      err);
	int rc;
	if (ms_elf_read(&f, ms_elf_in_file(fd)))
		rc = check_elf(l, path, &f, fd, err);
	else if (depth < SCRIPT_DEPTH && interpreter(fd, script))
		rc = check(l, script, depth + 1, err);
	else {
		l->status = 126;
		rc = ms_err_set(err, "cannot run '%s': it is not a program", path);
	}
	close(fd);
	return rc;
}

enum launch_way launch_way(const char *path, struct ms_err *err)
{
	struct launch l = {0};
	if (check(&l, path, 0, err))
		return LAUNCH_NOT;
	return l.inject && !l.own_malloc ? LAUNCH_INJECT : LAUNCH_PRELOAD;
}

char *launch_why(const char *path)
{
	struct launch none = {0};
	struct ms_err err = {0};
	char *text = NULL;
	if (check(&none, path, 0, &err)) {
		const char *why = strstr(err.text, "': ");
		return ms_xstrdup(why ? why + 3 : err.text);
	}
	if (!none.inject || none.own_malloc)
		return ms_xstrdup("it did not load the recorder's library");
	if (asprintf(&text, "%s, so nothing can be preloaded; start it with ms-record itself",
		     none.inject) < 0)
		ms_out_of_memory();
	return text;
}

int launch_find(struct launch *l, const struct launch_options *o, struct ms_err *err)
{
	if (find(l, o->command[0], err))
		return -1;
	l->status = 125;
	if (check(l, l->program, 0, err))
		return -1;
	if (l->inject && !l->own_malloc && o->needs_library) {
		ms_err_set(err,
			   "cannot record '%s' with %s: %s, so the library that %s needs cannot be "
			   "preloaded",
			   l->program, o->needs_library, l->inject, o->needs_library);
		return -1;
	}
	/* the preloaded library is needed in any case: the command may exec other programs */
	l->guest = launch_own_file("libmemscope-preload.so");
	if (!l->guest)
		return ms_err_set(err,
				  "cannot find 'libmemscope-preload.so' in the folder of ms-record "
				  "or in ../lib/memscope: reinstall MemScope");
	if (launch_preloadable(&l->guest))
		return 0;
	return ms_err_set(
		err,
		"cannot preload '%s': its path has a space or a colon, and no link to it can be "
		"created in XDG_CACHE_HOME or '~/.cache' ('/run' for root): install MemScope "
		"elsewhere",
		l->guest);
}

/* ---- run ---- */

static void set_environment(const struct launch *l, const struct launch_options *o)
{
	for (size_t i = 0; i < o->env.n; i++)
		putenv(ms_xstrdup(o->env.v[i]));
	/* AddressSanitizer, in the command or its children, ends a program that loads another
	 * library first. It reads the initial environment, so the option must be set before the
	 * exec. */
	static const char asan[] = "verify_asan_link_order=0";
	const char *old = getenv("ASAN_OPTIONS");
	char *preload = NULL, *options = NULL;
	if (!old || !strstr(old, asan))
		if (asprintf(&options, "%s%s%s", asan, old ? ":" : "", old ? old : "") >= 0)
			setenv("ASAN_OPTIONS", options, 1);
	old = getenv("LD_PRELOAD");
	if (l->inject) /* the program does not need the library, and musl's linker would fail to
			  load it */
		return;
	if (asprintf(&preload, "%s%s%s", l->guest, old && *old ? ":" : "", old ? old : "") >= 0)
		setenv("LD_PRELOAD", preload, 1);
	setenv(MG_ENV_SOCKET, l->socket, 1);
}

static _Noreturn void child(const struct launch *l, const struct launch_options *o, int go,
			    int result)
{
	char byte;
	set_environment(l, o);
	if (read(go, &byte, 1) != 1)
		_exit(125);
	if (o->children_ignored)
		signal(SIGCHLD, SIG_IGN);
	sigprocmask(SIG_SETMASK, &l->mask, NULL);
	execv(l->program, o->command);
	int e = errno;
	if (write(result, &e, sizeof e) != sizeof e)
		_exit(126);
	_exit(127);
}

int launch_fork(struct launch *l, const struct launch_options *o, struct ms_err *err)
{
	int go[2] = {-1, -1}, result[2] = {-1, -1};
	l->pid = -1;
	if (pipe2(go, O_CLOEXEC) || pipe2(result, O_CLOEXEC))
		return ms_err_sys(err, "cannot create a pipe");
	l->pid = fork();
	if (l->pid == 0) {
		close(go[1]);
		child(l, o, go[0], result[1]);
	}
	close(go[0]);
	close(result[1]);
	l->go = go[1];
	l->result = result[0];
	return l->pid < 0 ? ms_err_sys(err, "cannot fork") : 0;
}

bool launch_release(struct launch *l)
{
	bool let = write(l->go, "", 1) == 1;
	close(l->go);
	return let;
}

int launch_answer(struct launch *l, bool let, struct ms_err *err)
{
	int e = 0;
	ssize_t n = -1; /* a child that has ended sends no answer */
	while (let && (n = read(l->result, &e, sizeof e)) < 0 && errno == EINTR)
		continue;
	close(l->result);
	if (n != sizeof e)
		return 0;
	waitpid(l->pid, NULL, 0);
	errno = e;
	l->status = e == ENOENT ? 127 : 126;
	return ms_err_sys(err, "cannot run '%s'", l->program);
}

int launch_go(struct launch *l, struct ms_err *err)
{
	return launch_answer(l, launch_release(l), err);
}

void launch_cancel(struct launch *l)
{
	close(l->go);
	close(l->result);
	waitpid(l->pid, NULL, 0);
}
