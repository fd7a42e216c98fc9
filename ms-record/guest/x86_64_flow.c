/* SPDX-License-Identifier: MIT
 * x86-64: the rule of an address for which no table has one, by the code around it.
 *
 * Backwards: from the nearest `push %rbp; mov %rsp, %rbp` on all code up to the address is read as it
 * stands, and account is kept of what it does to rsp and rbp in terms of their values at the
 * beginning. If the function that begins there reaches so far, and rbp is its frame pointer at the
 * address, the frame is there.
 *
 * Forwards, where it is not: all that is executed from the address to a return is followed, with the
 * same account, in terms of the values at the address. Where the return takes its address from is
 * the frame's end, with a frame pointer or without. A branch may go either way; what is first seen
 * to return says how, because all ways out of a function undo the same frame.
 *
 * Code is no proof in one place: a call may never return, and behind it may be another function.
 *
 *  F1 A return through the place where rsp was at a call passed on the way is none: a function that
 *     keeps the stack aligned does not call without a frame, but the function behind it, entered by
 *     falling into it, returns so.
 *  F2 At a call rsp is a multiple of 16, and was one at the call of the function. Forwards and
 *     backwards a frame of another size is none. An interrupted instruction need not be at a call:
 *     of it the frame is found forwards alone.
 *  F3 What is not understood ends the way: code that cannot be decoded, a jump to a computed
 *     address, a stack that is switched, a frame of a computed size, unless the frame pointer undoes
 *     it.
 *  F4 Behind a call that never returns there may also be a piece split off another function, which
 *     jumps back to it, from far. So what a far jump behind a call leads to is true only if rbp is the
 *     frame pointer that it says: of a function without one nothing is said then.
 *
 * And a rule that comes from here is used only if the return address that it leads to is behind a
 * call (step.h). Compared with the tables of programs that have them, none of 12,000 calls of the C
 * library leads to another frame, 18 of 57,000 of Python; of 2 to 18 of 100 nothing is said.
 */
#include "core.h"
#include "cursor.h"

enum { SP = 4, BP = 5, NOWHERE = 16 };
enum { WAYS = 8, PUSHED = 8, CALLS = 4 };
enum { MOST = 2000 }; /* maximum number of instructions decoded on all paths together */
/* FAR: minimum bytes of a far jump; BACK: maximum bytes searched backwards for a prologue */
enum { FAR = 4096, BACK = 32768 };
/* APART: maximum bytes of a prologue; TRIES: maximum number of prologues tried */
enum { APART = 32, TRIES = 2 };

/* Describes a value in terms of rsp and rbp at the start of the path: rsp + n, rbp + n, or the
 * word stored there. */
enum kind { UNKNOWN, FROM_SP, FROM_BP, AT_SP, AT_BP };
struct value {
	int32_t n : 29;
	uint32_t kind : 3;
};

/* Holds the state of one execution path being followed. */
struct way {
	uint64_t at;
	struct value sp, bp;
	/* values pushed below rsp as it was at the start of the path: at rsp - 8, rsp - 16 ... */
	struct value pushed[PUSHED];
	int32_t calls[CALLS]; /* rsp at calls, relative to rsp at the start of the path */
	uint32_t call_count;
	int32_t written; /* end of the words overwritten by pushes, relative to rsp at the start of
			    the path */
	bool doubtful;   /* F4 */
};

struct search {
	struct cursor code;
	bool aligned;  /* F2 */
	uint32_t left; /* instructions that may still be decoded */
	uint32_t waiting;
	uint64_t seen[16]; /* bit set of branches taken, by a hash of their targets */
	struct way ways[WAYS];
};

/* ---- one instruction ------------------------------------------------------------------------- */

enum { ONE, TWO, THREE_38, THREE_3A }; /* opcode maps */

