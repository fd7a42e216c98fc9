/* SPDX-License-Identifier: MIT
 * x86-64: replaces a function's entry by a jump, and finds the targets of its branches.
 *
 * Whole instructions are displaced, at least MG_JUMP_BYTES bytes. Position-dependent ones are
 * rewritten: a displacement from rip; a jump, with 32 bits instead of 8; a call, as a push of the
 * return address and a jump, so that the callee returns to the original place and unwinders see
 * nothing new. Refused are instructions without a long form (loop, jrcxz), calls through a
 * register or memory, a function that ends too early, and one that jumps back into the replaced
 * bytes.
 */
#include "patch.h"

#include <capstone/capstone.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/base/err.h"
#include "libcommon/base/library.h"

#define INT3 0xcc

const uint8_t patch_wait[MG_JUMP_FIRST] = {0xeb, 0xfe};

static void put32(uint8_t *to, int64_t v)
{
	for (int i = 0; i < 4; i++)
		to[i] = (uint8_t)((uint64_t)v >> (8 * i));
}

static bool near32(int64_t v)
{
	return v >= INT32_MIN && v <= INT32_MAX;
}

static bool in_group(const cs_insn *in, unsigned group)
{
	for (uint8_t i = 0; i < in->detail->groups_count; i++)
		if (in->detail->groups[i] == group)
			return true;
	return false;
}

/* Tells whether the instruction is a loop, which the decoder does not report as a jump. */
static bool is_loop(const cs_insn *in)
{
	return in->id == X86_INS_LOOP || in->id == X86_INS_LOOPE || in->id == X86_INS_LOOPNE;
}

/* Tells whether the instruction is a branch to a constant address. */
static bool is_direct(const cs_insn *in)
{
	const cs_x86 *x = &in->detail->x86;
	return (in_group(in, CS_GRP_JUMP) || is_loop(in)) && x->op_count == 1 &&
	       x->operands[0].type == X86_OP_IMM;
}

static uint64_t target(const cs_insn *in)
{
	return (uint64_t)in->detail->x86.operands[0].imm;
}

static bool from_rip(const cs_insn *in)
{
	const cs_x86 *x = &in->detail->x86;
	for (uint8_t i = 0; i < x->op_count; i++)
		if (x->operands[i].type == X86_OP_MEM && x->operands[i].mem.base == X86_REG_RIP)
			return true;
	return false;
}

static bool ends(const cs_insn *in)
{
	return in->id == X86_INS_JMP || in_group(in, CS_GRP_RET);
}

/* ---- one instruction ---- */

/* Appends a branch to `to`: the `n` bytes of `code` and the 32-bit distance. `what` names the
 * branch in errors: "a jump". Returns 0, or -1 with `err` set. */
static int put_branch(struct patch *p, const uint8_t *code, uint32_t n, uint64_t to,
		      const char *what, struct ms_err *err)
{
	uint8_t *out = p->displaced + p->displaced_bytes;
	uint64_t end = p->hook.slot + MG_SLOT_DISPLACED + p->displaced_bytes + n + 4;
	if (p->displaced_bytes + n + 4 > sizeof p->displaced)
		return ms_err_set(err, "its first instructions are too long to be moved");
	if (!near32((int64_t)(to - end)))
		return ms_err_set(err, "%s at its start could not reach its target once moved",
				  what);
	memcpy(out, code, n);
	put32(out + n, (int64_t)(to - end));
	p->displaced_bytes += n + 4;
	return 0;
}

static int put_jump(struct patch *p, uint64_t to, struct ms_err *err)
{
	static const uint8_t jmp = 0xe9;
	return put_branch(p, &jmp, 1, to, "a jump", err);
}

