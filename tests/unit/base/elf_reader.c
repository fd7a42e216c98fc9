/* SPDX-License-Identifier: MIT
 * The ELF reader finds what a file has, from each kind of source, and of a damaged one no more than
 * is there: cut short at each byte, with offsets, sizes and counts that overflow, with odd notes.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libcommon/base/elf_reader.h"
#include "tests/unit/is.h"

enum { SEGMENTS = 3, SECTIONS = 4, SEGMENT_NOTE = 2, NAMES = 3, SECTION_NOTE = 2 };
#define LOW 0x401000u

/* A file whose parts have nothing between them. */
struct file {
	Elf64_Ehdr head;
	Elf64_Phdr segments[SEGMENTS]; /* two loaded, one of notes */
	uint8_t notes[2][96];          /* of the segment, of the section */
	Elf64_Shdr sections[SECTIONS]; /* none, .eh_frame, notes, names */
	char names[24];
};
static const char names[24] = "\0.eh_frame\0.note\0.shstr";

static size_t put_note(uint8_t *to, uint32_t type, const char *name, uint32_t name_bytes,
		       uint32_t bytes)
{
	const Elf64_Nhdr h = {name_bytes, bytes, type};
	memcpy(to, &h, sizeof h);
	memcpy(to + sizeof h, name, name_bytes);
	size_t at = sizeof h + ((name_bytes + 3) & ~3u);
	for (uint32_t i = 0; i < bytes; i++)
		to[at + i] = (uint8_t)(i + 1);
	return at + ((bytes + 3) & ~3u);
}

static struct file made(void)
{
	struct file f = {
		.head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB},
			 .e_type = ET_DYN,
			 .e_machine = EM_X86_64,
			 .e_phoff = offsetof(struct file, segments),
			 .e_shoff = offsetof(struct file, sections),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = SEGMENTS,
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_shnum = SECTIONS,
			 .e_shstrndx = NAMES},
		.segments = {{.p_type = PT_LOAD,
			      .p_flags = PF_R | PF_X,
			      .p_vaddr = LOW + 0x2010,
			      .p_filesz = 32,
			      .p_memsz = 64},
			     {.p_type = PT_LOAD,
			      .p_flags = PF_R,
			      .p_vaddr = LOW + 8,
			      .p_filesz = 16,
			      .p_memsz = 16},
			     {.p_type = PT_NOTE, .p_offset = offsetof(struct file, notes)}},
		.sections = {[1] = {.sh_name = 1, .sh_type = SHT_PROGBITS, .sh_size = 77},
			     [SECTION_NOTE] = {.sh_name = 11,
					       .sh_type = SHT_NOTE,
					       .sh_offset = offsetof(struct file, notes[1])},
			     [NAMES] = {.sh_name = 17,
					.sh_type = SHT_STRTAB,
					.sh_offset = offsetof(struct file, names),
					.sh_size = sizeof names}},
	};
	memcpy(f.names, names, sizeof names);
	f.segments[SEGMENT_NOTE].p_filesz = put_note(f.notes[0], NT_GNU_BUILD_ID, "GNU", 4, 20);
	f.sections[SECTION_NOTE].sh_size = put_note(f.notes[1], NT_GNU_BUILD_ID, "GNU", 4, 8);
	return f;
}

/* Holds what a reader has found. */
struct found {
	bool elf, supported, sections;
	unsigned segment_count;
	size_t section_count, id_bytes, id_of_segments;
	bool names, named;
};

static struct found look(struct ms_elf_source from)
{
	struct ms_elf_reader r;
	uint8_t id[MS_ELF_ID_MOST];
	struct found f = {.elf = ms_elf_read(&r, from)};
	f.supported = r.supported;
	f.segment_count = r.segment_count;
	f.id_of_segments = ms_elf_build_id(&r, id);
	f.sections = ms_elf_read_sections(&r);
	f.section_count = r.section_count;
	f.names = r.names;
	f.named = ms_elf_named(&r, ".eh_frame");
	f.id_bytes = ms_elf_build_id(&r, id);
	for (size_t i = 0; i < f.id_bytes; i++)
		is("a byte of the build-id", id[i], i + 1);
	ms_elf_reader_free(&r);
	return f;
}