struct instruction {
	uint8_t map, op, mod, reg, rm; /* register numbers include the prefixes' bits */
	uint8_t vvvv, base;            /* base: base register of a memory operand, or NOWHERE */
	bool vector, wide, rex, small, rep;
	int64_t displacement, immediate;
};

/* Lists what follows each opcode: m = ModRM operand; M = ModRM operand and 8-bit value; D =
 * ModRM operand and 32-bit value; b, w, d, v, q = value of 8, 16, 32, 32 or 64, and 64 bits; f =
 * ModRM operand, perhaps with a value; x = unknown here, or the path ends. */
static const char follows_one[] = "mmmmbdxxmmmmbdxxmmmmbdxxmmmmbdxx"
				  "mmmmbdxxmmmmbdxxmmmmbdxxmmmmbdxx"
				  "xxxxxxxxxxxxxxxx................"
				  "xxxmxxxxdDbM....bbbbbbbbbbbbbbbb"
				  "MDxMmmmmmmmmmmmm..........x....."
				  "qqqq....bd......bbbbbbbbvvvvvvvv"
				  "MMw.xxMDx.xxxxxxmmmmxxx.mmmmmmmm"
				  "bbbbbbbbddxb....xxxxx.ff......mm";
static const char follows_two[] = "mmmmx.xx..xxxm.Mmmmmmmmmmmmmmmmm"
				  "mmmmxxxxmmmmmmmm......x.xxxxxxxx"
				  "mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm"
				  "mmmmmmmmmmmmmmmmMMMMmmm.mmmmmmmm"
				  "ddddddddddddddddmmmmmmmmmmmmmmmm"
				  "...mMmxx...mMmmmmmmmmmmmmxMmmmmm"
				  "mmMmMMMm........mmmmmmmmmmmmmmmm"
				  "mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm";

static void read_operand(struct cursor *c, struct instruction *in, unsigned r, unsigned x,
			 unsigned b)
{
	uint64_t v = bytes(c, 1), sib = 0x20;
	in->mod = (uint8_t)(v >> 6);
	in->reg = (uint8_t)((v >> 3 & 7) | r);
	in->rm = (uint8_t)((v & 7) | b);
	if (in->mod == 3)
		return;
	in->base = in->rm;
	if ((v & 7) == 4) {
		sib = bytes(c, 1);
		in->base = (uint8_t)((sib & 7) | b);
	}
	bool none = !in->mod && (in->base & 7) == 5;
	in->displacement = none || in->mod == 2 ? bytes_signed(c, 4)
			   : in->mod == 1       ? bytes_signed(c, 1)
						: 0;
	if (none || (sib & 0x38) != 0x20 || x)
		in->base = NOWHERE;
}

/* Reads a VEX or EVEX prefix, which contains part of the opcode. */
static bool read_vector(struct cursor *c, struct instruction *in, uint64_t first, unsigned rxb[3])
{
	uint64_t a = bytes(c, 1), w = first == 0xc5 ? a : bytes(c, 1);
	uint64_t map = first == 0xc5 ? 1 : a & (first == 0x62 ? 7 : 31);
	if (first == 0x62)
		bytes(c, 1);
	in->vector = true;
	in->wide = first != 0xc5 && w & 0x80;
	in->vvvv = (uint8_t)(~w >> 3 & 15);
	rxb[0] = a & 0x80 ? 0 : 8;
	rxb[1] = first != 0xc5 && !(a & 0x40) ? 8 : 0;
	rxb[2] = first != 0xc5 && !(a & 0x20) ? 8 : 0;
	/* the operands of maps 5 and 6 have the same form */
	in->map = map == 5 || map == 6 ? THREE_38 : (uint8_t)map;
	in->small = (w & 3) == 1;
	in->rep = (w & 3) > 1;
	in->op = (uint8_t)bytes(c, 1);
	return in->map >= TWO && in->map <= THREE_3A;
}

