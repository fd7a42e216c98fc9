/* SPDX-License-Identifier: MIT
 * Recording of a process that is already running.
 *
 *   attach_look     checks permission, finds functions to hook       process not disturbed
 *                   (hijack.c, attach_plan.c)
 *   attach_prepare  removes what an earlier recorder left, then      one thread stops
 *                   maps image, gate, slots, session and
 *                   private memory (attach_remote.c)
 *   attach_begin    starts the session                               nothing stops
 *   attach_go       replaces entries, moves threads out of them      all threads stop
 *   attach_detach   restores entries, unmaps memory                  all threads stop
 *
 * The recording itself is as for a launched program, but the guest waits for nothing, and the
 * table of modules is ours (attach_modules.c).
 */
#include "attach.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "attach_private.h"
#include "hook_late.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/clock.h"
#include "libcommon/proc/proc.h"
#include "ms-record/base/descriptor.h"
#include "ms-record/base/packet.h"
#include "ms-record/session/hook_spec.h"
#include "ms-record/session/pool.h"
#include "ms-record/heap/preexisting.h"
#include "ms-record/session/session.h"

#define PRIVATE_BYTES (UINT64_C(224) << 20)
#define PRIVATE_LEAST (UINT64_C(12) << 20)
#define AGAIN_MOST 50
/* How long to wait for a process that may be about to exec: for the first change, for another
 * change after the last one, and in total. */
#define CHANGE_NS UINT64_C(100000000)
#define CHANGED_NS UINT64_C(1000000000)
#define CHANGES_MOST_NS UINT64_C(5000000000)
#define SESSION_RANGES 2u
#define TRACED_MOST 1500 /* tries while a debugger traces the process: half a minute */
#define AGAIN_NS 20000000
#define HELP_NS UINT64_C(120000000000)
#define INSIDE_NS 2000000
#define INSIDE_MOST_NS 200000000
#define KILLED_MOST 3

const struct attach_times *attach_times(const struct attach *a)
{
	return &a->shared.times;
}

void attach_tells(struct attach *a, const char *socket)
{
	a->socket = socket;
}

const char *attach_reason(const char *text)
{
	static const char *const begins[] = {"cannot attach to ", "cannot record ", "cannot run "};
	bool cut = false, quoted = false;
	for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
		cut |= !strncmp(text, begins[i], strlen(begins[i]));
	for (const char *p = text; cut && *p; p++) {
		quoted ^= *p == '\'';
		if (!quoted && p[0] == ':' && p[1] == ' ')
			return p + 2;
	}
	return text;
}

void attach_hold(struct attach *a, struct hijack_stop *stopped, uint64_t entry_sp)
{
	a->held = stopped;
	a->entry_sp = entry_sp;
}

pid_t attach_pid(const struct attach *a)
{
	return a->pid;
}

const char *attach_program(const struct attach *a)
{
	return a->exe;
}

/* ---- looking ---- */

static struct attach *attach_new(pid_t pid, bool launched, const struct hooks *hooks)
{
	struct attach *a = ms_xcalloc(1, sizeof *a);
	a->pid = pid;
	a->launched = launched;
	a->hooks = hooks;
	a->h = (struct hijack){.proc = -1, .pidfd = -1, .mem = -1};
	a->channel[0] = a->channel[1] = a->memfd = -1;
	return a;
}

/* Examines the process. *may is set if trying later may succeed, because a library may not be
 * loaded yet. */
