/* SPDX-License-Identifier: MIT
 * Figures of control groups: version 2 and 1, groups around a group, limits that there are not.
 */
#include "ms-record/base/cgroup.c" /* it belongs to a tool, of which there is no library */

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/is.h"

static char top[] = "cgroup-XXXXXX";

/* Writes a file, with the folders that lead to it. */
static void put(const char *path, const char *text)
{
	char full[200];
	snprintf(full, sizeof full, "%s/%s", top, path);
	for (char *slash = full; (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		if (mkdir(full, 0700) && errno != EEXIST)
			perror(full);
		*slash = '/';
	}
	FILE *f = fopen(full, "w");
	if (f) {
		fputs(text, f);
		fclose(f);
	}
}

static void found(const char *text, const char *want)
{
	char path[MS_CGROUP_PATH] = "";
	put("proc/cgroup", text);
	char folder[100];
	snprintf(folder, sizeof folder, "%s/proc", top);
	int proc = open(folder, O_PATH | O_CLOEXEC);
	bool is_found = ms_cgroup_find(proc, path);
	close(proc);
	CHECK(is_found ? want && !strcmp(path, want) : !want, "'%s' of '%s'", path, text);
}

static struct cgroup read_group(const char *path)
{
	struct cgroup g = {.path = (char *)(uintptr_t)path};
	cgroup_read(&g, top);
	return g;
}

static void check_find(void)
{
	found("0::/\n", "");
	found("0::/user/app\n", "/user/app");
	found("0::/../../app\n", "/../../app");
	found("3:cpuset:/a\n4:memory:/b/c\n0::/d\n", "/memory/b/c");
	found("0::/d\n4:cpu,memory:/b\n", "/memory/b");
	found("4:memory:/\n0::/\n", "/memory");
	found("4:memory2:/b\n0::/d\n", "/d");
	found("4:cpu:/b\n", NULL);
	found("nonsense", NULL);
	found("", NULL);
}

static void check_two(void)
{
	put("a/memory.current", "900\n");
	put("a/memory.max", "1000\n");
	put("a/memory.high", "950\n");
	put("a/memory.events", "low 0\nhigh 5\nmax 3\noom 2\noom_kill 1\n");
	put("a/b/memory.current", "500\n");
	put("a/b/memory.max", "max\n");
	put("a/b/memory.high", "max\n");
	put("a/b/memory.events", "low 0\nhigh 1\nmax 0\noom 0\noom_kill 0\n");
	struct cgroup g = read_group("/a/b");
	is("its own", g.own_bytes, 500);
	is("nearer to its limit", g.bytes, 900);
	is("the smaller limit", g.limit, 950);
	is("high", g.events[CGROUP_HIGH], 6);
	is("max", g.events[CGROUP_MAX], 3);
	is("oom", g.events[CGROUP_OOM], 2);
	is("oom_kill", g.events[CGROUP_OOM_KILL], 1);
	put("a/b/memory.max", "501\n");
	g = read_group("/a/b");
	is("nearer itself", g.bytes, 500);
	is("its limit", g.limit, 501);
	g = read_group("/not/here");
	is("nothing at the top", g.bytes, UINT64_MAX);
	put("memory.current", "7\n");
	put("memory.max", "max\n");
	g = read_group("/not/here");
	is("the top", g.own_bytes, 7);
	is("no limit", g.limit, UINT64_MAX);
	g = read_group("/../../app");
	is("the top for a group outside", g.own_bytes, 7);
}

static void check_one(void)
{
	put("memory/memory.usage_in_bytes", "4000\n");
	put("memory/memory.limit_in_bytes", "9223372036854771712\n");
	put("memory/c/memory.usage_in_bytes", "80\n");
	put("memory/c/memory.limit_in_bytes", "100\n");
	put("memory/c/memory.failcnt", "12\n");
	put("memory/c/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n");
	struct cgroup g = read_group("/memory/c");
	is("version 1", g.own_bytes, 80);
	is("its limit", g.limit, 100);
	is("failures", g.events[CGROUP_MAX], 12);
	is("kills", g.events[CGROUP_OOM_KILL], 4);
	g = read_group("/memory");
	is("the top of version 1", g.own_bytes, 4000);
	is("has no limit", g.limit, UINT64_MAX);
	g = read_group("/memory/elsewhere");
	is("a path of the machine", g.own_bytes, 4000);
}

int main(void)
{
	char command[60];
	if (!mkdtemp(top))
		return 1;
	check_find();
	check_two();
	check_one();
	snprintf(command, sizeof command, "rm -r '%s'", top);
	return failures != 0 || system(command) != 0;
}
