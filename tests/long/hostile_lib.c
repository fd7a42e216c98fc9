/* SPDX-License-Identifier: MIT
 * A library that allocates: in a namespace of its own, with an allocator of its own (OWN), or with as much static TLS as there may be (TLS).
 */
#include <stdlib.h>
#include <string.h>

#ifdef TLS
static __thread char room[TLS] __attribute__((tls_model("initial-exec")));
#endif
#ifdef OWN
static char heap[1 << 20];
static size_t at;
void *malloc(size_t n)
{
	void *p = at + n + 16 < sizeof heap ? heap + at : NULL;
	at += (n + 15) & ~(size_t)15;
	return p;
}

void free(void *p)
{
	(void)p;
}
#endif

int work(int n)
{
	int sum = 0;
	for (int i = 0; i < n; i++) {
		char *p = malloc(64);
		if (!p)
			return -1;
		memset(p, 1, 64);
		sum += p[i % 64];
		free(p);
	}
#ifdef TLS
	memset(room, 1, sizeof room);
	sum += room[TLS - 1];
#endif
	return sum;
}

unsigned la_version(unsigned version);
unsigned la_version(unsigned version)
{
	return version;
}