static int look(struct attach *a, const char *root, bool *may, struct ms_err *err)
{
	*may = false;
	if (hijack_open(&a->h, a->pid, root ? root : "/proc", err))
		return -1;
	a->memory = attach_memory_of(&a->h);
	pid_t seen, sharer = attach_sharer(a, &seen);
	if (sharer)
		return attach_refuse_sharer(a, "attach to", sharer, err);
	ssize_t n = readlinkat(a->h.proc, "exe", a->exe, sizeof a->exe - 1);
	a->exe[n > 0 ? n : 0] = '\0';
	/* Locks the process's /proc folder until this process and its helper have ended. */
	bool locked = !flock(a->h.proc, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK;
	*may = locked; /* during an exec, a process has no mappings for a moment */
	if (attach_maps_read(&a->maps, a->h.proc, err) || attach_find_earlier(a, err))
		return -1;
	if (!locked)
		return ATTACH_REFUSE(
			a, err,
			"another ms-record is attaching to it or detaching from it; try again");
	if (attach_find_targets(a, err))
		return -1;
	/* Checks with the expected addresses of the slot pages (in free gaps of the address space)
	 * whether jumps from the functions' entries would reach the pages. */
	for (uint32_t i = 0; i < a->near_count; i++) {
		struct near *p = &a->shared.near[i];
		if (p->fresh)
			p->page = attach_maps_room(&a->maps, p->low, p->high, MG_NEAR_BYTES, 0);
	}
	return attach_plan(a, err);
}

/* Tells whether the process started less than a second ago: its libraries may not be loaded yet. */
static bool just_began(const struct attach *a)
{
	uint64_t ticks = (uint64_t)sysconf(_SC_CLK_TCK), now = ms_clock_ns(CLOCK_BOOTTIME);
	return now / (1000000000 / ticks) - a->h.start_time < ticks;
}

/* Returns a hash of the executable's path, the code mappings and the stack's end, all of which an
 * exec changes; loading a library changes the mappings. */
static uint64_t fingerprint(const struct attach_maps *m, const char *exe)
{
	uint64_t sum = 0;
	for (; *exe; exe++)
		sum = sum * 31 + (unsigned char)*exe;
	for (size_t i = 0; i < m->n; i++) {
		const struct attach_map *v = &m->v[i];
		if (v->exec)
			sum = (sum ^ v->start ^ v->inode << 20) * UINT64_C(0x9e3779b97f4a7c15);
		else if (!strcmp(v->path, "[stack]"))
			sum ^= v->end;
	}
	return sum;
}

bool attach_changed(const struct attach *a)
{
	struct attach_maps now = {0};
	struct ms_err ignored = {0};
	char exe[sizeof a->exe];
	if (a->launched || !a->exe[0] || hijack_over(a->h.proc))
		return false; /* also if it was refused before its program was looked at */
	ssize_t n = readlinkat(a->h.proc, "exe", exe, sizeof exe - 1);
	exe[n > 0 ? n : 0] = '\0';
	bool changed = attach_maps_read(&now, a->h.proc, &ignored) ||
		       fingerprint(&now, exe) != fingerprint(&a->maps, a->exe);
	attach_maps_free(&now);
	return changed;
}

/* Returns -1. If the process has ended meanwhile, replaces the error by a message that it has
 * ended. */
static int failed(const struct attach *a, struct ms_err *err)
{
	if (a->launched || a->h.proc < 0 || !hijack_over(a->h.proc))
		return -1;
	*err = (struct ms_err){0};
	return ATTACH_REFUSE(a, err, "it has since ended");
}

int attach_look(struct attach **made, pid_t pid, bool launched, const struct hooks *hooks,
		const char *root, struct ms_err *err)
{
	bool may;
	uint64_t start = clock_mono(), until = start + CHANGE_NS;
	*made = attach_new(pid, launched, hooks);
	while (look(*made, root, &may, err)) {
		if (launched || root || !may || hijack_over((*made)->h.proc))
			return failed(*made, err);
		usleep(AGAIN_NS / 1000);
		uint64_t now = clock_mono();
		if (attach_changed(*made) && now < start + CHANGES_MOST_NS)
			until = now + CHANGED_NS;
		if (!just_began(*made) && now > until)
			return failed(*made, err);
		attach_free(*made);
		*made = attach_new(pid, launched, hooks);
		*err = (struct ms_err){0};
	}
	return 0;
}

void attach_forget(struct attach *a)
{
	hijack_close(&a->h);
	a->entered = false;
}

void attach_free(struct attach *a)
{
	if (!a)
		return;
	attach_forget(a);
	hook_late_forget(a->late);
	attach_maps_free(&a->maps);
	attach_image_free(&a->image);
	descriptor_close(a->channel[0]);
	descriptor_close(a->channel[1]);
	descriptor_close(a->memfd);
	free(a);
}

bool attach_ended(const struct attach *a)
{
	struct pollfd p = {a->h.pidfd, POLLIN, 0};
	return p.fd < 0 ? !hijack_alive(&a->h) : poll(&p, 1, 0) > 0;
}

/* ---- the helper ---- */

struct work {
	struct attach *a;
	int (*f)(void *, void *);
	int result;
};

static void *work(void *arg)
{
	struct work *w = arg;
	w->result = w->f(w->a, &w->a->shared);
	return NULL;
}

/* Runs `f` in a new thread of this process, not in the helper process: with ptrace_scope 1, only a
 * parent may trace. When the thread ends, the kernel resumes threads that `f` left stopped. */
static int help_here(struct attach *a, int (*f)(void *, void *), int *result)
{
	struct work w = {a, f, ATTACH_FAILED};
	sigset_t all, before;
	pthread_t thread;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	errno = pthread_create(&thread, NULL, work, &w);
	bool good = !errno && !pthread_join(thread, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	*result = w.result;
	return good ? 0 : -1;
}

static int call_helper(struct attach *a, int (*f)(void *, void *), int *result)
{
	if (a->held) {
		*result = f(a, &a->shared);
		return 0;
	}
	if (a->launched)
		return help_here(a, f, result);
	return hijack_helper(f, a, &a->shared, sizeof a->shared, result);
}

/* Returns the pause before the next try, in ns. It doubles while threads are found inside the guest
 * image: each thread leaves the image once it gets to run. */
static long pause_of(const struct attach *a, int result)
{
	if (result != ATTACH_INSIDE)
		return AGAIN_NS;
	return a->leaves < 7 ? INSIDE_NS << (a->leaves - 1) : INSIDE_MOST_NS;
}

/* Runs `f` in the helper and repeats it if not all threads stopped in time, or if some were inside
 * the guest image. Repeats attach_restore even if the helper was killed. */
static int help(struct attach *a, int (*f)(void *, void *), struct ms_err *err)
{
	uint64_t until = clock_mono() + HELP_NS;
	a->leaves = 0;
	for (int i = 0, traced = 0, killed = 0; i < AGAIN_MOST && clock_mono() < until;) {
		int result = ATTACH_AGAIN;
		a->tries = (unsigned)i;
		if (call_helper(a, f, &result) && (f != attach_restore || ++killed > KILLED_MOST))
			return errno == ETIMEDOUT
				       ? ms_err_set(err,
						    "its threads were stopped for too long, and "
						    "resumed before all was done; try again")
				       : ms_err_sys(err, "the helper process of ms-record failed");
		if (result == ATTACH_DONE)
			return 0;
		if (result == ATTACH_FAILED)
			return ms_err_set(err, "%s", a->shared.err.text);
		a->leaves += result == ATTACH_INSIDE;
		struct timespec pause = {0, pause_of(a, result)};
		i += result == ATTACH_AGAIN;
		traced += result == ATTACH_TRACED;
		if (traced == TRACED_MOST)
			return ms_err_set(err, "%s", a->shared.err.text);
		memset(&a->shared.err, 0, sizeof a->shared.err);
		nanosleep(&pause, NULL);
	}
	return ms_err_set(err,
			  "cannot stop the threads of process %d: one of them does not return from "
			  "the kernel, or gets no processor; try again",
			  (int)a->pid);
}

static int take_back_earlier(struct attach *a, struct ms_err *err)
{
	if ((a->adopted && attach_image_make(&a->image, a->shared.image, err)) ||
	    help(a, attach_restore, err))
		return -1;
	attach_image_free(&a->image);
	a->release_count = 0;
	a->shared.restored = false;
	if (!a->shared.times.left)
		return 0;
	return ATTACH_REFUSE(a, err,
			     "its threads still run code of an earlier recorder; try again");
}

/* ---- mapping ---- */

/* Returns half of what is left of a resource limit, less `bytes`; UINT64_MAX = no limit. The other
 * half is left for the process itself. */
static uint64_t share(const struct attach *a, int limit, const char *status, const char *label,
		      uint64_t bytes)
{
	struct rlimit l;
	if (prlimit(a->pid, (enum __rlimit_resource)limit, NULL, &l) || l.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	uint64_t used = ms_proc_status_number(status, label, 0) * 1024;
	uint64_t half = l.rlim_cur > used ? (l.rlim_cur - used) / 2 : 0;
	return half > bytes ? half - bytes : 0;
}

/* Tells whether the kernel refuses to overcommit memory: mapped memory then counts even if it is
 * never touched. */
static bool is_strict(void)
{
	char text[16];
	return ms_proc_text_at(AT_FDCWD, "/proc/sys/vm/overcommit_memory", text, sizeof text) &&
	       text[0] == '2';
}

/* Chooses the size of the guest's private memory, which uses RAM only when touched; small if the
 * address space is limited or all memory is locked. Returns 0, or -1 with `err` set. */
static int choose_private(struct attach *a, struct ms_err *err)
{
	char text[4096] = "";
	uint64_t most = PRIVATE_BYTES;
	bool known = ms_proc_text_at(a->h.proc, "status", text, sizeof text);
	if ((known && ms_proc_status_number(text, "\nVmLck:", 0)) || is_strict())
		most = PRIVATE_LEAST;
	uint64_t space = share(a, RLIMIT_AS, text, "\nVmSize:", a->session_bytes);
	uint64_t data = share(a, RLIMIT_DATA, text, "\nVmData:", 0);
	most = space < most ? space : most;
	most = data < most ? data : most;
	a->private_bytes = most & ~UINT64_C(4095);
	if (most >= PRIVATE_LEAST)
		return 0;
	return ATTACH_REFUSE(a, err,
			     "its memory is limited (ulimit -%c), and recording needs more than "
			     "half of what is left",
			     space < PRIVATE_LEAST ? 'v' : 'd');
}

/* Checks that the mapped files are ours: other threads of the process kept running, and may have
 * closed our descriptors and opened other files under the same numbers. */
static int check_mapped(const struct attach *a, struct ms_err *err)
{
	struct attach_maps maps;
	struct stat st;
	if (attach_maps_read(&maps, a->h.proc, err))
		return -1;
	const struct attach_map *image = attach_maps_at(&maps, a->shared.image);
	const struct attach_map *session = attach_maps_at(&maps, a->shared.session);
	bool good = image && !strncmp(image->path, "/memfd:" MG_IMAGE_NAME " ",
				      sizeof "/memfd:" MG_IMAGE_NAME);
	good = good && session && !fstat(a->memfd, &st) && session->inode == st.st_ino;
	attach_maps_free(&maps);
	if (good)
		return 0;
	return ATTACH_REFUSE(a, err,
			     "it closes and reopens its descriptors at the same time; try again");
}

static int map_guest(struct attach *a, struct ms_err *err)
{
	a->session_bytes = pool_attached_bytes(a->pid, a->forks);
	if (choose_private(a, err))
		return -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, a->channel))
		return ms_err_sys(err, "making a socket failed");
	for (uint32_t i = 0; i < a->near_count; i++)
		if (a->shared.near[i].fresh)
			a->shared.near[i].page = 0; /* until now, `page` was only the expected
						       address */
	if (help(a, attach_map, err))
		return -1;
	a->release[0] = (struct range){a->shared.session, a->session_bytes};
	a->release[1] = (struct range){a->shared.private, a->private_bytes};
	a->release_count = SESSION_RANGES;
	attach_image_free(&a->image);
	if (attach_image_make(&a->image, a->shared.image, err))
		return -1;
	/* Until an entry is replaced, no thread can have entered the guest image, so the image may
	 * be unmapped on failure. */
	if (!a->adopted) {
		a->release[a->release_count++] = (struct range){a->shared.image, a->image.bytes};
		a->release[a->release_count++] = (struct range){a->shared.gate, 4096};
	}
	for (uint32_t i = 0; i < a->near_count; i++)
		if (a->shared.near[i].fresh)
			a->release[a->release_count++] =
				(struct range){a->shared.near[i].page, MG_NEAR_BYTES};
	char byte;
	ssize_t got = packet_take(a->channel[0], &byte, 1, MSG_DONTWAIT, &a->memfd);
	if (got != 1 || a->memfd < 0) {
		errno = got == 1 ? EMFILE : errno; /* the file did not come with the byte */
		return ms_err_sys(err, "the memory that the process shares with ms-record (memfd) "
				       "could not be opened");
	}
	return check_mapped(a, err);
}

uint64_t attach_more_room(struct attach *a, uint64_t low, uint64_t high)
{
	struct ms_err ignored = {0};
	struct near *n = &a->shared.near[a->near_count];
	if (a->near_count == NEAR_MOST)
		return 0;
	attach_maps_free(&a->maps);
	if (attach_maps_read(&a->maps, a->h.proc, &ignored))
		return 0;
	*n = (struct near){.low = low, .high = high, .fresh = true};
	a->near_count++;
	memset(&a->shared.err, 0, sizeof a->shared.err);
	if (help(a, attach_map_near, &ignored) || !n->page)
		a->near_count--;
	return n->page;
}

/* ---- the session ---- */

/* Fills in the bounds of the main thread's stack and its stack pointer at program start. */
static void learn_stack(const struct attach *a, struct mg_manifest *m)
{
	struct ms_proc_stat st;
	enum { START_STACK = 28 };
	for (size_t i = 0; i < a->maps.n; i++) {
		if (strcmp(a->maps.v[i].path, "[stack]"))
			continue;
		m->main_high = a->maps.v[i].end;
		m->main_low = a->maps.v[i].start;
	}
	if (ms_proc_stat_at(a->h.proc, &st) && st.fields > START_STACK)
		m->main_entry = st.field[START_STACK];
	if (a->entry_sp)
		m->main_entry = a->entry_sp;
}

static void set_owner(struct mg_manifest *m)
{
	struct ms_proc_stat s;
	struct stat ns;
	int folder = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder >= 0 && ms_proc_stat_at(folder, &s) && !stat("/proc/self/ns/pid", &ns)) {
		m->owner = (uint32_t)getpid();
		m->owner_start = s.field[MS_STAT_START];
		m->owner_namespace = (uint32_t)ns.st_ino;
	}
	descriptor_close(folder);
}