/* Rewrites a jump as jmp rel32 or jcc rel32. */
static int move_branch(struct patch *p, const cs_insn *in, struct ms_err *err)
{
	const uint8_t *code = in->detail->x86.opcode;
	uint8_t condition = code[0] == 0x0f ? code[1] : code[0];
	if (in->id == X86_INS_JMP)
		return put_jump(p, target(in), err);
	if ((condition & 0xf0) != 0x70 && (condition & 0xf0) != 0x80)
		return ms_err_set(err, "'%s' at its start cannot be moved: it has no 32-bit offset",
				  in->mnemonic);
	const uint8_t jcc[] = {0x0f, 0x80 | (condition & 15)};
	return put_branch(p, jcc, sizeof jcc, target(in), "a jump", err);
}

/* Returns the offset of the displacement from rip in an instruction; 0 = not known. If the decoder
 * does not report it, its bytes are searched for and must occur just once. */
static size_t displacement_at(const cs_insn *in)
{
	const cs_x86 *x = &in->detail->x86;
	size_t found = 0;
	int32_t value = 0, here;
	if (x->encoding.disp_offset && x->encoding.disp_size == 4)
		return x->encoding.disp_offset;
	for (uint8_t i = 0; i < x->op_count; i++)
		if (x->operands[i].type == X86_OP_MEM)
			value = (int32_t)x->operands[i].mem.disp;
	for (size_t at = 2; at + 4 <= in->size; at++) {
		memcpy(&here, in->bytes + at, sizeof here);
		if (here != value || (in->bytes[at - 1] & 0xc7) != 0x05)
			continue;
		if (found)
			return 0;
		found = at;
	}
	return found;
}

static int move_plain(struct patch *p, const cs_insn *in, struct ms_err *err)
{
	uint8_t *out = p->displaced + p->displaced_bytes;
	if (p->displaced_bytes + in->size > sizeof p->displaced)
		return ms_err_set(err, "its first instructions are too long to be moved");
	memcpy(out, in->bytes, in->size);
	if (from_rip(in)) {
		int32_t old;
		uint64_t at = p->hook.slot + MG_SLOT_DISPLACED + p->displaced_bytes;
		size_t where = displacement_at(in);
		if (!where)
			return ms_err_set(err, "unsupported instruction '%s' at its start",
					  in->mnemonic);
		memcpy(&old, in->bytes + where, 4);
		int64_t to = (int64_t)(in->address - at) + old;
		if (!near32(to))
			return ms_err_set(err,
					  "'%s' at its start cannot be moved: its memory "
					  "operand is too far away",
					  in->mnemonic);
		put32(out + where, to);
	}
	p->displaced_bytes += in->size;
	return 0;
}

/* Rewrites a call rel32 as a push of its return address, in two halves, and a jmp rel32. The call
 * is always the last displaced instruction, since it is as long as the jump. */
static int move_call(struct patch *p, const cs_insn *in, struct ms_err *err)
{
	/* push $..; movl $.., 4(%rsp); jmp */
	uint8_t code[] = {0x68, 0, 0, 0, 0, 0xc7, 0x44, 0x24, 4, 0, 0, 0, 0, 0xe9};
	uint64_t back = in->address + in->size;
	if (in->size != MG_JUMP_BYTES || in->bytes[0] != 0xe8)
		return ms_err_set(err, "unsupported indirect call at its start");
	put32(code + 1, (int64_t)back);
	put32(code + 9, (int64_t)(back >> 32));
	return put_branch(p, code, sizeof code, target(in), "a call", err);
}

static bool is_call(const cs_insn *in)
{
	return in_group(in, CS_GRP_CALL);
}

static int move(struct patch *p, const cs_insn *in, struct ms_err *err)
{
	if (in_group(in, CS_GRP_INT) || in_group(in, CS_GRP_IRET) || in->id == X86_INS_SYSCALL ||
	    in->id == X86_INS_SYSENTER || in->id == X86_INS_XBEGIN)
		return ms_err_set(err, "unsupported instruction '%s' at its start", in->mnemonic);
	if (p->moved_count == PATCH_INSTRUCTIONS || p->hook.bytes + in->size > MG_DISPLACED_MAX)
		return ms_err_set(err, "its first instructions are too long to be moved");
	p->moved[p->moved_count].from = (uint8_t)p->hook.bytes;
	p->moved[p->moved_count++].to = (uint8_t)(MG_SLOT_DISPLACED + p->displaced_bytes);
	p->hook.bytes += in->size;
	if (is_call(in))
		return move_call(p, in, err);
	return is_direct(in) ? move_branch(p, in, err) : move_plain(p, in, err);
}

