/* SPDX-License-Identifier: MIT
 * Allocates, then replaces itself by another target (churn), which has a trace and a truth of its
 * own.
 */
#include "truth.h"

#include <string.h>
#include <unistd.h>

static char path[4096], truth[4096];
static char *environment[1024];
static void *blocks[200];

static SITE void prepare(void)
{
	for (int i = 0; i < 200; i++)
		blocks[i] = MALLOC((size_t)i * 10);
	for (int i = 0; i < 200; i += 2)
		FREE(blocks[i]);
}

/* The successor's truth goes to a file of its own. */
static void change_truth(void)
{
	int n = 0;
	for (char **e = environ; *e && n < 1000; e++)
		if (strncmp(*e, "TRUTH_FILE=", 11) != 0)
			environment[n++] = *e;
	const char *file = getenv("TRUTH_FILE");
	if (!file || strlen(file) > 4000)
		return;
	strcpy(truth, "TRUTH_FILE=");
	strcat(truth, file);
	strcat(truth, ".exec");
	environment[n] = truth;
}

int main(void)
{
	tm_pure = 1;
	prepare();
	change_truth();
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 64);
	path[n < 0 ? 0 : n] = '\0';
	strcpy(strrchr(path, '/') + 1, "churn");
	tm_dump();
	char *arguments[] = {path, NULL};
	execve(path, arguments, environment);
	tm_say("no exec\n");
	return 1;
}
