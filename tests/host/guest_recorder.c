/* SPDX-License-Identifier: MIT
 * The guest's test bench: a recorder of its own, which starts a program, drains and decodes its
 * rings, checks every rule of layout.h that it can see, and prints what it counted as "name value"
 * lines.
 *
 * usage: guest_recorder [name=value]... LIBRARY -- COMMAND [ARG...]
 *   verify, free_stacks, sequence   0 or 1
 *   sample=N       bytes between sample points
 *   lap=N          bytes of the first laps
 *   rings=N        how many
 *   null=1         read nothing, only move the tail
 *   stop=N         stop moving tails after N rounds
 *   wait_ms=N      --overflow
 *   dump=1         print each record
 *   keep_dead=1    never free a ring
 *
 * The lines go to the file named by GUEST_TOTALS, if it is set. Status: the command's; 99 = a rule
 * was broken, said on standard error.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ms-record/base/cpu.h"
#include "ms-record/guest/layout.h"

#define FRAMES_MAX 65536u
#define WHOLE_MOST 64u

static struct options {
	long verify, free_stacks, sequence, lap, rings, null, stop, wait_ms, dump, keep_dead,
		sample, recount;
} opt = {.lap = 65536 - MG_SLACK, .rings = 64, .wait_ms = 60000};

static const struct option_name {
	const char *name;
	long *value;
} option_names[] = {
	{"verify", &opt.verify},     {"free_stacks", &opt.free_stacks},
	{"sequence", &opt.sequence}, {"lap", &opt.lap},
	{"rings", &opt.rings},       {"null", &opt.null},
	{"stop", &opt.stop},         {"wait_ms", &opt.wait_ms},
	{"dump", &opt.dump},         {"keep_dead", &opt.keep_dead},
	{"sample", &opt.sample},     {"recount", &opt.recount},
};

static uint64_t counted_from = UINT64_MAX, counted; /* recount: events of then */

struct event {
	uint64_t stamp, address, size, old, before;
	uint32_t kind, ring, depth, order;
	uint64_t root, leaf;
};

/* Holds what the reader of one ring knows. */
struct reader {
	uint64_t tail, offset, last;
	uint64_t stamp; /* of the last record with one */
	uint32_t frames;
	uint64_t copied, copy_bytes; /* of the copy under way */
	uint64_t frame[FRAMES_MAX];
	struct {
		uint32_t frames;
		uint64_t frame[WHOLE_MOST];
	} wholes[MG_WHOLES];
};

static struct mg_session *session;
static struct mg_ring *rings;
static unsigned char *data;
static struct reader *readers;
static struct event *events;
static size_t event_count, event_room;
static uint64_t short_allocs, short_frees, known_allocs, kinds[16], flags_seen[8], broken, deepest,
	frames_sent, records, bytes_read;
static pid_t child;

static void wrong(const char *what, uint64_t a, uint64_t b)
{
	if (broken++ < 10)
		fprintf(stderr, "guest_recorder: %s (%#llx, %#llx)\n", what, (unsigned long long)a,
			(unsigned long long)b);
}

static struct event *new_event(void)
{
	if (event_count == event_room) {
		event_room = event_room ? 2 * event_room : 1 << 16;
		events = realloc(events, event_room * sizeof(*events));
		if (!events)
			exit(98);
	}
	return &events[event_count++];
}

/* The stack of a record: `keep` outermost frames of the one before, then `count` words. */
static void take_stack(struct reader *r, uint64_t w0, const uint64_t *frames)
{
	uint32_t count = w0 >> 16 & 0xffff, keep = (uint32_t)(w0 >> 32);
	if (keep > r->frames || keep + count > FRAMES_MAX) {
		wrong("a record keeps more frames than there are", keep, r->frames);
		return;
	}
	memcpy(r->frame + keep, frames, count * 8);
	r->frames = keep + count;
	frames_sent += count;
	if (r->frames > deepest)
		deepest = r->frames;
}

