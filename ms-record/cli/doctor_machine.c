/* SPDX-License-Identifier: MIT
 * Examines the machine and our rights for --doctor.
 */
#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ms-record/base/cpu.h"
#include "doctor.h"
#include "ms-record/launch/launch.h"
#include "libcommon/proc/proc_text.h"
#include "libcommon/base/units.h"
#include "ms-record/base/descriptor.h"
#include "ms-record/control/control_options.h"

#define DISK_LITTLE (UINT64_C(256) << 20)
#define DISK_NONE (UINT64_C(1) << 20)
#define MEMORY_LITTLE (UINT64_C(256) << 20)

/* ---- the kernel ---- */

static void look_at_kernel(struct doctor *d)
{
	struct utsname u;
	char text[128];
	unsigned major = 0, minor = 0;
	if (!uname(&u) && strcmp(u.machine, MS_CPU) != 0)
		doctor_say(d, DOCTOR_NO, "machine",
			   "%s: only " CPU_NAME " Linux can record; its traces can be read here",
			   u.machine);
	else
		doctor_say(d, DOCTOR_OK, "machine", CPU_NAME);
	if (!doctor_read(d, "sys/kernel/osrelease", text, sizeof text))
		snprintf(text, sizeof text, "%s", u.release);
	text[strcspn(text, "\n")] = '\0';
	if (sscanf(text, "%u.%u", &major, &minor) != 2)
		doctor_say(d, DOCTOR_NOTE, "kernel", "unrecognized version '%s'", text);
	else if (major < 4 || (major == 4 && minor < 14))
		doctor_say(d, DOCTOR_NO, "kernel",
			   "Linux %u.%u is too old: 4.14 or later is needed to detect forks "
			   "(MADV_WIPEONFORK)",
			   major, minor);
	else if (major < 5 || (major == 5 && minor < 3))
		doctor_say(d, DOCTOR_NOTE, "kernel",
			   "Linux %u.%u lacks pidfds (added in 5.3): when a pid is reused, the new "
			   "process can be mistaken for the old one",
			   major, minor);
	else
		doctor_say(d, DOCTOR_OK, "kernel", "Linux %u.%u", major, minor);
	if (d->made)
		return;
	if (cpu_counter_usable())
		doctor_say(d, DOCTOR_OK, "clock", "the TSC runs at one rate on all cores");
	else
		doctor_say(d, DOCTOR_NOTE, "clock",
			   "the TSC is unreliable: timestamps come from a counter that all threads "
			   "share, which is slower");
}

/* ---- rights ---- */

static void look_at_rights(struct doctor *d)
{
	char text[64];
	doctor_read(d, "sys/kernel/yama/ptrace_scope", text, sizeof text);
	int scope = atoi(text);
	bool may = doctor_capable(d, CAP_SYS_PTRACE);
	bool target = d->opt->pids.n != 0; /* with -p, the examination of that process decides */
	enum doctor_how less = target ? DOCTOR_OK : DOCTOR_NOTE;
	if (scope >= 3)
		doctor_say(d, less, "ptrace_scope",
			   "3: no process can be attached to until the system is rebooted; "
			   "commands can be recorded, and --standby and --poll work");
	else if (scope == 0 || may)
		doctor_say(d, DOCTOR_OK, "ptrace_scope", "%d: running processes can be attached to",
			   scope);
	else if (scope == 1)
		doctor_say(d, less, "ptrace_scope",
			   "1: only root can attach to processes that ms-record did not start; use "
			   "sudo, sysctl kernel.yama.ptrace_scope=0, or --standby");
	else
		doctor_say(d, less, "ptrace_scope",
			   "%d: only root can attach to processes; use sudo or --standby", scope);
	if (may)
		doctor_say(d, DOCTOR_OK, "capabilities",
			   "SYS_PTRACE: other users' processes can be attached to");
	else if (!d->made && geteuid() == 0)
		doctor_say(d, less, "capabilities",
			   "root without the capability SYS_PTRACE cannot attach to processes of "
			   "other users or with more capabilities; start the container with "
			   "--cap-add SYS_PTRACE, or use --poll or --standby");
	else
		doctor_say(d, DOCTOR_OK, "capabilities",
			   "without SYS_PTRACE, only your own processes can be attached to; for "
			   "others use sudo");
}

/* Tells whether the kernel lets us trace our own child. */
static bool can_trace(void)
{
	pid_t child = fork();
	if (child == 0) {
		pause();
		_exit(0);
	}
	if (child < 0)
		return false;
	bool yes = !ptrace(PTRACE_SEIZE, child, NULL, NULL);
	kill(child, SIGKILL);
	while (waitpid(child, NULL, __WALL) < 0 && errno == EINTR)
		continue;
	return yes;
}

static const char *container_of(const struct doctor *d)
{
	static const char *const marks[] = {"docker", "kubepods", "libpod", "lxc", "containerd"};
	static const char *const files[] = {"1/cgroup", "self/cgroup", "1/environ"};
	char text[8192];
	for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
		if (!doctor_read(d, files[f], text, sizeof text))
			continue;
		for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
			if (strstr(text, marks[i]))
				return marks[i];
	}
	if (!d->made && !access("/.dockerenv", F_OK))
		return "docker";
	return !d->made && !access("/run/.containerenv", F_OK) ? "podman" : NULL;
}