/* Reads the first `n` bytes of a file, behind which nothing may be read. */
static struct found look_at(const void *file, size_t n)
{
	uint8_t *copy = malloc(n ? n : 1);
	memcpy(copy, file, n);
	struct found f = look(ms_elf_in_memory(copy, n));
	free(copy);
	return f;
}

static void is_whole(const char *what, struct found f)
{
	is(what, f.elf + f.supported + f.sections + f.names + f.named, 5);
	is(what, f.segment_count, SEGMENTS);
	is(what, f.section_count, SECTIONS);
	is(what, f.id_of_segments, 20);
	is(what, f.id_bytes, 8); /* sections come first */
}

#define OTHER UINT64_C(0x7f0000000000)

/* Reads memory of another process, which has `arg` at OTHER. */
static bool read_other(void *arg, uint64_t address, void *to, size_t n)
{
	uint64_t into = address - OTHER;
	if (into > sizeof(struct file) || n > sizeof(struct file) - into)
		return false;
	memcpy(to, (const uint8_t *)arg + into, n);
	return true;
}

static void sources(void)
{
	struct file f = made();
	int fd = memfd_create("elf", MFD_CLOEXEC);
	is("written", (uint64_t)write(fd, &f, sizeof f), sizeof f);
	is_whole("memory", look_at(&f, sizeof f));
	is_whole("a file", look(ms_elf_in_file(fd)));
	is_whole("other memory", look((struct ms_elf_source){read_other, &f, OTHER}));
	is("no file", look(ms_elf_in_file(-1)).elf, false);
	is("not there", look((struct ms_elf_source){read_other, &f, OTHER - 8}).elf, false);
	is("the last addresses", look((struct ms_elf_source){read_other, &f, UINT64_MAX}).elf,
	   false);
	close(fd);
}

static void kinds(void)
{
	struct file f = made();
	f.head.e_machine = EM_AARCH64;
	is_whole("another machine", look_at(&f, sizeof f));
	f.head.e_ident[EI_DATA] = ELFDATA2MSB;
	is_whole("an odd byte order", look_at(&f, sizeof f));
	f.head.e_ident[EI_CLASS] = ELFCLASS32;
	struct found other = look_at(&f, sizeof f);
	is("32 bits", other.elf, true);
	is("32 bits", other.supported + other.sections + other.segment_count, 0);
	f.head.e_ident[EI_MAG3] = 'G';
	is("no ELF file", look_at(&f, sizeof f).elf, false);
	f = made();
	f.head.e_shoff = 0;
	other = look_at(&f, sizeof f);
	is("no sections", other.sections, true);
	is("no sections", other.section_count + other.names + other.named, 0);
	is("the segments' build-id", other.id_bytes, 20);
}

static void cut_short(void)
{
	const struct file f = made();
	const size_t segments = offsetof(struct file, notes),
		     sections = offsetof(struct file, names),
		     note = offsetof(struct file, notes) + f.segments[SEGMENT_NOTE].p_filesz;
	for (size_t n = 0; n < sizeof f; n++) {
		struct found c = look_at(&f, n);
		is("its head", c.elf, n >= sizeof(Elf32_Ehdr));
		is("its whole head", c.supported, n >= sizeof(Elf64_Ehdr));
		is("its segments", c.segment_count, n >= segments ? SEGMENTS : 0);
		is("their build-id", c.id_of_segments, n >= note ? 20 : 0);
		is("its sections", c.section_count, n >= sections ? SECTIONS : 0);
		is("sections are read", c.sections, n >= sections);
		is("the build-id", c.id_bytes, n >= sections ? 8 : n >= note ? 20 : 0);
		is("the names", c.names + c.named, 0);
	}
}

