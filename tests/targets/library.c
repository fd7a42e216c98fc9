/* SPDX-License-Identifier: MIT
 * Allocations that the C library makes for the program: strdup, getline, asprintf and their like.
 */
#include "truth.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <wchar.h>

static char buffer[1 << 16];
static char line_of[3000];

static SITE char *copy(const char *s)
{
	return STRDUP(s);
}

static SITE char *copy_part(const char *s, size_t n)
{
	return TM_NEW(strnlen(s, n) + 1, strndup(s, n));
}

static SITE wchar_t *copy_wide(const wchar_t *s)
{
	return TM_NEW((wcslen(s) + 1) * sizeof *s, wcsdup(s));
}

/* glibc begins with 120 bytes and doubles, or takes what is needed if that is more. */
static SITE void lines(void)
{
	char *line = NULL;
	size_t size = 0;
	for (;;) {
		char *old = line;
		size_t had = size;
		struct tm_old was = {0, 0, 0, 0, 0};
		tm_enter();
		if (old)
			was = tm_replace(old);
		ssize_t n = getline(&line, &size, stdin);
		if (!old) {
			/* Twice inside: the first block lived only inside the call when it was too
			 * small. */
			if (size > 120) {
				tm_alloc(__func__, line, 120);
				was = tm_replace(line);
				tm_replaced(__func__, was, line, line, size);
			} else {
				tm_alloc(__func__, line, size);
			}
		} else if (size != had) {
			tm_replaced(__func__, was, old, line, size);
		} else {
			tm_kept(was, old);
		}
		tm_leave();
		if (n < 0)
			break;
		tm_say_number("line", (long)n);
	}
	FREE(line);
}

/* From 50 to 99 characters glibc before 2.37 prints into a first block of 100 and shrinks that; later
 * ones take one block when the length is known, the one of this size that was freed last. */
static SITE char *print(int n)
{
	static const char text[] =
		"of sixty or so characters that go through the printf of the library";
	size_t size = (size_t)snprintf(NULL, 0, "%d %s", n, text) + 1;
	char *freed = MALLOC(size), *p = NULL;
	uintptr_t exact = (uintptr_t)freed;
	FREE(freed);
	tm_enter();
	if (asprintf(&p, "%d %s", n, text) != (int)size - 1)
		_exit(8);
	if ((uintptr_t)p == exact) {
		tm_alloc(__func__, p, size);
	} else {
		tm_alloc(__func__, p, 100);
		tm_replaced(__func__, tm_replace(p), p, p, size);
	}
	tm_leave();
	return p;
}

static void feed(void)
{
	int fd = memfd_create("lines", 0);
	static const int lengths[] = {3, 50, 119, 120, 200, 10, 2000, 2900, 1};
	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		memset(line_of, 'a' + (int)i, sizeof line_of);
		line_of[lengths[i]] = '\n';
		if (write(fd, line_of, (size_t)lengths[i] + 1) < 0)
			_exit(9);
	}
	lseek(fd, 0, SEEK_SET);
	dup2(fd, 0);
	close(fd);
	setvbuf(stdin, buffer, _IOFBF, sizeof buffer);
}

int main(void)
{
	tm_pure = 1;
	feed();
	char *a = copy("a string"), *b = copy("");
	char *c = copy_part("a longer string", 8);
	wchar_t *w = copy_wide(L"wide");
	lines();
	for (int i = 0; i < 20; i++)
		FREE(print(i));
	char *kept = print(1000);
	tm_say_number("printed", (long)strlen(kept));
	FREE(a);
	FREE(b);
	FREE(c);
	FREE(w);
	return 0;
}
