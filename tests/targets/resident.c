/* SPDX-License-Identifier: MIT
 * Memory that is resident for reasons known beforehand: resident CASE [then|wait|die].
 *
 *   pinned    10,000 blocks of 4,000 bytes are freed, and one of 40 bytes behind each stays
 *   trim      40 MiB in blocks of 1,000 bytes are freed, below one that stays; `then`: malloc_trim (of all)
 *   arenas    8 threads do that one after the other, 16 MiB each
 *   reserve   1 GiB of which 5 MiB are written, 64 MiB of zeros that are only read; 1 TiB mapped, of
 *             which 3 MiB and the last page are
 *   leak      20 MiB in blocks of 1 MiB - 4 KiB, written
 *   file      32 MiB of the file that is named next, mapped and read
 *   shared    8 MiB of a memfd, 4 MiB of System V, 2 MiB shared without a name, written; 1 MiB of a file in /dev/shm, written and, where there
 *             is one, a huge page
 *   large     24 blocks of 2 MiB in the heap (one that was mapped is freed before), of which every
 *             other one is freed
 *   zeros     nothing else: prints by how many MiB reading 64 MiB of zeros raises RSS here
 *
 * No large pages: they would make more resident than is written.
 */
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

static void *kept[20000];
static volatile char sink;

static void *fill(void *p, size_t n)
{
	return memset(p, 1, n);
}

void *pin(size_t n)
{
	return fill(malloc(n), n);
}

void *passing(size_t n)
{
	return fill(malloc(n), n);
}

void *reserve(size_t n)
{
	return malloc(n);
}

static void pinned(void)
{
	static void *big[10000];
	for (int i = 0; i < 10000; i++) {
		big[i] = passing(4000);
		kept[i] = pin(40);
	}
	for (int i = 0; i < 10000; i++)
		free(big[i]);
}

static void rise_and_fall(size_t bytes, void **stays)
{
	size_t n = bytes / 1000;
	void **v = mmap(NULL, n * sizeof *v, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);
	for (size_t i = 0; i < n; i++)
		v[i] = passing(1000);
	*stays = pin(64);
	for (size_t i = 0; i < n; i++)
		free(v[i]);
	munmap(v, n * sizeof *v);
}

static sem_t turn[9], end;

static void *run(void *arg)
{
	long k = (long)arg;
	sem_wait(&turn[k]);
	rise_and_fall(16 * MIB, &kept[k]);
	sem_post(&turn[k + 1]);
	sem_wait(&end);
	return NULL;
}

static void arenas(void)
{
	pthread_t t;
	sem_init(&end, 0, 0);
	for (int i = 0; i < 9; i++)
		sem_init(&turn[i], 0, 0);
	for (long i = 0; i < 8; i++)
		pthread_create(&t, NULL, run, (void *)i);
	sem_post(&turn[0]);
	sem_wait(&turn[8]);
}

static char *read_zeros(void)
{
	char *zeros = calloc(64, MIB);
	for (size_t i = 0; i < 64 * MIB; i += 4096)
		sink += zeros[i];
	return zeros;
}

static void reserved(void)
{
	kept[0] = reserve(1024 * MIB);
	fill(kept[0], 5 * MIB);
	kept[1] = read_zeros();
	char *map = mmap(NULL, MIB * MIB, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	fill(map, 3 * MIB);
	map[MIB * MIB - 1] = 1;
}

static void map_file(const char *path)
{
	int fd = open(path, O_RDONLY);
	const char *p = mmap(NULL, 32 * MIB, PROT_READ, MAP_SHARED, fd, 0);
	for (size_t i = 0; i < 32 * MIB; i += 4096)
		sink += p[i];
	kept[0] = (void *)p;
}

static void large(void)
{
	free(passing(4 * MIB)); /* the threshold rises to that */
	for (int i = 0; i < 24; i++)
		kept[i] = passing(2 * MIB);
	kept[24] = pin(64);
	for (int i = 0; i < 24; i += 2)
		free(kept[i]);
}

/* Maps a file and writes all of it. */
static void fill_file(int fd, size_t n)
{
	if (fd < 0 || ftruncate(fd, (off_t)n) ||
	    !fill(mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), n))
		abort();
	close(fd);
}

static void shared(void)
{
	int id = shmget(IPC_PRIVATE, 4 * MIB, IPC_CREAT | 0600);
	fill(shmat(id, NULL, 0), 4 * MIB);
	shmctl(id, IPC_RMID, NULL);
	fill_file(memfd_create("shared-fd", MFD_CLOEXEC), 8 * MIB);
	fill(mmap(NULL, 2 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0),
	     2 * MIB);
	char name[] = "/dev/shm/memscope-XXXXXX";
	fill_file(mkstemp(name), MIB);
	unlink(name);
	void *huge = mmap(NULL, 2 * MIB, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	if (huge != MAP_FAILED)
		fill(huge, 2 * MIB);
}

static long rss(void)
{
	char line[200];
	long bytes = 0;
	FILE *f = fopen("/proc/self/smaps_rollup", "r");
	while (f && fgets(line, sizeof line, f))
		if (!strncmp(line, "Rss:", 4))
			bytes = atol(line + 4) * 1024;
	fclose(f);
	return bytes;
}

static int print_zeros(void)
{
	long before = rss();
	kept[0] = read_zeros();
	printf("%ld\n", (rss() - before + (long)MIB / 2) / (long)MIB);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	setvbuf(stdout, NULL, _IONBF, 0);
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	if (!strcmp(what, "zeros"))
		return print_zeros();
	if (!strcmp(what, "pinned"))
		pinned();
	else if (!strcmp(what, "trim"))
		rise_and_fall(40 * MIB, &kept[0]);
	else if (!strcmp(what, "arenas"))
		arenas();
	else if (!strcmp(what, "reserve"))
		reserved();
	else if (!strcmp(what, "file"))
		map_file(argv[2]);
	else if (!strcmp(what, "shared"))
		shared();
	else if (!strcmp(what, "large"))
		large();
	else
		for (int i = 0; i < 20; i++)
			kept[i] = pin(MIB - 4096);
	if (!strcmp(argv[argc - 1], "then"))
		malloc_trim(0);
	printf("%ld\n", rss());
	if (!strcmp(argv[argc - 1], "wait"))
		getchar();
	if (!strcmp(argv[argc - 1], "die"))
		raise(SIGKILL);
	return 0;
}