static char read_opcode(struct cursor *c, struct instruction *in, unsigned rxb[3])
{
	uint64_t op = bytes(c, 1);
	for (int n = 0; n < 14; n++, op = bytes(c, 1)) {
		if (op == 0x66)
			in->small = true;
		else if (op == 0xf2 || op == 0xf3)
			in->rep = true;
		else if (op != 0xf0 && (op & 0xfc) != 0x64 && (op & 0xe7) != 0x26)
			break;
	}
	if ((op & 0xf0) == 0x40) {
		in->rex = true;
		in->wide = op & 8;
		for (unsigned i = 0; i < 3; i++)
			rxb[i] = op & 4 >> i ? 8 : 0;
		op = bytes(c, 1);
	}
	in->op = (uint8_t)op;
	if (op == 0xc4 || op == 0xc5 || op == 0x62) {
		if (!read_vector(c, in, op, rxb))
			return 'x';
	} else if (op == 0x0f) {
		in->map = TWO;
		in->op = (uint8_t)bytes(c, 1);
		if (in->op == 0x38 || in->op == 0x3a) {
			in->map = in->op == 0x38 ? THREE_38 : THREE_3A;
			in->op = (uint8_t)bytes(c, 1);
		}
	}
	if (in->map == THREE_38 || in->map == THREE_3A)
		return in->map == THREE_38 ? 'm' : 'M';
	return in->map == TWO ? follows_two[in->op] : follows_one[in->op];
}

/* Reads the instruction at the cursor. Returns false if it is unknown, or no instruction is
 * executed after it. */
static bool read_instruction(struct cursor *c, struct instruction *in)
{
	unsigned rxb[3] = {0};
	*in = (struct instruction){.base = NOWHERE};
	char follows = read_opcode(c, in, rxb);
	if (follows == 'x' || (follows == 'd' && in->vector))
		return false;
	if (follows == 'm' || follows == 'M' || follows == 'D' || follows == 'f')
		read_operand(c, in, rxb[0], rxb[1], rxb[2]);
	else
		in->rm = (uint8_t)((in->op & 7) | rxb[2]);
	unsigned n = 0, most = in->small && (in->op & 0xfe) != 0xe8 && in->map == ONE ? 2 : 4;
	if (follows == 'f')
		follows = in->reg & 6 ? 'm' : in->op & 1 ? 'D' : 'M';
	if (follows == 'b' || follows == 'M')
		n = 1;
	else if (follows == 'd' || follows == 'D')
		n = most;
	else if (follows == 'w')
		n = 2;
	else if (follows == 'v')
		n = in->wide ? 8 : most;
	else if (follows == 'q')
		n = 8;
	if (n)
		in->immediate = bytes_signed(c, n);
	return !c->bad;
}

/* ---- the effect of an instruction ------------------------------------------------------------ */

static struct value plus(struct value v, int64_t n)
{
	int64_t sum = v.n + n;
	if ((v.kind != FROM_SP && v.kind != FROM_BP) || sum != (int32_t)sum || sum >= 1 << 27 ||
	    sum < -(1 << 27))
		return (struct value){0};
	v.n = (int32_t)sum;
	return v;
}

/* Returns the value stored at an address, as far as known. */
static struct value word(const struct way *w, struct value at)
{
	if (at.kind == FROM_SP && at.n < 0)
		return at.n & 7 || at.n < -8 * PUSHED ? (struct value){0}
						      : w->pushed[-at.n / 8 - 1];
	if ((at.kind != FROM_SP && at.kind != FROM_BP) || (at.kind == FROM_SP && at.n < w->written))
		return (struct value){0};
	at.kind = at.kind == FROM_SP ? AT_SP : AT_BP;
	return at;
}

static void set(struct way *w, unsigned reg, struct value v)
{
	if (reg == SP)
		w->sp = v;
	else if (reg == BP)
		w->bp = v;
}

static struct value get(const struct way *w, unsigned reg)
{
	return reg == SP ? w->sp : reg == BP ? w->bp : (struct value){0};
}

