/* SPDX-License-Identifier: MIT
 * The environment of a process that is at the beginning of a program.
 *
 *   sp -> argc | argv[] | 0 | envp[] | 0 | auxv[] | ... strings ...
 *
 * The kernel has put this on the stack. A copy with a changed envp[] is written below it, the new
 * strings in between, and the program starts with sp at the copy. The arguments and environment
 * that the kernel reports do not change.
 */
#include "exec_env.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "ms-record/base/descriptor.h"
#include "ms-record/guest/layout.h"
#include "ms-record/ptrace/hijack.h"

#define WORDS_MOST (1u << 16)
#define TEXT_MOST 32768u
#define ROOM (96u << 10) /* maximum bytes used below sp, where the kernel leaves more */
#define PRELOAD "LD_PRELOAD="
#define SOCKET MG_ENV_SOCKET "="

struct program {
	struct hijack h; /* only pid and mem are used */
	struct cpu_regs regs;
	MS_ARRAY(uint64_t) all; /* words from sp to the end of auxv */
	size_t env, env_n;
	char *strings; /* new strings, each NUL-terminated */
	size_t bytes;
};

/* Advances *at past the next zero word; false = there is none. */
static bool to_zero(const uint64_t *words, size_t n, size_t *at)
{
	while (*at < n && words[*at])
		++*at;
	return ++*at <= n;
}

static bool look(struct program *p)
{
	uint64_t *words = p->all.v = ms_xcalloc(WORDS_MOST, sizeof *words);
	p->all.cap = WORDS_MOST;
	if (p->h.mem < 0 || cpu_regs_get(p->h.pid, &p->regs))
		return false;
	ssize_t bytes = pread(p->h.mem, words, 8 * WORDS_MOST, (off_t)p->regs.sp);
	size_t n = bytes > 0 ? (size_t)bytes / 8 : 0, at = 1;
	if (!to_zero(words, n, &at) || at != words[0] + 2)
		return false;
	p->env = at;
	if (!to_zero(words, n, &at))
		return false;
	p->env_n = at - p->env - 1;
	while (at < n && words[at])
		at += 2;
	p->all.n = at + 2;
	return p->all.n <= n;
}

/* Finds the variable that begins with `name`; returns its index in envp[], or SIZE_MAX. `text`
 * receives its string, truncated to TEXT_MAX bytes, which every value set by ms-record fits
 * into. */
static size_t variable(const struct program *p, const char *name, char *text)
{
	size_t bytes = strlen(name);
	for (size_t i = 0; i < p->env_n; i++) {
		uint64_t at = p->all.v[p->env + i];
		if (hijack_read(&p->h, at, text, bytes) || memcmp(text, name, bytes) != 0)
			continue;
		ssize_t n = pread(p->h.mem, text, TEXT_MOST - 1, (off_t)at);
		text[n > 0 ? n : 0] = '\0';
		return i;
	}
	return SIZE_MAX;
}

/* ---- changed ---- */

/* Sets variable `i` (SIZE_MAX = a new one) to a new string. */
static void set(struct program *p, size_t i, const char *name, const char *value, const char *rest)
{
	char *s = NULL;
	int n = asprintf(&s, "%s%s%s%s", name, value, *rest ? ":" : "", rest);
	if (n < 0)
		return;
	p->strings = ms_xrealloc(p->strings, p->bytes + (size_t)n + 1, 1);
	memcpy(p->strings + p->bytes, s, (size_t)n + 1);
	free(s);
	/* For now an offset in `strings`, which is smaller than any address. */
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
	if (hijack_write(&p->h, strings, p->strings, p->bytes) ||
	    hijack_write(&p->h, sp, p->all.v, 8 * p->all.n))
		return false;
	p->regs.sp = sp;
	return !cpu_regs_set(p->h.pid, &p->regs);
}

/* Removes `away` from a list separated by colons or blanks; false = it is not in the list. */
static bool cut_out(char *list, const char *away)
{
	size_t n = strlen(away);
	for (char *at = list; (at = strstr(at, away)); at++) {
		bool begins = at == list || strchr(": ", at[-1]);
		if (!begins || !strchr(": ", at[n])) /* strchr also finds the final NUL */
			continue;
		char *rest = at + n + (at[n] != '\0');
		memmove(at, rest, strlen(rest) + 1);
		return true;
	}
	return false;
}

static int change(struct program *p, const char *guest, const char *socket)
{
	char *text = ms_xcalloc(1, TEXT_MOST);
	size_t i = variable(p, PRELOAD, text);
	char *list = i == SIZE_MAX ? text + TEXT_MOST - 1 : text + sizeof PRELOAD - 1;
	bool there = i != SIZE_MAX && cut_out(list, guest);
	if (socket) {
		set(p, i, PRELOAD, guest, list);
		i = variable(p, SOCKET, text);
		set(p, i, SOCKET, socket, "");
	} else if (there && *list) {
		set(p, i, PRELOAD, list, "");
	} else if (there) {
		take_out(p, i);
	}
	free(text);
	return (!there && !socket) || write_down(p) ? 0 : -1;
}

int exec_env_change(pid_t pid, const char *guest, const char *socket, struct ms_err *err)
{
	char path[32];
	snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
	struct program p = {.h = {.pid = pid, .mem = open(path, O_RDWR | O_CLOEXEC)}};
	bool good = look(&p) && !change(&p, guest, socket);
	descriptor_close(p.h.mem);
	MS_FREE(p.all.v, p.strings);
	return good ? 0
		    : ms_err_set(err, "the recorder's library cannot be added to LD_PRELOAD in its "
				      "environment");
}
