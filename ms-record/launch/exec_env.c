/* SPDX-License-Identifier: MIT
 * The environment of a process that is at the beginning of a program.
 *
 *   sp -> argc | argv[] | 0 | envp[] | 0 | auxv[] | ... strings ...
 *
 * The kernel has put this on the stack. A copy with another envp[] is put below it, new strings
 * between the two, and the program begins with sp there. What the kernel shows of arguments and
 * environment stays as it was.
 */
#include "exec_env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "ms-record/guest/layout.h"
#include "ms-record/ptrace/cpu.h"

#define WORDS_MOST (1u << 16)
#define TEXT_MOST 32768u
#define ROOM (96u << 10) /* the kernel leaves more below sp */
#define PRELOAD "LD_PRELOAD="
#define SOCKET MG_ENV_SOCKET "="

struct words {
	uint64_t *v;
	size_t n, cap;
};

struct program {
	pid_t pid;
	struct cpu_regs regs;
	struct words all; /* up to the end of auxv */
	size_t env, env_n;
	char *strings; /* new ones, one behind the other */
	size_t bytes;
};

static bool get(const struct program *p, uint64_t at, void *to, size_t n)
{
	struct iovec here = {to, n}, there = {(void *)(uintptr_t)at, n};
	return process_vm_readv(p->pid, &here, 1, &there, 1, 0) == (ssize_t)n;
}

static bool put(const struct program *p, uint64_t at, const void *from, size_t n)
{
	struct iovec here = {(void *)(uintptr_t)from, n}, there = {(void *)(uintptr_t)at, n};
	return process_vm_writev(p->pid, &here, 1, &there, 1, 0) == (ssize_t)n;
}

static bool next(struct program *p, uint64_t *word)
{
	if (p->all.n == WORDS_MOST || !get(p, p->regs.sp + 8 * p->all.n, word, 8))
		return false;
	*MS_PUSH(&p->all) = *word;
	return true;
}

static bool to_zero(struct program *p)
{
	uint64_t w;
	do
		if (!next(p, &w))
			return false;
	while (w);
	return true;
}

static bool look(struct program *p)
{
	uint64_t argc, tag, value;
	if (cpu_regs_get(p->pid, &p->regs) || !next(p, &argc) || !to_zero(p) ||
	    p->all.n != argc + 2)
		return false;
	p->env = p->all.n;
	if (!to_zero(p))
		return false;
	p->env_n = p->all.n - p->env - 1;
	do
		if (!next(p, &tag) || !next(p, &value))
			return false;
	while (tag);
	return true;
}

/* The string there, cut where it is longer than any of ours would be. */
static void text_at(const struct program *p, uint64_t at, char *text, size_t room)
{
	size_t n = 0, part;
	for (; n + 1 < room; n += part) {
		part = 4096 - ((at + n) & 4095);
		part = part < room - 1 - n ? part : room - 1 - n;
		if (!get(p, at + n, text + n, part))
			break;
		if (memchr(text + n, 0, part))
			return;
	}
	text[n] = '\0';
}

/* The variable that begins so; its index in envp[], or SIZE_MAX. */
static size_t variable(const struct program *p, const char *name, char *text)
{
	for (size_t i = 0; i < p->env_n; i++) {
		text_at(p, p->all.v[p->env + i], text, TEXT_MOST);
		if (!strncmp(text, name, strlen(name)))
			return i;
	}
	return SIZE_MAX;
}

/* ---- changed ---- */

/* The variable becomes the string at that place among the new ones. */
static void set(struct program *p, size_t i, const char *name, const char *value, const char *rest)
{
	char *s = NULL;
	int n = asprintf(&s, "%s%s%s%s", name, value, *rest ? ":" : "", rest);
	if (n < 0)
		return;
	p->strings = ms_xrealloc(p->strings, p->bytes + (size_t)n + 1, 1);
	memcpy(p->strings + p->bytes, s, (size_t)n + 1);
	free(s);
	/* For now relative to the strings, which is told by its being small. */
	uint64_t at = p->bytes + 1;
	p->bytes += (size_t)n + 1;
	if (i != SIZE_MAX) {
		p->all.v[p->env + i] = at;
		return;
	}
	*MS_PUSH(&p->all) = 0;
	uint64_t *end = p->all.v + p->env + p->env_n;
	memmove(end + 1, end, (size_t)(p->all.v + p->all.n - 1 - end) * 8);
	*end = at;
	p->env_n++;
}

static void take_out(struct program *p, size_t i)
{
	uint64_t *at = p->all.v + p->env + i;
	memmove(at, at + 1, (size_t)(p->all.v + p->all.n - 1 - at) * 8);
	p->all.n--;
	p->env_n--;
}

static bool write_down(struct program *p)
{
	uint64_t strings = (p->regs.sp - p->bytes) & ~UINT64_C(15);
	uint64_t sp = (strings - 8 * p->all.n) & ~UINT64_C(15);
	if (p->regs.sp - sp > ROOM)
		return false;
	for (size_t i = 0; i < p->env_n; i++)
		if (p->all.v[p->env + i] <= p->bytes)
			p->all.v[p->env + i] += strings - 1;
	if ((p->bytes && !put(p, strings, p->strings, p->bytes)) ||
	    !put(p, sp, p->all.v, 8 * p->all.n))
		return false;
	p->regs.sp = sp;
	return !cpu_regs_set(p->pid, &p->regs);
}

/* Takes `away` out of a list with colons or blanks between; false = it is not in it. */
static bool cut_out(char *list, const char *away)
{
	size_t n = strlen(away);
	for (char *at = list; (at = strstr(at, away)); at++) {
		bool begins = at == list || strchr(": ", at[-1]);
		if (!begins || !strchr(": ", at[n])) /* or the end */
			continue;
		char *rest = at + n + (at[n] != '\0');
		memmove(at, rest, strlen(rest) + 1);
		return true;
	}
	return false;
}

static int change(struct program *p, const char *guest, const char *socket, const char *away)
{
	char *text = ms_xcalloc(1, TEXT_MOST);
	size_t i = variable(p, PRELOAD, text);
	char *list = i == SIZE_MAX ? text + TEXT_MOST - 1 : text + sizeof PRELOAD - 1;
	bool there = i != SIZE_MAX && cut_out(list, guest ? guest : away), changed = there;
	if (guest) {
		set(p, i, PRELOAD, guest, list);
		i = variable(p, SOCKET, text);
		set(p, i, SOCKET, socket, "");
		changed = true;
	} else if (there && *list) {
		set(p, i, PRELOAD, list, "");
	} else if (there) {
		take_out(p, i);
	}
	free(text);
	return !changed || write_down(p) ? 0 : -1;
}

static int edit(pid_t pid, const char *guest, const char *socket, const char *away,
		struct ms_err *err)
{
	struct program p = {.pid = pid};
	bool good = look(&p) && !change(&p, guest, socket, away);
	free(p.all.v);
	free(p.strings);
	return good ? 0 : ms_err_set(err, "its environment cannot be changed");
}

int exec_env_preload(pid_t pid, const char *guest, const char *socket, struct ms_err *err)
{
	return edit(pid, guest, socket, NULL, err);
}

int exec_env_remove(pid_t pid, const char *away, struct ms_err *err)
{
	return edit(pid, NULL, NULL, away, err);
}
