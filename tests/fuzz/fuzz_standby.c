/* SPDX-License-Identifier: MIT
 * Fuzzes what a recorder takes from the holder of a process on standby: his answer, how he says
 * that the memory is laid out, and what is in it.
 *
 * Input: an answer, which is added to a sound one byte by byte; then pieces of memory { place low,
 * middle, high, length, bytes }.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "ms-record/base/packet.h"
#include "ms-record/drain/ring.h"
#include "ms-record/session/losses.h"

/* lay_out and judge are their own */
#include "ms-record/session/pool.c"
#include "ms-record/control/standby_attach.c"

#define MEMORY_MOST (UINT64_C(64) << 20)
#define PIECES 64

static struct pool_shape sound_shape(void)
{
	struct pool_shape s = {
		.image = {.module_max = 4,
			  .wide_count = 1,
			  .ring_max = 3,
			  .window_bytes = MG_RING_FIRST + MG_SLACK,
			  .entries_bytes = 4096},
		.each = {.module_max = 2, .ring_max = 2, .window_bytes = MG_RING_FIRST + MG_SLACK},
		.slot_max = 2,
		.head_serial = 1};
	lay_out(&s.each, 0);
	lay_out(&s.image, s.slot_max);
	s.slots_start = s.image.bytes;
	s.bytes = s.slots_start + s.slot_max * s.each.bytes;
	return s;
}

static size_t make_answer(struct standby_answer *a, const uint8_t *data, size_t n)
{
	*a = (struct standby_answer){.magic = MG_MAGIC,
				     .version = MG_LAYOUT_VERSION,
				     .ok = 1,
				     .pid = (uint32_t)getpid(),
				     .wake = 1,
				     .shape = sound_shape()};
	n = n < sizeof *a ? n : sizeof *a;
	for (size_t i = 0; i < n; i++)
		((uint8_t *)a)[i] = (uint8_t)(((uint8_t *)a)[i] + data[i]);
	return n;
}

static int make_memory_of(uint64_t bytes, const uint8_t *data, size_t n)
{
	int fd = memfd_create("memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (bytes > MEMORY_MOST)
		bytes = MEMORY_MOST;
	if (fd < 0 || ftruncate(fd, (off_t)bytes))
		exit(2);
	for (unsigned i = 0; i < PIECES && n >= 4 && bytes; i++) {
		uint64_t at = (data[0] | data[1] << 8 | (uint64_t)data[2] << 16) % bytes;
		size_t size = data[3] < n - 4 ? data[3] : n - 4;
		if (size > bytes - at)
			size = (size_t)(bytes - at);
		if (pwrite(fd, data + 4, size, (off_t)at) < 0)
			exit(2);
		data += 4 + size;
		n -= 4 + size;
	}
	fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
	return fd;
}

/* ---- recording ---- */

static void on_child(void *arg, struct pool *p, uint32_t slot)
{
	struct session *s = recording_of_child(p, slot);
	uint64_t limit;
	(void)arg;
	ring_read_all(s, UINT64_MAX, &limit);
	recording_free(s);
	pool_release_slot(p, slot, true);
}

static void record(struct standby_attach *w)
{
	static const struct session_options opt = {.buffer_bytes = 1 << 20, .depth = 512};
	static struct writer writer;
	uint64_t used = 0, limit;
	struct ms_err err = {0};
	struct session *s =
		session_attach_standby(&opt, &writer, NULL, getpid(), &used, &w->answer.shape,
				       w->answer.wake, w->memfd, &err);
	if (!s) {
		if (!err.text[0])
			abort();
		return;
	}
	w->memfd = -1;
	recording_begin(s);
	session_wake(s);
	ring_read_all(s, UINT64_MAX, &limit);
	pool_round(s->pool, on_child, NULL);
	for (uint32_t i = 0; i < s->rings.prepared; i++)
		if (s->rings.readers[i].taken)
			losses_take(s, &s->rings.readers[i]);
	ring_return(s, true);
	recording_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct standby_answer a;
	struct standby_attach w = {.connection = -1, .memfd = -1, .pidfd = -1};
	struct ms_err err = {0};
	struct stat st;
	int pair[2];
	size_t at = make_answer(&a, data, n);
	int memfd = make_memory_of(a.shape.bytes, data + at, n - at);
	if (fstat(memfd, &st) || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) ||
	    !packet_send(pair[1], &a, sizeof a, memfd))
		exit(2);
	w.connection = pair[0];
	if (receive(&w) == 0 && judge(&w, getpid(), st.st_ino, &err) == 0)
		record(&w);
	else if (!err.text[0])
		abort();
	standby_attach_free(&w);
	close(pair[1]);
	close(memfd);
	return 0;
}
