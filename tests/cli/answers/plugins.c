// SPDX-License-Identifier: MIT
// Converts records with a plugin that is loaded and closed again for each job. It lies beside the program.
#include <dlfcn.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { JOBS = 20, RECORDS = 8000 };

struct record {
	char *key, *value;
};
typedef char *convert_fn(const char *);
typedef void finish_fn(void);

static struct record *records;
static char **results;

static void load_records(void)
{
	char text[80];
	records = calloc(RECORDS, sizeof(*records));
	results = calloc(RECORDS, sizeof(*results));
	for (unsigned i = 0; i < RECORDS; i++) {
		snprintf(text, sizeof(text), "key-%u", i);
		records[i].key = strdup(text);
		snprintf(text, sizeof(text), "the value that belongs to number %u", i * 7919);
		records[i].value = strdup(text);
	}
}

static int run_job(const char *path, unsigned job, size_t *bytes)
{
	void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!plugin) {
		fprintf(stderr, "%s\n", dlerror());
		return -1;
	}
	convert_fn *convert = (convert_fn *)dlsym(plugin, "convert");
	finish_fn *finish = (finish_fn *)dlsym(plugin, "finish");
	if (!convert || !finish)
		return -1;
	for (unsigned i = job % 2; i < RECORDS; i += 2) {
		free(results[i]);
		results[i] = convert(records[i].value);
		*bytes += strlen(results[i]);
	}
	finish();
	return dlclose(plugin);
}

int main(void)
{
	char self[4096], path[4200];
	size_t bytes = 0;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n < 0)
		return 1;
	self[n] = '\0';
	snprintf(path, sizeof(path), "%s/plugins_upper.so", dirname(self));
	load_records();
	for (unsigned job = 0; job < JOBS; job++)
		if (run_job(path, job, &bytes) != 0)
			return 1;
	printf("%zu bytes\n", bytes);
	for (unsigned i = 0; i < RECORDS; i++) {
		free(records[i].key);
		free(records[i].value);
		free(results[i]);
	}
	free(records);
	free(results);
	return 0;
}