static void look_at_container(struct doctor *d)
{
	char text[8192];
	const char *container = container_of(d);
	bool filtered = doctor_read(d, "self/status", text, sizeof text) &&
			ms_proc_status_number(text, "\nSeccomp:", 0);
	if (container)
		doctor_say(d, DOCTOR_OK, "container", "%s: processes outside it are not visible%s",
			   container,
			   doctor_capable(d, CAP_SYS_PTRACE) ? ""
							     : "; to attach, it may have to be "
							       "started with --cap-add SYS_PTRACE");
	else
		doctor_say(d, DOCTOR_OK, "container", "none detected");
	if (d->made ? !filtered : can_trace())
		doctor_say(d, DOCTOR_OK, "seccomp", "nothing forbids ptrace");
	else if (d->made)
		doctor_say(d, DOCTOR_NOTE, "seccomp",
			   "ms-record runs under a seccomp filter, which may forbid ptrace");
	else
		doctor_say(d, d->opt->pids.n ? DOCTOR_NO : DOCTOR_NOTE, "seccomp",
			   "ptrace is forbidden here, so no process can be attached to; add the "
			   "capability SYS_PTRACE to the container, or use --standby");
}

/* ---- room ---- */

static void look_at_memory(struct doctor *d)
{
	char text[8192], a[MS_UNIT_BUF], b[MS_UNIT_BUF];
	doctor_read(d, "meminfo", text, sizeof text);
	uint64_t free_kb = ms_proc_status_number(text, "\nMemAvailable:", UINT64_MAX / 1024);
	int fd = memfd_create("memscope-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		doctor_say(d, DOCTOR_NO, "memory", "cannot create shared memory: %s",
			   strerror(errno));
	else if (free_kb * 1024 < MEMORY_LITTLE + d->opt->session.buffer_bytes)
		doctor_say(d, DOCTOR_NOTE, "memory",
			   "only %s of memory is available, of which buffers can take %s: use a "
			   "smaller --buffer",
			   ms_format_size(a, free_kb * 1024),
			   ms_format_size(b, d->opt->session.buffer_bytes));
	else
		doctor_say(d, DOCTOR_OK, "memory",
			   "enough; /dev/shm is not used, and no memory is locked");
	descriptor_close(fd);
	if (doctor_read(d, "sys/vm/overcommit_memory", text, sizeof text) && atoi(text) == 2)
		doctor_say(
			d, DOCTOR_NOTE, "overcommit",
			"vm.overcommit_memory is 2: the address space that the recorder "
			"reserves counts against the commit limit, so programs may fail to start");
}

/* Checks that a trace can be written into its folder, and how much space is left there. */
static void look_at_disk(struct doctor *d)
{
	const char *out = d->opt->files.output, *slash = out ? strrchr(out, '/') : NULL;
	char folder[4096] = ".", a[MS_UNIT_BUF];
	struct statvfs fs;
	if (out && (!strncmp(out, "fd:", 3) || !strcmp(out, "-")))
		return;
	if (slash)
		snprintf(folder, sizeof folder, "%.*s", slash == out ? 1 : (int)(slash - out), out);
	if (statvfs(folder, &fs)) {
		doctor_say(d, DOCTOR_NO, "disk", "cannot write a trace to '%s': %s", folder,
			   strerror(errno));
		return;
	}
	uint64_t room = (uint64_t)fs.f_bavail * fs.f_frsize;
	if (access(folder, W_OK | X_OK))
		doctor_say(d, DOCTOR_NO, "disk", "cannot write a trace to '%s': %s; use -o", folder,
			   strerror(errno));
	else if (room < DISK_NONE)
		doctor_say(d, DOCTOR_NO, "disk", "no space is left in '%s'; use -o", folder);
	else if (room < DISK_LITTLE)
		doctor_say(d, DOCTOR_NOTE, "disk",
			   "only %s of disk space is left in '%s': limit the trace with --max-size",
			   ms_format_size(a, room), folder);
	else
		doctor_say(d, DOCTOR_OK, "disk", "enough free space in '%s'", folder);
}

/* ---- our own files ---- */

static void look_at_own_files(struct doctor *d)
{
	char *guest = launch_own_file("libmemscope-preload.so"), *snap = launch_own_file("ms-snap");
	if (!guest)
		doctor_say(d, DOCTOR_NO, "library",
			   "libmemscope-preload.so is neither in the folder of ms-record nor in "
			   "../lib/memscope: reinstall MemScope");
	else if (!launch_preloadable(&guest))
		doctor_say(d, DOCTOR_NO, "library",
			   "its path '%s' has a space or a colon, which LD_PRELOAD does not allow, "
			   "and no link to it can be created in XDG_CACHE_HOME or '~/.cache' "
			   "('/run' for root): install MemScope elsewhere",
			   guest);
	else
		doctor_say(d, DOCTOR_OK, "library", "it is here");
	if (!snap)
		doctor_say(d, DOCTOR_NOTE, "ms-snap",
			   "not in the folder of ms-record, so no symbols are appended to traces");
	MS_FREE(guest, snap);
}

void doctor_machine(struct doctor *d)
{
	look_at_kernel(d);
	look_at_rights(d);
	look_at_container(d);
	look_at_memory(d);
	look_at_disk(d);
	look_at_own_files(d);
}