static void take_event(struct reader *r, uint32_t ring, uint32_t fixed, const uint64_t *w)
{
	uint32_t kind = w[0] & 0xff, flags = w[0] >> 8 & 0xff;
	struct event *e = new_event();
	*e = (struct event){
		.kind = kind, .ring = ring, .stamp = w[1], .order = (uint32_t)event_count};
	if (kind == MG_FAILED) {
		e->size = w[2];
	} else {
		e->address = w[2];
		e->size = fixed > 3 ? w[3] : 0;
	}
	if (kind == MG_REALLOC) {
		e->old = w[4];
		e->before = w[5];
		if (e->before >= e->stamp)
			wrong("realloc's stamps are not in order", e->before, e->stamp);
	}
	for (int i = 0; i < 8; i++)
		flags_seen[i] += flags >> i & 1;
	if (flags & MG_F_STACK && !(flags & MG_F_COPIED)) {
		take_stack(r, w[0], w + fixed);
		if (r->frames) {
			e->root = r->frame[0];
			e->leaf = r->frame[r->frames - 1];
		}
		e->depth = r->frames;
	}
	if (flags & MG_F_COPIED && !r->copied)
		wrong("a copied stack without a copy", w[0], 0);
	r->copied = 0;
	if (w[1] < r->last && kind != MG_FREE)
		wrong("stamps of one ring run backwards", w[1], r->last);
	r->last = w[1];
}

/* A short record, as the full one that it stands for. */
static uint32_t take_short(struct reader *r, uint32_t ring, const uint64_t *w)
{
	uint64_t full[4 + 255] = {0};
	uint32_t count = w[0] >> 8 & 0xff;
	records++;
	if (w[0] >> 63) {
		full[0] = MG_FREE;
		full[1] = r->stamp += (w[0] & ~MG_SHORT_FREE) >> MG_SHORT_FREE_SHIFT;
		full[2] = (w[0] & ((UINT64_C(1) << MG_SHORT_FREE_SHIFT) - 1)) << 4;
		kinds[MG_FREE]++;
		short_frees++;
		take_event(r, ring, 3, full);
		return 1;
	}
	full[0] = MG_ALLOC | MG_F_STACK << 8 | count << 16 | (w[0] >> 16 & 0xffff) << 32;
	full[1] = r->stamp += w[0] >> 32;
	full[2] = w[1] & (MG_ADDRESS_END - 1);
	full[3] = w[1] >> MG_SHORT_ADDRESS;
	memcpy(full + 4, w + 2, count * 8);
	kinds[MG_ALLOC]++;
	short_allocs++;
	take_event(r, ring, 4, full);
	return 2 + count;
}

/* An allocation with a whole stack, or one that is known: as the full record that it stands for. */
static uint32_t take_whole(struct reader *r, uint32_t ring, const uint64_t *w)
{
	uint64_t full[4 + WHOLE_MOST] = {0}, before[WHOLE_MOST];
	uint32_t count = w[0] >> 16 & 0xffff, place = w[0] >> 32, frames = r->frames;
	if (place >= MG_WHOLES || count > WHOLE_MOST || (!count && !r->wholes[place].frames)) {
		wrong("a stack that stands nowhere", place, count);
		return 4 + count;
	}
	if (count)
		memcpy(r->wholes[place].frame, w + 4, (r->wholes[place].frames = count) * 8);
	uint64_t n = r->wholes[place].frames;
	full[0] = MG_ALLOC | (w[0] & 0xff00) | n << 16;
	full[1] = r->stamp = w[1];
	full[2] = w[2];
	full[3] = w[3];
	memcpy(full + 4, r->wholes[place].frame, n * 8);
	memcpy(before, r->frame, n * 8);
	records++;
	kinds[MG_ALLOC]++;
	take_event(r, ring, 4, full);
	if (!count) { /* what was taken before is unchanged */
		known_allocs++;
		frames_sent -= n;
		memcpy(r->frame, before, n * 8);
		r->frames = frames;
	}
	return 4 + count;
}