static void fill_manifest(struct attach *a)
{
	struct mg_manifest *m = attach_image_manifest(&a->image);
	a->manifest_at = a->image.base + a->image.manifest;
	m->gate = a->shared.gate;
	memcpy(a->image.content + (m->gate_variable - a->image.base), &m->gate, sizeof m->gate);
	m->debug_state = a->manifest.debug_state;
	m->session = a->shared.session;
	m->session_bytes = a->session_bytes;
	m->private = a->shared.private;
	m->private_bytes = a->private_bytes;
	m->target = (uint64_t)a->pid;
	m->target_start = a->h.start_time;
	snprintf(m->socket, sizeof m->socket, "%s", a->socket ? a->socket : "");
	learn_stack(a, m);
	set_owner(m);
	for (uint32_t i = 0; i < a->target_count; i++)
		m->hooks[i] = a->targets[i].patch.hook;
	m->hook_count = a->target_count;
	a->manifest = *m;
}

/* Writes the slots (code to which the hooked functions' entries jump). No thread can execute new
 * slots yet; slots reused from an earlier attachment are written with the same content. */
static int write_slots(const struct attach *a, struct ms_err *err)
{
	const struct mg_manifest *m = &a->manifest;
	for (uint32_t i = 0; i < a->target_count; i++) {
		const struct target *t = &a->targets[i];
		uint8_t slot[MG_SLOT_BYTES];
		uint64_t hook = a->manifest_at + offsetof(struct mg_manifest, hooks) +
				i * sizeof(struct mg_hook);
		uint64_t enter = t->patch.hook.kind == MG_HOOK_FREE     ? m->enter_free
				 : t->patch.hook.kind == MG_HOOK_LINKER ? m->enter_linker
				 : t->patch.hook.kind == MG_HOOK_LEAVE  ? m->enter_linker
				 : t->patch.hook.kind == MG_HOOK_CUSTOM ? m->enter_custom
									: m->enter_alloc;
		patch_slot(&t->patch, enter, hook, slot);
		if (hijack_write(&a->h, t->patch.hook.slot, slot, sizeof slot))
			return ms_err_sys(err, "writing to the process's memory failed");
	}
	return 0;
}