/* ---- the entry ---- */

/* Tells whether the bytes between the function's end and the jump's end are only padding. Padding
 * ends at an address aligned like a function; nops that end elsewhere are the start of another
 * function compiled with -fpatchable-function-entry. */
static bool padded(const cs_insn *in, size_t count, uint64_t entry)
{
	enum { ALIGNED = 8 };
	uint64_t end = entry;
	for (size_t i = 0; i < count; i++) {
		if (in[i].id != X86_INS_NOP && in[i].id != X86_INS_INT3)
			return false;
		end = in[i].address + in[i].size;
		bool over = in[i].id == X86_INS_INT3 || end % ALIGNED == 0;
		if (over && end >= entry + MG_JUMP_BYTES)
			return true;
	}
	return false;
}

/* Moves the displaced instructions to the hook slot and appends the jump back. */
static int displace(struct patch *p, const cs_insn *in, size_t count, struct ms_err *err)
{
	size_t i = 0;
	bool over = false;
	for (; i < count && p->hook.bytes < MG_JUMP_BYTES && !over; i++) {
		if (move(p, &in[i], err))
			return -1;
		over = ends(&in[i]) || is_call(&in[i]);
	}
	if (p->hook.bytes < MG_JUMP_BYTES) {
		if (!over)
			return ms_err_set(err, "unsupported instruction at its start");
		if (!padded(in + i, count - i, p->hook.entry))
			return ms_err_set(err, "its code is too short for a jump");
		p->hook.bytes = MG_JUMP_BYTES;
	}
	return over ? 0 : put_jump(p, p->hook.entry + p->hook.bytes, err);
}

static int check_reach(const struct patch *p, struct ms_err *err)
{
	int64_t to = (int64_t)(p->hook.slot - (p->hook.entry + MG_JUMP_BYTES));
	if (near32(to) && near32(to + MG_SLOT_BYTES))
		return 0;
	return ms_err_set(err, "no address space for the hook is free within " MG_JUMP_REACH_NAME
			       " of it");
}

static void write_jump(struct patch *p, const uint8_t *code)
{
	memset(p->hook.patched, INT3, sizeof p->hook.patched);
	p->hook.patched[0] = 0xe9;
	put32(p->hook.patched + 1, (int64_t)(p->hook.slot - (p->hook.entry + MG_JUMP_BYTES)));
	memcpy(p->hook.original, code, p->hook.bytes);
}

/* Plans the jump for an empty function without loading the disassembler, which takes time: the
 * dynamic linker's debugger function is empty, and is hooked in most programs. Recognizes padding
 * as assemblers write it. */
static bool plan_return(struct patch *p, const uint8_t *code, size_t body)
{
	enum { RET = 0xc3 };
	static const uint8_t marked[MG_JUMP_BYTES] = {0xf3, 0x0f, 0x1e, 0xfa, RET};
	static const uint8_t padded[][MG_JUMP_BYTES] = {{RET, 0x66, 0x66, 0x2e, 0x0f},
							{RET, 0x66, 0x2e, 0x0f, 0x1f},
							{RET, 0x0f, 0x1f, 0x84, 0x00},
							{RET, 0x0f, 0x1f, 0x80, 0x00},
							{RET, 0x0f, 0x1f, 0x40, 0x00}};
	bool plain = body == sizeof marked && !memcmp(code, marked, sizeof marked);
	for (size_t i = 0; body == 1 && i < sizeof padded / sizeof *padded; i++)
		plain |= !memcmp(code, padded[i], MG_JUMP_BYTES);
	if (!plain)
		return false;
	p->displaced[0] = RET;
	p->displaced_bytes = 1;
	p->moved[0].from = 0;
	p->moved[0].to = MG_SLOT_DISPLACED;
	p->moved_count = 1;
	p->hook.bytes = MG_JUMP_BYTES;
	return true;
}