/* One record; returns its words, or 0 for a wrap. */
static uint32_t take_record(struct reader *r, uint32_t ring, const uint64_t *w)
{
	static const uint8_t fixed_words[] = {0, 4, 3, 6, 3, 1, 4, 3, 3, 4, 1, 4, 3};
	uint32_t kind = w[0] & 0xff, count = w[0] >> 16 & 0xffff, fixed;
	if (w[0] >> 63 || kind == MG_ALLOC_SHORT)
		return take_short(r, ring, w);
	if (kind == MG_ALLOC_WHOLE)
		return take_whole(r, ring, w);
	if (kind == 0 || kind >= sizeof(fixed_words)) {
		wrong("unknown kind of record", w[0], r->offset);
		exit(99);
	}
	kinds[kind]++;
	records++;
	fixed = fixed_words[kind];
	if (opt.dump)
		printf("%u: kind %u flags %llu count %u keep %llu stamp %llu %llx %llx\n", ring,
		       kind, (unsigned long long)(w[0] >> 8 & 0xff), count,
		       (unsigned long long)(w[0] >> 32), (unsigned long long)w[1],
		       (unsigned long long)w[2], (unsigned long long)w[3]);
	if (kind != MG_WRAP && kind != MG_PUSH)
		r->stamp = w[1];
	switch (kind) {
	case MG_WRAP:
		return 0;
	case MG_PUSH:
		take_stack(r, w[0], w + 1);
		break;
	case MG_THREAD:
	case MG_EPOCH:
		r->frames = 0;
		break;
	case MG_MARK:
		printf("mark %.*s\n", (int)w[2], (const char *)(w + 3));
		return fixed + (uint32_t)((w[2] + 7) / 8);
	case MG_COPY:
		if (w[0] >> 32 != r->copy_bytes && w[0] >> 32 != 0)
			wrong("a copy's parts do not follow each other", w[0] >> 32, r->copy_bytes);
		r->copy_bytes = (w[0] >> 32) + w[3];
		r->copied = 1;
		break;
	default:
		take_event(r, ring, fixed, w);
	}
	return fixed + count;
}

static bool drain_ring(uint32_t i)
{
	struct reader *r = &readers[i];
	uint64_t head = __atomic_load_n(&rings[i].head, __ATOMIC_ACQUIRE);
	if (head == r->tail)
		return false;
	bytes_read += head - r->tail;
	if (head - r->tail > 2 * (session->window_bytes))
		wrong("more bytes unread than fit", head, r->tail);
	while (r->tail < head && !opt.null) {
		const uint64_t *w = (const void *)(data + i * session->window_bytes + r->offset);
		uint32_t words = take_record(r, i, w);
		r->offset = words ? r->offset + words * 8 : 0;
		r->tail += words ? words * 8 : 8;
		if (r->offset > session->window_bytes) {
			wrong("a record passes the window's end", r->offset, i);
			exit(99);
		}
	}
	r->tail = head;
	__atomic_store_n(&rings[i].tail, head, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&rings[i].waiting, __ATOMIC_RELAXED)) {
		__atomic_fetch_add(&rings[i].tail_futex, 1, __ATOMIC_SEQ_CST);
		syscall(202, &rings[i].tail_futex, 1, 1, NULL, NULL, 0);
		uint32_t twice = 2 * rings[i].size_allowed;
		rings[i].size_allowed = twice < MG_RING_LARGEST ? twice : MG_RING_LARGEST;
	}
	return true;
}

/* A ring goes back to the pool when it is drained and its thread gone. */
static void reclaim(uint32_t i)
{
	char path[64];
	if (opt.keep_dead || rings[i].state != MG_RING_TAKEN || !rings[i].tid ||
	    rings[i].head != readers[i].tail)
		return;
	snprintf(path, sizeof(path), "/proc/%d/task/%u", (int)child, rings[i].tid);
	if (access(path, F_OK) == 0 || rings[i].head != readers[i].tail)
		return;
	rings[i].tid = 0;
	rings[i].pending = rings[i].head = rings[i].tail = 0;
	rings[i].size_allowed = (uint32_t)opt.lap; /* R9 */
	readers[i].tail = readers[i].offset = 0;
	__atomic_store_n(&rings[i].state, MG_RING_FREE, __ATOMIC_RELEASE);
	__atomic_fetch_or(&session->free_rings[i / 64], UINT64_C(1) << i % 64, __ATOMIC_SEQ_CST);
	if (!session->rings_wanted)
		return;
	__atomic_fetch_add(&session->rings_futex, 1, __ATOMIC_SEQ_CST);
	syscall(202, &session->rings_futex, 1, 1, NULL, NULL, 0);
}

