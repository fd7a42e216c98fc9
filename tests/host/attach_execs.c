/* SPDX-License-Identifier: MIT
 * attach_execs SLEEP UNTIL PROGRAM ARG...: sleeps for so many ms, becomes itself anew again and again for UNTIL ms, then the program.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static long now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
	static char none[] = "0", until[24];
	if (argc < 4)
		return 2;
	if (atoi(argv[1])) {
		puts("sleeps");
		fflush(stdout);
		usleep((useconds_t)atoi(argv[1]) * 1000);
		snprintf(until, sizeof until, "%ld", now_ms() + atol(argv[2]));
		argv[1] = none;
		argv[2] = until;
	}
	if (now_ms() < atol(argv[2]))
		execv("/proc/self/exe", argv);
	else
		execv(argv[3], argv + 3);
	return 1;
}
