/* SPDX-License-Identifier: MIT
 * Asks debuginfod servers for debug files, within a time limit.
 */
#include "symbols_debuginfod.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "libcommon/base/clock.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/library.h"

/* Lists the functions of libdebuginfod that are used; they have not changed since its first
 * release. */
struct library {
	void *(*begin)(void);
	int (*find_debuginfo)(void *client, const unsigned char *id, int id_size, char **path);
	void (*set_progress)(void *client, int (*progress)(void *client, long a, long b));
	void (*set_data)(void *client, void *data);
	void *(*get_data)(void *client);
	void (*end)(void *client);
};

struct ms_debuginfod {
	uint64_t until_ns;
	void *client;
	const char *trouble;
};

static const char out_of_time[] = "the time limit was reached, some debug information is missing "
				  "(--symbols=debuginfod:DURATION raises the limit)";

static struct library library;
static bool loaded;

/* Progress callback of libdebuginfod. Returns a value other than 0 to stop waiting. */
static int progress(void *client, long a, long b)
{
	(void)a;
	(void)b;
	const struct ms_debuginfod *d = library.get_data(client);
	return d && ms_clock_ns(CLOCK_MONOTONIC) >= d->until_ns;
}

static void load(void)
{
	static const char *const names[] = {
		"debuginfod_begin",          "debuginfod_find_debuginfo",
		"debuginfod_set_progressfn", "debuginfod_set_user_data",
		"debuginfod_get_user_data",  "debuginfod_end"};
	_Static_assert(sizeof names == sizeof library, "a function for each name");
	loaded = ms_library_load("libdebuginfod.so.1", names, sizeof names / sizeof *names,
				 &library);
}

struct ms_debuginfod *ms_debuginfod_new(uint64_t until_ns)
{
	struct ms_debuginfod *d = ms_xcalloc(1, sizeof *d);
	const char *urls = getenv("DEBUGINFOD_URLS");
	d->until_ns = until_ns;
	if (!urls || !*urls) {
		d->trouble = "DEBUGINFOD_URLS names no server";
		return d;
	}
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, load);
	if (!loaded) {
		d->trouble = "libdebuginfod.so.1 is not installed";
		return d;
	}
	d->client = library.begin();
	if (!d->client) {
		d->trouble = "libdebuginfod.so.1 failed to initialize";
		return d;
	}
	library.set_data(d->client, d);
	library.set_progress(d->client, progress);
	return d;
}

void ms_debuginfod_free(struct ms_debuginfod *d)
{
	if (d && d->client)
		library.end(d->client);
	free(d);
}

char *ms_debuginfod_find(struct ms_debuginfod *d, const uint8_t *id, size_t id_size)
{
	char *path = NULL;
	if (!d->client || !id_size || id_size > 64)
		return NULL;
	if (ms_clock_ns(CLOCK_MONOTONIC) >= d->until_ns) {
		d->trouble = out_of_time;
		return NULL;
	}
	int fd = library.find_debuginfo(d->client, id, (int)id_size, &path);
	if (fd >= 0)
		close(fd);
	else if (ms_clock_ns(CLOCK_MONOTONIC) >= d->until_ns)
		d->trouble = out_of_time;
	return fd < 0 ? NULL : path;
}

const char *ms_debuginfod_trouble(const struct ms_debuginfod *d)
{
	return d->trouble;
}