/* ---- instructions ---- */

#define TEXT(x) #x
#define LIBRARY(major) "libcapstone.so." TEXT(major)

/* Holds the disassembler's functions, loaded on first use: its library has tables for all
 * processors, and loading it always would cost every recording 2 ms. */
static struct {
	cs_err (*open)(cs_arch arch, cs_mode mode, csh *handle);
	cs_err (*option)(csh handle, cs_opt_type type, size_t value);
	size_t (*disasm)(csh handle, const uint8_t *code, size_t n, uint64_t address, size_t count,
			 cs_insn **in);
	void (*free)(cs_insn *in, size_t count);
	cs_err (*close)(csh *handle);
	cs_insn *(*alloc)(csh handle);
	bool (*next)(csh handle, const uint8_t **code, size_t *n, uint64_t *address, cs_insn *in);
	cs_err (*registers)(csh handle, const cs_insn *in, cs_regs read, uint8_t *read_count,
			    cs_regs write, uint8_t *write_count);
} capstone;
static bool loaded;

static void load(void)
{
	static const char *const names[] = {"cs_open",        "cs_option",     "cs_disasm",
					    "cs_free",        "cs_close",      "cs_malloc",
					    "cs_disasm_iter", "cs_regs_access"};
	_Static_assert(sizeof names == sizeof capstone, "a function for each name");
	loaded = ms_library_load(LIBRARY(CS_API_MAJOR), names, sizeof names / sizeof *names,
				 &capstone);
}

struct decoded {
	csh handle;
	cs_insn *in;
	size_t count;
};

/* Decodes at most `most` instructions; 0 = all. */
static bool decode(struct decoded *d, const uint8_t *code, size_t n, uint64_t address, size_t most)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, load);
	*d = (struct decoded){0};
	if (!loaded || capstone.open(CS_ARCH_X86, CS_MODE_64, &d->handle))
		return false;
	capstone.option(d->handle, CS_OPT_DETAIL, CS_OPT_ON);
	if (n)
		d->count = capstone.disasm(d->handle, code, n, address, most, &d->in);
	return true;
}

static void decoded_free(struct decoded *d)
{
	if (d->in)
		capstone.free(d->in, d->count);
	capstone.close(&d->handle);
}

/* Calls `f` with each instruction until it returns true. Decodes one at a time, since a decoded
 * instruction takes 2 KiB. Returns false if there is no decoder. */
static bool each(const uint8_t *code, size_t n, uint64_t address,
		 bool (*f)(void *arg, const cs_insn *in), void *arg)
{
	struct decoded d;
	if (!decode(&d, code, 0, address, 0))
		return false;
	cs_insn *in = capstone.alloc(d.handle);
	bool over = !in, good = in;
	while (!over && capstone.next(d.handle, &code, &n, &address, in))
		over = f(arg, in);
	if (in)
		capstone.free(in, 1);
	decoded_free(&d);
	return good;
}

/* Tells whether the instruction branches into the bytes that the jump replaces. */
static bool jumps_back(void *arg, const cs_insn *in)
{
	struct patch *p = arg;
	uint64_t to = is_direct(in) ? target(in) : 0;
	p->jumps_back |= to > p->hook.entry && to < p->hook.entry + p->hook.bytes;
	return p->jumps_back;
}

static int check_body(struct patch *p, const uint8_t *code, size_t n, struct ms_err *err)
{
	p->jumps_back = false;
	each(code, n, p->hook.entry, jumps_back, p);
	return p->jumps_back
		       ? ms_err_set(
				 err,
				 "it jumps back to its first instructions, which a hook replaces")
		       : 0;
}