/* Tells whether the guest's mappings are all gone, because the process runs another program. */
static bool has_lost_all(const struct attach *a)
{
	const uint64_t at[] = {a->shared.image, a->shared.session};
	struct attach_maps maps = {0};
	struct ms_err ignored = {0};
	bool lost = !attach_maps_read(&maps, a->h.proc, &ignored);
	for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
		const struct attach_map *m = attach_maps_at(&maps, at[i]);
		lost &= !m || strncmp(m->path, "/memfd:memscope", sizeof "/memfd:memscope" - 1);
	}
	attach_maps_free(&maps);
	return lost;
}

/* Unmaps everything that was mapped in the process, after the attachment failed. Returns -1 with
 * `err` set. */
static int undo(struct attach *a, struct ms_err *err)
{
	struct ms_err ignored = {0};
	if (a->entered && a->release_count > SESSION_RANGES)
		a->release_count = SESSION_RANGES;
	a->manifest.hook_count = a->entered ? a->manifest.hook_count : 0;
	if (a->release_count && !has_lost_all(a))
		help(a, attach_restore, &ignored);
	return failed(a, err);
}

int attach_prepare(struct attach *a, bool forks, struct ms_err *err)
{
	a->shared.times.adopted = a->adopted;
	a->forks = forks;
	if ((a->adopted || a->release_count) && take_back_earlier(a, err))
		return failed(a, err);
	memset(&a->shared.err, 0, sizeof a->shared.err);
	if (map_guest(a, err) || attach_plan(a, err))
		return undo(a, err);
	fill_manifest(a);
	return write_slots(a, err) ? undo(a, err) : 0;
}

