/* SPDX-License-Identifier: MIT
 * Fuzzes the snapshot reader: an image on standard input is refused with a message, or becomes a
 * database that its readers can trust.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "libcommon/base/err.h"
#include "libcommon/base/io.h"
#include "libcommon/snapshot/snapshot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct ms_err err = {0};
	int fd = memfd_create("image", 0);
	if (fd < 0 || ms_write_all(fd, data, n) != 0 || lseek(fd, 0, SEEK_SET) != 0 ||
	    dup2(fd, STDIN_FILENO) < 0)
		exit(2);
	close(fd);
	sqlite3 *db = ms_snapshot_open("-", NULL, 16 << 20, NULL, NULL, &err);
	if (!db && !err.text[0])
		abort();
	if (db && ms_sql_int(db, "SELECT count(*) FROM stack WHERE parent >= id", 1) != 0)
		abort();
	if (db)
		ms_sql_int(db, "SELECT count(*) FROM leaks, peak, hot, temporary", 0);
	sqlite3_close(db);
	return 0;
}
