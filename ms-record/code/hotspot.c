/* SPDX-License-Identifier: MIT
 * Reads the data that OpenJDK's virtual machine provides for debuggers: libjvm.so has a table of
 * its types' fields, by name, with the addresses of static fields. They lead to the machine's flags
 * and to the address range reserved for compiled code.
 *
 * The process may be hostile: values read from it are only compared or used as addresses to read
 * from, and all loops are bounded.
 */
#include "hotspot.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "libcommon/base/arena.h"
#include "ms-record/base/process.h"
#include "ms-record/ptrace/attach_elf.h"
#include "ms-record/ptrace/attach_maps.h"

enum { ENTRIES_MOST = 16384, FLAGS_MOST = 8192, FLAG_BYTES_MOST = 256 };

/* Describes an entry of HotSpot's table of C++ fields (VMStructEntry). struct type_entry is
 * HotSpot's VMTypeEntry. */
struct field_entry {
	uint64_t type, name, type_name;
	uint32_t is_static, unused;
	uint64_t offset, address;
};
struct type_entry {
	uint64_t type, super;
	uint32_t is[4];
	uint64_t bytes;
};

/* Lists the fields searched for. For static fields the value is read, for others the offset. */
enum { LOW, HIGH, FLAGS, FLAG_COUNT, FLAG_NAME, FLAG_ADDRESS, FIELDS };
static const char *const wanted[FIELDS][2] = {
	[LOW] = {"CodeCache", "_low_bound"}, [HIGH] = {"CodeCache", "_high_bound"},
	[FLAGS] = {"JVMFlag", "flags"},      [FLAG_COUNT] = {"JVMFlag", "numFlags"},
	[FLAG_NAME] = {"JVMFlag", "_name"},  [FLAG_ADDRESS] = {"JVMFlag", "_addr"},
};

/* ---- memory: thousands of small texts that lie close together, in pages ---- */

enum { PAGE = 4096, PAGES = 128 };
struct memory {
	pid_t pid;
	struct {
		uint64_t address; /* 0 = unused */
		uint8_t bytes[PAGE];
	} pages[PAGES];
};

/* Returns a page of the process's memory, or NULL. */
static const uint8_t *page_at(struct memory *m, uint64_t address)
{
	uint64_t i = address / PAGE % PAGES;
	struct iovec local = {m->pages[i].bytes, PAGE};
	struct iovec remote = {(void *)(uintptr_t)address, PAGE};
	if (m->pages[i].address != address) {
		m->pages[i].address = address;
		if (process_vm_readv(m->pid, &local, 1, &remote, 1, 0) != PAGE)
			m->pages[i].address = 0;
	}
	return address && m->pages[i].address ? m->pages[i].bytes : NULL;
}

static bool read_memory(void *arg, uint64_t address, void *to, size_t bytes)
{
	for (size_t done = 0, part; done < bytes; done += part) {
		size_t at = (address + done) % PAGE;
		const uint8_t *page = page_at(arg, address + done - at);
		part = bytes - done < PAGE - at ? bytes - done : PAGE - at;
		if (!page)
			return false;
		memcpy((uint8_t *)to + done, page + at, part);
	}
	return true;
}

/* Holds the first bytes of a name, enough to distinguish the wanted names; "" = unreadable. */
struct name {
	char text[24];
};
static struct name name_at(struct memory *m, uint64_t at)
{
	struct name n;
	if (!read_memory(m, at, n.text, sizeof n.text))
		n.text[0] = 0;
	n.text[sizeof n.text - 1] = 0;
	return n;
}

static uint64_t word(struct memory *m, uint64_t at)
{
	uint64_t value = 0;
	return read_memory(m, at, &value, sizeof value) ? value : 0;
}

/* ---- the virtual machine ---- */

/* Reads the `wanted` fields into `values`. Returns false if some are missing. *some is set if the
 * table is not empty. */
static bool read_fields(struct memory *m, uint64_t at, uint64_t *values, bool *some)
{
	struct field_entry e;
	unsigned found = 0;
	*some = false;
	for (int i = 0; i < ENTRIES_MOST && read_memory(m, at, &e, sizeof e) && e.type; i++) {
		struct name name = name_at(m, e.name);
		*some = true;
		at += sizeof e;
		for (int k = 0; k < FIELDS; k++) {
			if (strcmp(name.text, wanted[k][1]) ||
			    strcmp(name_at(m, e.type).text, wanted[k][0]))
				continue;
			values[k] = e.is_static ? word(m, e.address) : e.offset;
			found |= 1u << k;
		}
	}
	return found == (1u << FIELDS) - 1;
}

static uint64_t bytes_of_flag(struct memory *m, uint64_t at)
{
	struct type_entry e;
	for (int i = 0; i < ENTRIES_MOST && read_memory(m, at, &e, sizeof e) && e.type; i++) {
		at += sizeof e;
		if (!strcmp(name_at(m, e.type).text, "JVMFlag"))
			return e.bytes <= FLAG_BYTES_MOST ? e.bytes : 0;
	}
	return 0;
}

static bool keeps_frames(struct memory *m, const uint64_t *values, uint64_t flag_bytes)
{
	for (uint64_t i = 0; flag_bytes && i < values[FLAG_COUNT] && i < FLAGS_MOST; i++) {
		uint64_t flag = values[FLAGS] + i * flag_bytes;
		struct name name = name_at(m, word(m, flag + values[FLAG_NAME]));
		uint8_t on = 0;
		if (!strcmp(name.text, "PreserveFramePointer"))
			return read_memory(m, word(m, flag + values[FLAG_ADDRESS]), &on, 1) && on;
	}
	return false;
}

static bool ask(struct memory *memory, const struct attach_module *m, uint64_t *low, uint64_t *high)
{
	const struct attach_memory read = {read_memory, memory};
	struct attach_symbol tables[2] = {{"gHotSpotVMStructs", 0, 0}, {"gHotSpotVMTypes", 0, 0}};
	uint64_t values[FIELDS];
	bool some;
	attach_elf_dynamic(&read, m, tables, 2);
	if (!tables[0].address || !tables[1].address)
		return true; /* not HotSpot but another virtual machine */
	if (!read_fields(memory, word(memory, tables[0].address), values, &some))
		return some; /* true = an unsupported version; false = libjvm is not relocated yet,
				ask again */
	if (!values[LOW] || values[HIGH] <= values[LOW])
		return false;
	if (keeps_frames(memory, values, bytes_of_flag(memory, word(memory, tables[1].address)))) {
		*low = values[LOW];
		*high = values[HIGH];
	}
	return true;
}

bool hotspot_frames(const struct process *process, uint64_t *low, uint64_t *high)
{
	struct attach_maps maps;
	struct attach_module m;
	bool known = false;
	if (attach_maps_read(&maps, process->folder, NULL))
		return false;
	struct memory *memory = ms_xcalloc(1, sizeof *memory);
	const struct attach_memory read = {read_memory, memory};
	memory->pid = process->pid;
	*low = *high = 0;
	for (size_t i = 0; i < maps.n; i++) {
		const char *name = strrchr(maps.v[i].path, '/');
		if (!name || strcmp(name, "/libjvm.so") || maps.v[i].offset)
			continue;
		known = attach_elf_module(&read, &maps, &maps.v[i], &m) &&
			ask(memory, &m, low, high);
		break;
	}
	free(memory);
	attach_maps_free(&maps);
	return known;
}
