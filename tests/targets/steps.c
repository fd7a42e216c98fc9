/* SPDX-License-Identifier: MIT
 * Does what standard input says, a line each, and answers it with the time: "grow N" allocates and
 * touches N KiB, "drop" frees the last block, "fail" has an allocation fail, "fork" goes on in a
 * child alone, "until NAME" waits until there is a file NAME.PID, or ends after 20 minutes.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char *blocks[1000];
static int count;

__attribute__((noipa)) static void grow(size_t bytes)
{
	blocks[count] = malloc(bytes);
	memset(blocks[count++], 1, bytes);
}

__attribute__((noipa)) static void fail(void)
{
	struct rlimit before, little = {1 << 20, 1 << 20};
	getrlimit(RLIMIT_AS, &before);
	little.rlim_max = before.rlim_max;
	setrlimit(RLIMIT_AS, &little);
	void *p = malloc((size_t)64 << 20);
	setrlimit(RLIMIT_AS, &before);
	if (p)
		abort();
}

static void await(const char *name)
{
	char file[100];
	snprintf(file, sizeof file, "%.*s.%d", (int)strcspn(name, "\n"), name, (int)getpid());
	/* A hundred that look more often take the processor from what they wait for. */
	for (int i = 0; access(file, F_OK); i++) {
		if (i == 12000) {
			fprintf(stderr, "never: %s\n", file);
			exit(1);
		}
		usleep(100000);
	}
}

int main(void)
{
	char line[100];
	struct timespec t;
	setvbuf(stdin, NULL, _IONBF, 0);
	while (fgets(line, sizeof line, stdin)) {
		long n = strtol(line + strcspn(line, " \n"), NULL, 10);
		if (!strncmp(line, "grow", 4))
			grow((size_t)n << 10);
		else if (!strncmp(line, "drop", 4))
			free(blocks[--count]);
		else if (!strncmp(line, "fail", 4))
			fail();
		else if (!strncmp(line, "until ", 6))
			await(line + 6);
		else if (!strncmp(line, "fork", 4) && fork() > 0)
			return wait(NULL) < 0;
		clock_gettime(CLOCK_MONOTONIC, &t);
		printf("%lld\n", (long long)t.tv_sec * 1000000000 + t.tv_nsec);
		fflush(stdout);
	}
	return 0;
}