/* Pushes a value; false = rsp is unknown. */
static bool push(struct way *w, struct value v)
{
	w->sp = plus(w->sp, -8);
	if (w->sp.kind != FROM_SP)
		return false;
	if (w->sp.n >= 0)
		w->written = w->sp.n + 8 > w->written ? w->sp.n + 8 : w->written;
	else if (w->sp.n >= -8 * PUSHED && !(w->sp.n & 7))
		w->pushed[-w->sp.n / 8 - 1] = v;
	return true;
}

static void pop(struct way *w, unsigned reg)
{
	struct value v = word(w, w->sp);
	w->sp = plus(w->sp, 8);
	set(w, reg, v);
}

/* Returns a bit set of the general registers that the instruction may write. */
static uint32_t writes_two(const struct instruction *in)
{
	uint32_t reg = 1u << in->reg, rm = in->mod == 3 ? 1u << in->rm : 0;
	unsigned op = in->op;
	if ((op & 0xf8) == 0xc8 && !in->vector)
		return 1u << in->rm; /* bswap */
	if ((op & 0xfe) == 0x2c || op == 0x50 || op == 0xd7 || op == 0xc5)
		return reg; /* moves from vector registers */
	if (op == 0x7e)
		return in->rep ? 0 : rm;
	if (in->vector)
		return op == 0x93 || (op & 0xfe) == 0x78 ? reg : 0;
	if ((op & 0xf0) == 0x90)
		return in->rex ? rm : 0; /* setcc: ah to dh without a prefix */
	if ((op & 0xf0) == 0x40 || (op & 0xfe) == 2)
		return reg;
	if (op == 0xc7 || (op >= 0xa4 && op <= 0xbf) || (op & 0xfe) == 0xc0)
		return reg | rm;
	return 0;
}

static uint32_t writes_one(const struct instruction *in)
{
	uint32_t reg = 1u << in->reg, rm = in->mod == 3 ? 1u << in->rm : 0;
	unsigned op = in->op;
	if (op < 0x40) { /* arithmetic with two operands; the last kind, cmp, writes none */
		bool operands = (op & 7) < 4 && op < 0x38;
		if (!(op & 1) && !in->rex)
			return 0;
		return !operands ? 0 : op & 2 ? reg : rm;
	}
	if ((op & 0xf8) == 0x90 || (op & 0xf0) == 0xb0)
		return (op & 0xf8) == 0xb0 && !in->rex ? 0 : 1u << in->rm;
	if (op == 0x63 || op == 0x69 || op == 0x6b || op == 0x8b || op == 0x8d)
		return reg;
	if (op == 0x86 || op == 0x87)
		return reg | rm;
	if (op == 0x8a)
		return in->rex ? reg : 0;
	bool bytewise = op == 0x80 || op == 0x88 || op == 0xc0 || op == 0xc6 || op == 0xd0 ||
			op == 0xd2 || op == 0xf6 || op == 0xfe;
	bool compares = (op >= 0x80 && op <= 0x83 && (in->reg & 7) == 7) ||
			((op == 0xf6 || op == 0xf7) && !(in->reg & 6));
	if ((op >= 0x80 && op <= 0x83) || op == 0x88 || op == 0x89 || op == 0x8c || op == 0x8f ||
	    op == 0xc0 || op == 0xc1 || op == 0xc6 || op == 0xc7 || (op & 0xfc) == 0xd0 ||
	    (op & 0xf6) == 0xf6)
		return compares || (bytewise && !in->rex) ? 0 : rm;
	return 0;
}

static uint32_t writes(const struct instruction *in)
{
	uint32_t reg = 1u << in->reg;
	if (in->map == ONE)
		return writes_one(in);
	if (in->map == TWO)
		return writes_two(in);
	if (in->map == THREE_38)
		return in->op >= 0xf0 ? reg | (in->vector ? 1u << in->vvvv : 0) : 0;
	if (in->op == 0xf0)
		return reg;
	return in->op >= 0x14 && in->op <= 0x17 && in->mod == 3 ? 1u << in->rm : 0;
}