/* The mappings of the child, for the guest: struct mg_range. */
static void list_ranges(void)
{
	char path[64], line[4352], perms[5];
	unsigned long start, end;
	uint32_t round = session->ranges_round + 1, n = 0;
	struct mg_range *list = (void *)((char *)session + session->ranges_offset);
	list += (round & 1) * session->range_max;
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)child);
	__atomic_store_n(&session->ranges_wanted, 0, __ATOMIC_SEQ_CST);
	FILE *f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f) && n < session->range_max)
		if (sscanf(line, "%lx-%lx %4s", &start, &end, perms) == 3 && perms[0] == 'r' &&
		    (perms[1] == 'w' || perms[2] == 'x'))
			list[n++] = (struct mg_range){start, end | (perms[2] == 'x')};
	if (f)
		fclose(f);
	session->ranges_count[round & 1] = n;
	__atomic_store_n(&session->ranges_round, round, __ATOMIC_RELEASE);
}

/* Makes the guest count its stamps after so many events, as ms-record does when the processor's
 * clock began anew. */
static void recount(void)
{
	counted_from = cpu_counter() + session->tsc_hz;
	session->sequence = counted_from;
	__atomic_fetch_or(&session->stamps, MG_STAMPS_ALL, __ATOMIC_SEQ_CST);
	__atomic_store_n(&session->blind, 1, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&session->epoch, 1, __ATOMIC_SEQ_CST);
}

static void round_of(long round)
{
	bool any = false;
	if (opt.recount && counted_from == UINT64_MAX && (long)event_count >= opt.recount)
		recount();
	session->heartbeat = opt.sequence || session->blind ? session->sequence : cpu_counter();
	if (session->ranges_wanted || (!session->ranges_round && session->guest_ready))
		list_ranges();
	for (uint32_t i = 0; i < session->ring_max; i++) {
		if (!opt.stop || round < opt.stop)
			any |= drain_ring(i);
		if (round % 4 == 0)
			reclaim(i);
	}
	if (any)
		return;
	__atomic_store_n(&session->sleeping, 1, __ATOMIC_SEQ_CST);
	struct timespec t = {.tv_nsec = 1000000};
	syscall(202, &session->sleeping, 0, 1, &t, NULL, 0);
	session->sleeping = 0;
}

static int make_session(void)
{
	uint64_t page = 4096, window = MG_RING_LARGEST + MG_SLACK;
	struct mg_session s = {
		.magic = MG_MAGIC, .version = MG_LAYOUT_VERSION, .window_bytes = window};
	s.module_max = s.modules_ready = 1024;
	s.ring_max = (uint32_t)opt.rings;
	s.modules_offset = (sizeof s + page - 1) & ~(page - 1);
	s.rings_offset = s.modules_offset + s.module_max * sizeof(struct mg_module);
	s.range_max = 1024;
	s.ranges_offset = s.rings_offset + s.ring_max * sizeof(struct mg_ring);
	s.data_offset = (s.ranges_offset + 2 * s.range_max * sizeof(struct mg_range) + page - 1) &
			~(page - 1);
	s.clock = opt.sequence ? MG_CLOCK_SEQUENCE : MG_CLOCK_TSC;
	s.tsc_hz = 2000000000;
	s.wait_ticks = (uint64_t)opt.wait_ms * 2000000;
	s.free_stacks = (uint32_t)opt.free_stacks;
	s.verify = (uint32_t)opt.verify;
	s.sample_bytes = (uint64_t)opt.sample;
	s.state = MG_ON;
	uint64_t all = s.data_offset + s.ring_max * window;
	int fd = memfd_create("guest_recorder", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, (off_t)all))
		return -1;
	session = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (session == MAP_FAILED)
		return -1;
	*session = s;
	rings = (void *)((char *)session + s.rings_offset);
	data = (unsigned char *)session + s.data_offset;
	readers = calloc(s.ring_max, sizeof(*readers));
	for (uint32_t i = 0; i < s.ring_max; i++) {
		rings[i].size_allowed = (uint32_t)opt.lap;
		rings[i].state = MG_RING_FREE;
		session->free_rings[i / 64] |= UINT64_C(1) << i % 64;
	}
	return fd;
}