static void numbers(void)
{
	static const uint64_t odd[] = {sizeof(struct file), UINT64_MAX,     UINT64_MAX - 63,
				       UINT64_MAX - 167,    INT64_MAX - 63, UINT64_C(1) << 63};
	int fd = memfd_create("elf", MFD_CLOEXEC);
	for (size_t i = 0; i < 2 * sizeof odd / sizeof *odd; i++) {
		struct file f = made();
		f.head.e_phoff = f.head.e_shoff = odd[i / 2];
		is("written", (uint64_t)pwrite(fd, &f, sizeof f, 0), sizeof f);
		struct found c = i % 2 ? look(ms_elf_in_file(fd)) : look_at(&f, sizeof f);
		is("headers elsewhere", c.segment_count + c.section_count + c.id_bytes, 0);
		f = made();
		f.sections[NAMES].sh_offset = f.segments[SEGMENT_NOTE].p_offset = odd[i / 2];
		f.sections[SECTION_NOTE].sh_offset = odd[i / 2];
		is("written", (uint64_t)pwrite(fd, &f, sizeof f, 0), sizeof f);
		c = i % 2 ? look(ms_elf_in_file(fd)) : look_at(&f, sizeof f);
		is("contents elsewhere", c.section_count, SECTIONS);
		is("contents elsewhere", c.id_bytes + c.names + c.named, 0);
	}
	close(fd);
	struct file f = made();
	f.sections[NAMES].sh_size = UINT64_MAX - 8;
	f.sections[SECTION_NOTE].sh_size = f.segments[SEGMENT_NOTE].p_filesz = UINT64_MAX - 8;
	struct found c = look_at(&f, sizeof f);
	is("sizes that overflow", c.id_bytes + c.names + c.named, 0);
	struct {
		struct file f;
		uint8_t more[4096];
	} large = {.f = f};
	is("the beginning of notes", look_at(&large, sizeof large).id_bytes, 8);
	f.sections[NAMES].sh_size = 0;
	c = look_at(&f, sizeof f);
	is("no names", c.names, true);
	is("no names", c.named, false);
	large.f = f;
	large.f.sections[NAMES].sh_offset = sizeof large + 1;
	f = made();
	f.head.e_shstrndx = SHN_UNDEF;
	is("no section of names", look_at(&f, sizeof f).names, true);
	is("no names, elsewhere", look_at(&large, sizeof large).names, false);
	f = made();
	f.head.e_phentsize--;
	f.head.e_shentsize++;
	c = look_at(&f, sizeof f);
	is("other sizes", c.elf + c.supported, 2);
	is("other sizes", c.segment_count + c.section_count + c.sections, 0);
}

static void counts(void)
{
	static const uint64_t odd[] = {SECTIONS + 1, (1u << 20) + 1, UINT64_C(1) << 58, UINT64_MAX};
	struct file f = made();
	f.head.e_shnum = 0;
	f.head.e_shstrndx = SHN_XINDEX;
	f.sections[0].sh_size = SECTIONS;
	f.sections[0].sh_link = NAMES;
	is_whole("numbers in the first section", look_at(&f, sizeof f));
	f.sections[0].sh_link = SECTIONS;
	is("behind the last section", look_at(&f, sizeof f).names, false);
	f.sections[0].sh_size = 0;
	is("none after all", look_at(&f, sizeof f).sections, true);
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
		f.sections[0].sh_size = odd[i];
		is("more than there are", look_at(&f, sizeof f).sections, false);
	}
	f = made();
	f.head.e_shnum = f.head.e_phnum = UINT16_MAX;
	struct found c = look_at(&f, sizeof f);
	is("as many as can be", c.sections + c.section_count + c.segment_count, 0);
	struct {
		struct file f;
		Elf64_Phdr segments[MS_ELF_SEGMENTS + 1];
	} many = {.f = made()};
	many.f.head.e_phoff = sizeof f;
	many.f.head.e_phnum = MS_ELF_SEGMENTS + 1;
	many.segments[MS_ELF_SEGMENTS] = many.f.segments[SEGMENT_NOTE];
	c = look_at(&many, sizeof many);
	is("the first", c.segment_count, MS_ELF_SEGMENTS);
	is("not of the one behind", c.id_of_segments, 0);
}

/* The bytes of the build-id of a file with that one note behind `before` bytes of another. */
static size_t id_of(size_t before, uint32_t type, const char *name, uint32_t name_bytes,
		    uint32_t bytes, size_t left_out)
{
	struct file f = made();
	size_t n = before ? put_note(f.notes[1], 1, "stapsdt", 5, (uint32_t)before) : 0;
	n += put_note(f.notes[1] + n, type, name, name_bytes, bytes);
	f.sections[SECTION_NOTE].sh_size = n - left_out;
	f.segments[SEGMENT_NOTE].p_type = PT_NULL;
	return look_at(&f, sizeof f).id_bytes;
}

