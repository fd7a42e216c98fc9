/* SPDX-License-Identifier: MIT
 * Chooses file names for outputs that are not text and would otherwise go to a terminal.
 */
#include "out.h"

#include "libcommon/base/arena.h"
#include "libcommon/base/dest.h"
#include "libcommon/base/err.h"
#include "libcommon/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HEAD 65536 /* bytes searched for a marker */

static const struct file_kind kinds[FORMAT_EXPORT + 1] = {
	[FORMAT_JSON] = {".json", "{\"format\":\"memscope-report\""},
	[FORMAT_CSV] = {".csv", "site,live_bytes,live_blocks,peak_bytes,"},
	[FORMAT_HTML] = {".html", "<p>Made by ms-report of MemScope."},
	[FORMAT_SARIF] = {".sarif", "\"driver\":{\"name\":\"MemScope\""},
	[FORMAT_JUNIT] = {".xml", "<testsuite name=\"memscope "},
};

struct file_kind file_kind_of(enum format f)
{
	return kinds[f];
}

const char *own_name(struct ms_arena *a, const char *input, const char *ending)
{
	static const char *const endings[] = {".d", ".trace", ".db"};
	if (!ending)
		return NULL;
	size_t n = strlen(input);
	while (n && input[n - 1] == '/')
		n--;
	const char *name = input + n;
	while (name > input && name[-1] != '/')
		name--;
	n = (size_t)(input + n - name);
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
		size_t k = strlen(endings[i]);
		if (n > k && strncmp(name + n - k, endings[i], k) == 0)
			n -= k;
	}
	if (!n || name[0] == '-' || strspn(name, ".") >= n)
		return ms_arena_printf(a, "report%s", ending);
	return ms_arena_printf(a, "%.*s%s", (int)n, name, ending);
}

static bool has_marker(const struct ms_dest *p, const char *marker)
{
	char head[HEAD];
	int fd = openat(p->folder, p->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	ssize_t n = fd < 0 || !marker ? -1 : read(fd, head, sizeof head);
	ms_close(fd);
	return n > 0 && memmem(head, (size_t)n, marker, strlen(marker));
}

int own_name_room(const struct output *output, const char **kept, bool move, struct ms_err *err)
{
	static char old[NAME_MAX + 2];
	struct ms_dest p;
	struct stat st;
	int rc = 0;
	*kept = NULL;
	if (ms_dest_find(&p, output->path, err) != 0)
		return -1;
	snprintf(old, sizeof old, "%s~", p.name);
	bool file = S_ISREG(p.st.st_mode) && !p.followed && p.fd < 0 && ms_dest_ours(&p.st);
	if (p.fd >= 0 || p.followed || (p.st.st_mode && !file)) {
		rc = ms_err_set(err,
				"cannot write '%s': it exists and is not a file of yours; use "
				"--%s%cFILE for another name, or --%s%c- for the terminal",
				output->path, output->name, output->joint, output->name,
				output->joint);
	} else if (file && !has_marker(&p, output->file.marker)) {
		/* RENAME_NOREPLACE: a backup created in the meantime is not replaced either */
		*kept = old;
		bool there = fstatat(p.folder, old, &st, AT_SYMLINK_NOFOLLOW) == 0;
		if (!there && move)
			there = renameat2(p.folder, p.name, p.folder, old, RENAME_NOREPLACE) != 0 &&
				errno == EEXIST;
		if (there || strlen(p.name) + 1 > NAME_MAX)
			rc = ms_err_set(err,
					"cannot write '%s': it exists already, and so does '%s'; "
					"name another file, or move one of them away",
					output->path, old);
	}
	ms_dest_close(&p);
	return rc;
}