struct session *attach_begin(struct attach *a, const struct session_options *o,
			     struct writer *writer, struct output *out, uint64_t *buffer_used,
			     struct hook_results *hooks, struct ms_err *err)
{
	struct session *s =
		session_new(o, writer, out, a->pid, buffer_used, a->forks, a->memfd, err);
	if (!s) {
		undo(a, err);
		return NULL;
	}
	a->memfd = -1;
	if (a->shared.blind)
		session_forbid_clock(s);
	snprintf(s->mem->allocator, sizeof s->mem->allocator, "%s", a->allocator);
	s->mem->own[0][0] = a->shared.session;
	s->mem->own[0][1] = a->shared.session + a->session_bytes;
	s->mem->own[1][0] = a->shared.private;
	s->mem->own[1][1] = a->shared.private + a->private_bytes;
	s->mem->own[2][0] = a->image.base;
	s->mem->own[2][1] = a->image.base + a->image.bytes;
	s->mem->unfiltered = !hijack_filtered(s->process.folder);
	s->mem->guest_ready = 1; /* the guest counts as ready even before its first event */
	/* Without --hook, threads of a sampled process do not wait until the functions of a module
	 * that they load are hooked: the process is polled rarely, so they would wait for long. */
	s->mem->late_wanted = a->manifest.debug_state && (a->hooks->n || !s->mem->sample_bytes);
	for (uint32_t i = 0; i < a->target_count; i++)
		s->mem->exit_hooked |= a->targets[i].patch.hook.kind == MG_HOOK_LEAVE;
	a->late = hook_late_begin(s, a);
	for (size_t i = 0; i < a->hooks->n; i++)
		if (a->placed[i])
			hook_late_placed(s, i, hooks);
	return s;
}