int patch_plan(struct patch *p, uint64_t entry, const uint8_t *code, size_t n, size_t body,
	       uint64_t slot, struct ms_err *err)
{
	enum { FIRST = PATCH_INSTRUCTIONS + MG_JUMP_BYTES };
	p->hook.entry = entry;
	p->hook.slot = slot;
	p->hook.bytes = p->displaced_bytes = p->moved_count = 0;
	if (n < MG_DISPLACED_MAX)
		return ms_err_set(err, "its code cannot be read");
	/* Bytes after a short function are not part of it, but may be displaced too. */
	if (body && body < n)
		n = body > 2 * MG_DISPLACED_MAX ? body
		    : 2 * MG_DISPLACED_MAX < n  ? 2 * MG_DISPLACED_MAX
						: n;
	struct decoded d;
	int rc = check_reach(p, err);
	if (!rc && !plan_return(p, code, body)) {
		if (!decode(&d, code, n, entry, FIRST))
			return ms_err_set(err, "the disassembler cannot be started; is " LIBRARY(
						       CS_API_MAJOR) " installed?");
		rc = displace(p, d.in, d.count, err) || check_body(p, code, n, err) ? -1 : 0;
		decoded_free(&d);
	}
	if (!rc)
		write_jump(p, code);
	return rc;
}

void patch_slot(const struct patch *p, uint64_t enter, uint64_t hook, uint8_t out[MG_SLOT_BYTES])
{
	/* push %rbp; lea 8(%rip), %rbp; jmp *2(%rip) */
	static const uint8_t code[16] = {0x55, 0x48, 0x8d, 0x2d, 8, 0, 0,    0,
					 0xff, 0x25, 2,    0,    0, 0, INT3, INT3};
	struct mg_slot_head head = {
		.enter = enter, .displaced = p->hook.slot + MG_SLOT_DISPLACED, .hook = hook};
	memcpy(head.code, code, sizeof code);
	memset(out, INT3, MG_SLOT_BYTES);
	memcpy(out, &head, sizeof head);
	memcpy(out + MG_SLOT_DISPLACED, p->displaced, p->displaced_bytes);
}

bool patch_may_wait(const struct mg_hook *h)
{
	(void)h;
	return true;
}

uint64_t patch_target(uint64_t entry, const uint8_t code[MG_DISPLACED_MAX])
{
	int32_t by;
	memcpy(&by, code + 1, sizeof by);
	return code[0] == 0xe9 ? entry + MG_JUMP_BYTES + (uint64_t)(int64_t)by : 0;
}

uint64_t patch_leads(uint64_t entry, const uint8_t *code, size_t n)
{
	static const uint8_t marked[] = {0xf3, 0x0f, 0x1e, 0xfa};
	enum { SHORT = 0xeb };
	size_t skip = n > sizeof marked && !memcmp(code, marked, sizeof marked) ? sizeof marked : 0;
	if (n - skip == MG_JUMP_BYTES)
		return patch_target(entry + skip, code + skip);
	return n - skip == 2 && code[skip] == SHORT
		       ? entry + n + (uint64_t)(int64_t)(int8_t)code[skip + 1]
		       : 0;
}

struct branches {
	bool to_jump;
	patch_branch *f;
	void *arg;
};

static bool take_branch_of(void *arg, const cs_insn *in)
{
	const struct branches *b = arg;
	const cs_x86_op *to = &in->detail->x86.operands[0];
	if ((!is_call(in) && !in_group(in, CS_GRP_JUMP)) || in->detail->x86.op_count != 1)
		return false;
	if (to->type == X86_OP_MEM && to->mem.base == X86_REG_RIP)
		b->f(b->arg, in->address + in->size + (uint64_t)to->mem.disp, true);
	else if (to->type == X86_OP_IMM)
		b->f(b->arg, (uint64_t)to->imm, false);
	return b->to_jump && in->id == X86_INS_JMP;
}

bool patch_branches(const uint8_t *code, size_t n, uint64_t address, bool to_jump, patch_branch *f,
		    void *arg)
{
	struct branches b = {to_jump, f, arg};
	return each(code, n, address, take_branch_of, &b);
}