static void notes(void)
{
	is("an odd size", id_of(0, NT_GNU_BUILD_ID, "GNU", 4, 5, 0), 5);
	is("an odd note before", id_of(7, NT_GNU_BUILD_ID, "GNU", 4, 3, 0), 3);
	is("without its padding", id_of(0, NT_GNU_BUILD_ID, "GNU", 4, 5, 3), 0);
	is("the longest", id_of(0, NT_GNU_BUILD_ID, "GNU", 4, MS_ELF_ID_MOST, 0), MS_ELF_ID_MOST);
	is("too long", id_of(0, NT_GNU_BUILD_ID, "GNU", 4, MS_ELF_ID_MOST + 1, 0), 0);
	is("of no bytes", id_of(0, NT_GNU_BUILD_ID, "GNU", 4, 0, 0), 0);
	is("a short name", id_of(0, NT_GNU_BUILD_ID, "GNU", 3, 8, 0), 0);
	is("another name", id_of(0, NT_GNU_BUILD_ID, "Go\0", 4, 8, 0), 0);
	is("another type", id_of(0, NT_GNU_BUILD_ID + 1, "GNU", 4, 8, 0), 0);
	static const Elf64_Nhdr odd[] = {{UINT32_MAX, 8, NT_GNU_BUILD_ID},
					 {4, UINT32_MAX, NT_GNU_BUILD_ID},
					 {UINT32_MAX - 2, UINT32_MAX - 2, NT_GNU_BUILD_ID}};
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
		struct file f = made();
		memcpy(f.notes[1], &odd[i], sizeof *odd);
		f.sections[SECTION_NOTE].sh_size =
			sizeof *odd +
			put_note(f.notes[1] + sizeof *odd, NT_GNU_BUILD_ID, "GNU", 4, 8);
		is("nothing behind it", look_at(&f, sizeof f).id_bytes, 20);
	}
	struct file f = made();
	f.sections[SECTION_NOTE].sh_flags = SHF_COMPRESSED;
	is("compressed notes", look_at(&f, sizeof f).id_bytes, 20);
	f = made();
	f.sections[1] = f.sections[SECTION_NOTE];
	f.sections[1].sh_offset = f.segments[SEGMENT_NOTE].p_offset;
	f.sections[1].sh_size = f.segments[SEGMENT_NOTE].p_filesz;
	is("the first of two", look_at(&f, sizeof f).id_bytes, 20);
}

static void places(void)
{
	struct file f = made();
	struct ms_elf_reader r;
	uint64_t into = 0;
	is("read", ms_elf_read(&r, ms_elf_in_memory(&f, sizeof f)), true);
	is("the lowest page", ms_elf_low(&r), LOW);
	is("of a type", ms_elf_segment(&r, PT_NOTE) == &r.segments[SEGMENT_NOTE], true);
	is("of no such type", ms_elf_segment(&r, PT_DYNAMIC) == NULL, true);
	is("its last byte", ms_elf_loaded(&r, PF_X, LOW + 0x202f, &into) == r.segments, true);
	is("from its beginning", into, 31);
	is("not from the file", ms_elf_loaded(&r, PF_X, LOW + 0x2030, &into) == NULL, true);
	is("before it", ms_elf_loaded(&r, PF_X, LOW + 0x200f, &into) == NULL, true);
	is("no code", ms_elf_loaded(&r, PF_R | PF_X, LOW + 8, &into) == NULL, true);
	is("data", ms_elf_loaded(&r, PF_R, LOW + 8, &into) == &r.segments[1], true);
	is("a name that is cut off",
	   ms_elf_read_sections(&r) && ms_elf_named(&r, ".shstrt") == NULL, true);
	is("the beginning of a name", ms_elf_named(&r, ".eh") == NULL, true);
	is("a name", ms_elf_named(&r, ".note") == &r.sections[SECTION_NOTE], true);
	r.sections[1].sh_name = UINT32_MAX;
	is("a name elsewhere", ms_elf_named(&r, ".eh_frame") == NULL, true);
	r.sections[NAMES].sh_size = r.sections[SECTION_NOTE].sh_name + 5;
	is("a name whose end is elsewhere", ms_elf_named(&r, ".note") == NULL, true);
	r.sections[NAMES].sh_size = r.sections[SECTION_NOTE].sh_name - 1;
	is("a name behind the others", ms_elf_named(&r, ".note") == NULL, true);
	ms_elf_reader_free(&r);
}

int main(void)
{
	sources();
	kinds();
	cut_short();
	numbers();
	counts();
	notes();
	places();
	return failures != 0;
}