/* Tells whether glibc's allocator is the only one: with others, glibc's heap does not hold all
 * blocks. */
static bool is_glibc(const struct attach *a)
{
	return !strcmp(a->allocator, "glibc") || !strcmp(a->allocator, "glibc (static)");
}

int attach_go(struct attach *a, struct session *s, struct ms_err *err)
{
	a->entered = true; /* set before the attempt, because a failure may leave some entries
			      replaced */
	if (help(a, attach_patch, err)) {
		a->entered = !a->shared.untouched;
		return undo(a, err);
	}
	a->release_count = SESSION_RANGES;
	a->shared.times.hooks = a->target_count;
	if (!a->launched)
		preexisting_begin(s, &a->h, is_glibc(a), a->shared.tps, a->shared.tp_count);
	return 0;
}

void attach_detach(struct attach *a)
{
	struct ms_err err = {0};
	if (!a->entered)
		return;
	a->entered = false;
	memset(&a->shared.err, 0, sizeof a->shared.err);
	a->shared.restored = false;
	a->shared.times.leave_ns = 0;
	a->shared.times.leave_stops = 0;
	if (attach_ended(a))
		return;
	if (help(a, attach_restore, &err) && !attach_ended(a)) {
		a->shared.times.gave_up = !a->shared.restored;
		snprintf(a->shared.times.trouble, sizeof a->shared.times.trouble, "%.200s",
			 err.text);
	}
}
