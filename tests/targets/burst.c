/* SPDX-License-Identifier: MIT
 * Has so many MiB for a moment, between two samples, and says what the kernel keeps of that. Before that it waits for a line on
 * standard input, if there is one to come; "twice": and again afterwards.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void burst(size_t bytes)
{
	char *p = malloc(bytes);
	memset(p, 'x', bytes);
	free(p);
}

static void say(void)
{
	char line[256];
	FILE *f = fopen("/proc/self/status", "r");
	while (f && fgets(line, sizeof line, f))
		if (strncmp(line, "VmHWM:", 6) == 0)
			printf("%lld\n", atoll(line + 6) * 1024);
	fflush(stdout);
	if (f)
		fclose(f);
}

/* burst MIB..: one after the other, a line read before each but the first. */
int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (i > 1)
			getchar();
		burst((size_t)atoi(argv[i]) << 20);
		say();
	}
	return 0;
}