/* Applies an instruction to the path's state: follows values moved between rsp, rbp and the stack,
 * and marks others as unknown. Returns false if the path ends. */
static bool execute(struct way *w, const struct instruction *in)
{
	unsigned op = in->map == ONE ? in->op : 0x100;
	struct value at = plus(get(w, in->base), in->displacement);
	bool is_register = in->mod == 3;
	if ((op & 0xf8) == 0x50)
		return push(w, in->small ? (struct value){0} : get(w, in->rm));
	if ((op & 0xf8) == 0x58) {
		pop(w, in->rm);
	} else if (op == 0x68 || op == 0x6a || op == 0x9c || (op == 0xff && (in->reg & 7) == 6)) {
		return push(w, (struct value){0});
	} else if (op == 0x9d || (op == 0x8f && !is_register)) {
		pop(w, NOWHERE);
	} else if (op == 0xc9) { /* leave */
		w->sp = w->bp;
		pop(w, BP);
	} else if (op == 0x8d && in->wide) {
		set(w, in->reg, at);
	} else if (op == 0x89 && in->wide && is_register) {
		set(w, in->rm, get(w, in->reg));
	} else if (op == 0x8b && in->wide) {
		set(w, in->reg, is_register ? get(w, in->rm) : word(w, at));
	} else if ((op == 0x81 || op == 0x83) && in->wide && is_register &&
		   ((in->reg & 7) == 0 || (in->reg & 7) == 5)) {
		int64_t n = in->reg & 7 ? -in->immediate : in->immediate;
		set(w, in->rm, plus(get(w, in->rm), n));
	} else {
		uint32_t lost = writes(in);
		if (lost & 1u << SP)
			w->sp = (struct value){0};
		if (lost & 1u << BP)
			w->bp = (struct value){0};
	}
	return true;
}

/* ---- following paths ------------------------------------------------------------------------- */

/* Returns the unwinding rule that follows from a path to a return instruction, which pops the
 * return address from w->sp; 0 = the instruction may not return from this frame. */
static uint64_t rule_at_return(const struct search *s, const struct way *w)
{
	struct value ra = w->sp, bp = w->bp;
	int32_t cfa = ra.n + 8, offset = bp.n - cfa;
	uint64_t type = ra.kind == FROM_BP ? MG_RULE_FLOW_BP : MG_RULE_FLOW_SP;
	uint64_t mode = MG_BP_AT_CFA, need = ra.kind == FROM_BP ? MG_NEED_YES : MG_NEED_NO;
	if ((ra.kind != FROM_SP && ra.kind != FROM_BP) || ra.n & 7 || ra.n < w->written)
		return 0;
	for (uint32_t i = 0; i < w->call_count; i++)
		if (ra.kind == FROM_SP && w->calls[i] == ra.n)
			return 0; /* F1 */
	if (s->aligned && ra.kind == FROM_SP && cfa & 15)
		return 0; /* F2 */
	if (bp.kind == FROM_BP && !bp.n) {
		mode = MG_BP_SAME;
		offset = 0;
		need = ra.kind == FROM_BP ? MG_NEED_YES : MG_NEED_INHERIT;
	} else if (bp.kind != (ra.kind == FROM_SP ? AT_SP : AT_BP) || offset >= 0 ||
		   offset != (int16_t)offset) {
		return 0;
	}
	if (w->doubtful) { /* F4 */
		if (ra.kind != FROM_SP || mode != MG_BP_AT_CFA || offset != -16)
			return 0;
		mode = MG_BP_AT_BP;
		offset = 0;
		need = MG_NEED_YES;
	}
	return type | mode << 4 | need << 6 | (uint64_t)(uint16_t)offset << 8 |
	       (uint64_t)(uint32_t)cfa << 32;
}