static int listen_on(char *name, size_t size)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	snprintf(name, size, "guest-recorder-%d", (int)getpid());
	size_t n = strlen(name);
	memcpy(a.sun_path + 1, name, n);
	int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (bind(s, (void *)&a, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n)) ||
	    listen(s, 16))
		return -1;
	return s;
}

/* Answers one handshake: the first is wanted, the others are not. */
static void answer(int s, int memory)
{
	static bool taken;
	struct mg_handshake h;
	int c = accept(s, NULL, NULL);
	if (c < 0 || recv(c, &h, sizeof(h), 0) != sizeof(h) || h.magic != MG_MAGIC) {
		close(c);
		return;
	}
	bool want = !taken && (pid_t)h.pid == child;
	struct mg_handshake_reply w = {MG_MAGIC, MG_LAYOUT_VERSION, want, 0};
	w.bytes = session->data_offset + session->ring_max * session->window_bytes;
	struct iovec v = {&w, sizeof(w)};
	union {
		struct cmsghdr h;
		char b[CMSG_SPACE(sizeof(int))];
	} control = {.h = {.cmsg_len = CMSG_LEN(sizeof(int)),
			   .cmsg_level = SOL_SOCKET,
			   .cmsg_type = SCM_RIGHTS}};
	memcpy(CMSG_DATA(&control.h), &memory, sizeof(int));
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
	if (want) {
		m.msg_control = &control;
		m.msg_controllen = sizeof(control);
	}
	taken |= want;
	sendmsg(c, &m, MSG_NOSIGNAL);
	close(c);
}

static int by_stamp(const void *a, const void *b)
{
	const struct event *x = a, *y = b;
	if (x->stamp != y->stamp)
		return x->stamp < y->stamp ? -1 : 1;
	return x->kind == MG_FREE ? -1 : y->kind == MG_FREE ? 1 : x->order < y->order ? -1 : 1;
}

/* The merged order must make sense: no address given out twice, none freed that is not live. */
static void check_order(void)
{
	size_t room = 1 << 12;
	while (room < 2 * event_count + 2)
		room *= 2;
	uint64_t *live = calloc(room, 8), violations = 0, unknown = 0, held = 0;
	struct event *all = calloc(2 * event_count + 1, sizeof(*all));
	size_t n = 0;
	for (size_t i = 0; i < event_count; i++) {
		struct event e = events[i];
		counted += e.stamp >= counted_from;
		if (e.kind == MG_REALLOC) {
			all[n++] = (struct event){.stamp = e.before,
						  .kind = MG_FREE,
						  .address = e.old,
						  .order = e.order};
			e.kind = MG_ALLOC;
		}
		if (e.kind == MG_ALLOC || e.kind == MG_FREE)
			all[n++] = e;
	}
	qsort(all, n, sizeof(*all), by_stamp);
	for (size_t i = 0; i < n; i++) {
		size_t h = all[i].address * UINT64_C(0x9e3779b97f4a7c15) % room;
		while (live[h] && live[h] >> 1 != all[i].address)
			h = (h + 1) % room;
		bool is_live = live[h] & 1;
		live[h] = all[i].address << 1 | (all[i].kind == MG_ALLOC);
		held += all[i].kind == MG_ALLOC ? !is_live : -(uint64_t)is_live;
		if (all[i].kind == MG_ALLOC && is_live)
			violations++;
		if (all[i].kind == MG_FREE && !is_live)
			unknown++;
	}
	printf("double %llu\nunknown_frees %llu\nlive %llu\n", (unsigned long long)violations,
	       (unsigned long long)unknown, (unsigned long long)held);
	free(live);
	free(all);
}