/* ---- arguments ---- */

/* Returns the bit of the argument passed in register `reg` (bit 0 = first argument); 0 = none. Only
 * the full register and its lower 32 bits count. */
static unsigned argument_of(uint16_t reg)
{
	static const uint16_t registers[][2] = {{X86_REG_RDI, X86_REG_EDI},
						{X86_REG_RSI, X86_REG_ESI},
						{X86_REG_RDX, X86_REG_EDX},
						{X86_REG_RCX, X86_REG_ECX}};
	for (unsigned i = 0; i < sizeof registers / sizeof *registers; i++)
		if (reg == registers[i][0] || reg == registers[i][1])
			return 1u << i;
	return 0;
}

/* Tells whether the instruction only saves a register or sets it to 0. */
static bool ignores(const cs_insn *in)
{
	const cs_x86 *x = &in->detail->x86;
	return in->id == X86_INS_PUSH ||
	       ((in->id == X86_INS_XOR || in->id == X86_INS_SUB) && x->op_count == 2 &&
		x->operands[0].type == X86_OP_REG && x->operands[1].type == X86_OP_REG &&
		x->operands[0].reg == x->operands[1].reg);
}

/* Holds the state of a walk along all paths through a function. */
struct way {
	const struct decoded *d;
	uint8_t *seen; /* by instruction: bits of the arguments that were followed through it
			  before */
	unsigned read;
	patch_passes *f;
	void *arg;
};

static void take_access(struct way *w, const cs_insn *in, unsigned *holds)
{
	cs_regs read, write;
	uint8_t reads = 0, writes = 0;
	if (capstone.registers(w->d->handle, in, read, &reads, write, &writes))
		return;
	for (uint8_t i = 0; i < reads && !ignores(in); i++)
		w->read |= argument_of(read[i]) & *holds;
	for (uint8_t i = 0; i < writes; i++)
		*holds &= ~argument_of(write[i]);
}

static size_t index_at(const struct decoded *d, uint64_t address)
{
	size_t low = 0, high = d->count;
	while (low < high) {
		size_t mid = (low + high) / 2;
		if (d->in[mid].address < address)
			low = mid + 1;
		else
			high = mid;
	}
	return low < d->count && d->in[low].address == address ? low : d->count;
}

static void go(struct way *w, size_t i, unsigned holds);

static void take_way(struct way *w, const cs_insn *in, unsigned holds)
{
	const cs_x86_op *to = &in->detail->x86.operands[0];
	if (in->detail->x86.op_count != 1 || to->type != X86_OP_IMM)
		return;
	size_t i = index_at(w->d, (uint64_t)to->imm);
	if (is_call(in) || i == w->d->count)
		w->f(w->arg, (uint64_t)to->imm, holds);
	else
		go(w, i, holds);
}

/* Follows a path from the i-th instruction on. Stops if no argument is unchanged any more, or if
 * all unchanged ones were followed through the same instruction before. */
static void go(struct way *w, size_t i, unsigned holds)
{
	for (; i < w->d->count && holds & ~w->seen[i]; i++) {
		const cs_insn *in = &w->d->in[i];
		w->seen[i] |= (uint8_t)holds;
		take_access(w, in, &holds);
		bool call = is_call(in);
		if (call || in_group(in, CS_GRP_JUMP))
			take_way(w, in, holds);
		if (call || ends(in))
			return;
	}
}

unsigned patch_arguments(const uint8_t *code, size_t n, uint64_t address, patch_passes *f,
			 void *arg)
{
	enum { ALL = 15 };
	struct decoded d;
	if (!decode(&d, code, n, address, 0))
		return ALL;
	struct way w = {.d = &d, .seen = calloc(d.count + 1, 1), .f = f, .arg = arg};
	if (w.seen)
		go(&w, 0, ALL);
	free(w.seen);
	decoded_free(&d);
	return w.read;
}