/* Tells whether a branch to `to` was taken before, and marks it as taken. A hash collision loses
 * a path. */
static bool seen(struct search *s, uint64_t to)
{
	uint64_t h = to * UINT64_C(0x9e3779b97f4a7c15) >> 54, bit = UINT64_C(1) << (h & 63);
	bool was = s->seen[h >> 6] & bit;
	s->seen[h >> 6] |= bit;
	return was;
}

static bool pass_call(struct way *w)
{
	uint32_t i = 0;
	if (w->sp.kind != FROM_SP)
		return true;
	while (i < w->call_count && w->calls[i] != w->sp.n)
		i++;
	if (i == CALLS)
		return false;
	w->calls[i] = w->sp.n;
	w->call_count += i == w->call_count;
	return true;
}

/* Tells whether the frame has been released and rbp restored for the caller. */
static bool is_down(const struct way *w)
{
	return (w->sp.kind == FROM_BP || (w->sp.kind == FROM_SP && w->sp.n > 0)) &&
	       (w->bp.kind == AT_SP || w->bp.kind == AT_BP);
}

/* Names the control-flow effects of an instruction. */
enum ends { GOES_ON, BRANCHES, CALLS_OUT, JUMPS, LEAVES, RETURNS, STOPS };

/* Reads and applies the next instruction; *to: the address to which it may branch, 0 = unknown. */
static enum ends next_instruction(const struct search *s, struct way *w, uint64_t *to)
{
	struct instruction in;
	struct cursor c = s->code;
	c.at = w->at;
	if (c.at - c.low >= c.end - c.low || !read_instruction(&c, &in))
		return STOPS;
	unsigned op = in.map == ONE ? in.op : in.map == TWO ? 0x100u | in.op : 0x200;
	bool indirect = op == 0xff && (in.reg & 6) == 4;
	*to = indirect ? 0 : c.at + (uint64_t)in.immediate;
	w->at = c.at;
	if (op == 0xc3)
		return RETURNS;
	if (indirect && !in.mod && (in.rm & 7) == 5)
		return LEAVES; /* jmp *SLOT(%rip), as in the procedure linkage table */
	if (op == 0xe9 || op == 0xeb || indirect)
		return JUMPS;
	if ((op & 0xff0) == 0x70 || (op & 0xff0) == 0x180 || (op & 0xffc) == 0xe0)
		return BRANCHES;
	if (op == 0xe8 || op == 0x105 || (op == 0xff && (in.reg & 6) == 2))
		return op == 0xe8 && !in.immediate ? STOPS : CALLS_OUT;
	return op == 0xc2 || !execute(w, &in) ? STOPS : GOES_ON;
}

/* Follows an execution path to its end. Returns a rule or 0. */
static uint64_t follow_way(struct search *s, struct way *w)
{
	uint64_t to = 0;
	for (; s->left; s->left--) {
		switch (next_instruction(s, w, &to)) {
		case GOES_ON:
			break;
		case BRANCHES:
			if (s->waiting < WAYS && !seen(s, to)) {
				s->ways[s->waiting] = *w;
				s->ways[s->waiting++].at = to;
			}
			break;
		case CALLS_OUT:
			if (!pass_call(w))
				return 0;
			break;
		case JUMPS:
			if (is_down(w))
				return rule_at_return(s, w); /* a tail call */
			if (!to || seen(s, to))
				return 0;
			w->doubtful |= w->call_count && to - w->at + FAR > 2 * FAR;
			w->at = to;
			break;
		case LEAVES:
		case RETURNS:
			return rule_at_return(s, w);
		case STOPS:
			return 0;
		}
	}
	return 0;
}

static uint64_t find_forwards(struct search *s, uint64_t at)
{
	s->ways[0] = (struct way){.at = at, .sp.kind = FROM_SP, .bp.kind = FROM_BP};
	for (s->waiting = 1; s->waiting && s->left;) {
		struct way w = s->ways[--s->waiting];
		uint64_t rule = follow_way(s, &w);
		if (rule)
			return rule;
	}
	return 0;
}