static void print_totals(void)
{
	static const char *const names[] = {"",     "alloc",      "free",     "realloc", "failed",
					    "push", "thread",     "epoch",    "mark",    "copy",
					    "wrap", "user_alloc", "user_free"};
	static const char *const flags[] = {"stack",     "truncated", "copied",
					    "not_taken", "cut_copy",  "signal"};
	uint64_t t[9] = {0}, used = 0, waited = 0;
	for (uint32_t i = 0; i < session->ring_max; i++) {
		const struct mg_ring *r = &rings[i];
		const uint64_t v[] = {r->lost, r->verified, r->mismatched, r->copies, r->stalls};
		for (size_t k = 0; k < sizeof(v) / 8; k++)
			t[k] += v[k];
		used += r->head > 0;
		waited = r->waited_max > waited ? r->waited_max : waited;
	}
	for (int i = 1; i < 13; i++)
		printf("%s %llu\n", names[i], (unsigned long long)kinds[i]);
	for (int i = 0; i < 6; i++)
		printf("flag_%s %llu\n", flags[i], (unsigned long long)flags_seen[i]);
	printf("short_alloc %llu\nshort_free %llu\nknown_alloc %llu\n",
	       (unsigned long long)short_allocs, (unsigned long long)short_frees,
	       (unsigned long long)known_allocs);
	static const char *const sums[] = {"lost", "verified", "mismatched", "copies", "stalls"};
	for (int i = 0; i < 5; i++)
		printf("%s %llu\n", sums[i], (unsigned long long)t[i]);
	uint64_t bytes = 0;
	for (size_t i = 0; i < event_count; i++)
		if (events[i].kind == MG_ALLOC || events[i].kind == MG_REALLOC)
			bytes += events[i].size;
	printf("bytes %llu\ndeepest %llu\nframes_sent %llu\nring_bytes %llu\nrings_used "
	       "%llu\nwaited_max %llu\n",
	       (unsigned long long)bytes, (unsigned long long)deepest,
	       (unsigned long long)frames_sent, (unsigned long long)bytes_read,
	       (unsigned long long)used, (unsigned long long)waited);
	printf("modules %u\nlast_epoch %u\nready %u\ndisabled %u\nforks %u\n"
	       "no_ring_lost %llu\nearly %llu\n"
	       "reentry_lost %llu\ndropped_stacks %llu\nallocator %s\nwhy %s\n",
	       session->module_count, session->epoch, session->guest_ready, session->guest_disabled,
	       session->forks, (unsigned long long)session->no_ring_lost,
	       (unsigned long long)session->passed_early, (unsigned long long)session->reentry_lost,
	       (unsigned long long)session->not_taken, session->allocator, session->disabled_why);
	printf("roots");
	uint64_t seen[64];
	size_t n = 0;
	for (size_t i = 0; i < event_count && n < 64; i++) {
		size_t k = 0;
		while (k < n && seen[k] != events[i].root)
			k++;
		if (k == n && events[i].depth)
			printf(" %llx", (unsigned long long)(seen[n++] = events[i].root));
	}
	printf("\n");
}

int main(int argc, char **argv)
{
	int i = 1;
	char name[64];
	for (; i < argc && strchr(argv[i], '='); i++)
		for (size_t k = 0; k < sizeof(option_names) / sizeof(*option_names); k++) {
			size_t n = strlen(option_names[k].name);
			if (!strncmp(argv[i], option_names[k].name, n) && argv[i][n] == '=')
				*option_names[k].value = atol(argv[i] + n + 1);
		}
	if (argc - i < 3 || strcmp(argv[i + 1], "--"))
		return 98;
	int memory = make_session(), s = listen_on(name, sizeof(name));
	if (memory < 0 || s < 0)
		return 98;
	child = fork();
	if (!child) {
		setenv("LD_PRELOAD", argv[i], 1);
		setenv(MG_ENV_SOCKET, name, 1);
		execvp(argv[i + 2], argv + i + 2);
		_exit(127);
	}
	if (getenv("GUEST_TOTALS") && !freopen(getenv("GUEST_TOTALS"), "w", stdout))
		return 98;
	int status = 0;
	struct pollfd p = {.fd = s, .events = POLLIN};
	for (long round = 0; waitpid(child, &status, WNOHANG) == 0; round++) {
		if (poll(&p, 1, 0) > 0)
			answer(s, memory);
		round_of(round);
	}
	for (uint32_t r = 0; r < session->ring_max; r++)
		drain_ring(r);
	if (!opt.null)
		check_order();
	print_totals();
	printf("status %d\nbroken %llu\ncounted %llu\n", status, (unsigned long long)broken,
	       (unsigned long long)counted);
	fflush(stdout);
	if (broken)
		return 99;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