/* Tells whether `p` is at `push %rbp`, with `mov %rsp, %rbp` soon after it. False for a prologue
 * that has realigned the stack before: the caller's frame is elsewhere. */
static bool is_prologue(const uint8_t *p, const uint8_t *end)
{
	if (*p != 0x55 || (p[-4] == 0x41 && p[-3] == 0xff && p[-2] == 0x72 && p[-1] == 0xf8))
		return false;
	for (const uint8_t *q = p + 1; q <= p + APART && q + 3 <= end; q++)
		if (*q == 0x48 &&
		    ((q[1] == 0x89 && q[2] == 0xe5) || (q[1] == 0x8b && q[2] == 0xec)))
			return true;
	return false;
}

/* Tells whether the code from a prologue at `p` up to `goal` belongs to one function that has
 * its frame at rbp at `goal`. Reads the code linearly: after a return, continues with the state
 * at the last forward branch. */
static bool has_frame(struct search *s, uint64_t p, uint64_t goal)
{
	struct way w = {.at = p, .sp.kind = FROM_SP, .bp.kind = FROM_BP}, body = w;
	uint64_t to, last = 0; /* furthest target of a branch */
	while (w.at < goal) {
		struct cursor c = s->code;
		c.at = w.at;
		uint64_t code = bytes(&c, 2);
		enum ends e = next_instruction(s, &w, &to);
		bool trap = (code & 0xff) == 0xcc || code == 0x0b0f; /* int3, ud2 */
		if (e == STOPS && !trap)
			return false;
		if (e == STOPS)
			w.at += code == 0x0b0f ? 2 : 1;
		if ((e == BRANCHES || (e == JUMPS && !is_down(&w))) && w.at <= to) {
			body = w;
			last = to > last ? to : last;
		}
		if (e == JUMPS && !to && !is_down(&w)) { /* jump table of a switch statement */
			body = w;
			last = w.at > last ? w.at : last;
		}
		if (e < JUMPS)
			continue;
		if (w.at > last)
			return false;
		body.at = w.at;
		w = body;
	}
	return w.at == goal && w.bp.kind == FROM_SP && w.bp.n == -8 &&
	       w.pushed[0].kind == FROM_BP && !w.pushed[0].n &&
	       (!s->aligned || (w.sp.kind == FROM_SP && (w.sp.n & 15) == 8));
}

/* Tells whether rbp is the frame pointer at `at`. Searches eight bytes at a time for the
 * beginning of a prologue. */
static bool find_backwards(struct search *s, uint64_t at)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	uint64_t low = at - s->code.low > BACK ? at - BACK : s->code.low + 8;
	int tries = 0;
	for (uint64_t p = (at - 4) & ~UINT64_C(7); p >= low && tries < TRIES; p -= 8) {
		uint64_t x = load(p) ^ 0x55 * ones;
		if (!((x - ones) & ~x & 0x80 * ones))
			continue;
		for (uint64_t q = p + 8; q-- > p && tries < TRIES;) {
			if (!is_prologue((const uint8_t *)q, (const uint8_t *)at))
				continue;
			if (has_frame(s, q, at))
				return true;
			tries++;
		}
	}
	return false;
}

uint64_t mg_flow_rule(const struct mg_unwind_info *info, uint64_t at, bool exact)
{
	struct search s = {.code = {.low = info->code_low, .end = info->code_high},
			   .left = MOST,
			   .aligned = !exact};
	if (at - info->code_low >= info->code_high - info->code_low)
		return MG_RULE_NONE;
	if (!exact && find_backwards(&s, at))
		return (MG_RULE_FRAME & ~UINT64_C(15)) | MG_RULE_FLOW_BP;
	uint64_t rule = find_forwards(&s, at);
	return rule ? rule : MG_RULE_NONE;
}
