/* SPDX-License-Identifier: MIT
 * Reads one unwinding rule from a module's .eh_frame_hdr and .eh_frame.
 *
 * A cursor knows the readable segment; a read outside it gives 0 and marks the cursor bad, and a
 * bad cursor makes the rule "complex", which costs time but is never wrong. Of the DWARF state only
 * three columns make a rule: the CFA, bp and the return address.
 */
#include "core.h"
#include "cursor.h"

enum { DW_OMIT = 0xff, DW_PCREL = 0x10, DW_DATAREL = 0x30, DW_INDIRECT = 0x80 };
enum column { SAME, AT_CFA, EXPRESSION, UNDEFINED, OTHER };

struct state {
	uint64_t cfa_reg;
	int64_t cfa_offset;
	uint64_t cfa_expr, cfa_expr_end; /* 0 = no expression */
	struct place {
		enum column column;
		int64_t offset;
		uint64_t expr, expr_end;
	} bp, ra;
	int16_t kept[MG_KEPT]; /* see mg_eh_frame_kept */
};

struct fde {
	struct cursor cie_code, code;
	uint64_t start, size;
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding;
	bool signal;
};

/* Returns a cursor over [at, end); sets its `bad` if the range is not inside the segment of `c`. */
static struct cursor part(const struct cursor *c, uint64_t at, uint64_t end)
{
	bool ok = at >= c->low && end <= c->high && at <= end;
	return (struct cursor){.at = at, .end = end, .low = c->low, .high = c->high, .bad = !ok};
}

static uint64_t leb(struct cursor *c, bool is_signed)
{
	uint64_t v = 0;
	for (unsigned shift = 0; shift < 70; shift += 7) {
		uint64_t b = bytes(c, 1);
		if (shift < 64)
			v |= (b & 127) << shift;
		if (b & 128)
			continue;
		if (is_signed && shift < 57 && b & 64)
			v |= ~UINT64_C(0) << (shift + 7);
		return v;
	}
	c->bad = true;
	return 0;
}

static uint64_t uleb(struct cursor *c)
{
	return leb(c, false);
}

static int64_t sleb(struct cursor *c)
{
	return (int64_t)leb(c, true);
}

static void skip(struct cursor *c, uint64_t n)
{
	if (c->bad || c->end - c->at < n)
		c->bad = true;
	else
		c->at += n;
}

/* Reads a pointer in one of the DW_EH_PE_ encodings. */
static uint64_t pointer(struct cursor *c, uint8_t encoding, uint64_t datarel)
{
	if (encoding == DW_OMIT)
		return 0;
	static const uint8_t sizes[8] = {8, 0, 2, 4, 8};
	uint64_t from = c->at, v = 0;
	unsigned size = (encoding & 15) == 8 ? 0 : sizes[encoding & 7];
	if ((encoding & 7) == 1)
		v = leb(c, encoding & 8);
	else if (!size)
		c->bad = true;
	else
		v = encoding & 8 ? (uint64_t)bytes_signed(c, size) : bytes(c, size);
	switch (encoding & 0x70) {
	case 0:
		return v;
	case DW_PCREL:
		return v + from;
	case DW_DATAREL:
		return v + datarel;
	}
	c->bad = true;
	return 0;
}

/* ---- the call frame instructions ------------------------------------------------------------ */

static void set_kept(struct state *s, int i, enum column column, int64_t offset)
{
	bool known = column == SAME || (column == AT_CFA && offset == (int16_t)offset);
	s->kept[i] = !known ? MG_KEPT_LOST : column == SAME ? 0 : (int16_t)offset;
}

static void set_column(struct state *s, uint64_t reg, enum column column, int64_t offset)
{
	int kept = mg_kept_of(reg);
	if (kept >= 0)
		set_kept(s, kept, column, offset);
	struct place *p = reg == MG_DW_BP ? &s->bp : reg == MG_DW_RA ? &s->ra : NULL;
	if (p) {
		p->column = column;
		p->offset = offset;
	}
}

static void restore_column(struct state *s, uint64_t reg, const struct state *initial)
{
	if (reg == MG_DW_BP)
		s->bp = initial->bp;
	else if (reg == MG_DW_RA)
		s->ra = initial->ra;
	else if (mg_kept_of(reg) >= 0)
		s->kept[mg_kept_of(reg)] = initial->kept[mg_kept_of(reg)];
}

static void expression_column(struct state *s, uint64_t reg, struct cursor *c, bool value)
{
	uint64_t n = uleb(c), from = c->at;
	skip(c, n);
	set_column(s, reg, value || reg != MG_DW_BP ? OTHER : EXPRESSION, 0);
	if (reg == MG_DW_BP) {
		s->bp.expr = from;
		s->bp.expr_end = from + n;
	}
}

/* Multiplies a factored offset by its alignment factor. A product that overflows wraps; it is
 * invalid anyway. */
static int64_t scaled(uint64_t n, int64_t align)
{
	return (int64_t)(n * (uint64_t)align);
}

/* Executes a CFA instruction that changes a register's column or the CFA; returns false for any
 * other. */
static bool column_instruction(struct state *s, unsigned op, struct cursor *c,
			       const struct state *initial, int64_t data_align)
{
	uint64_t n, reg = op == 0x0e || op == 0x13 || op == 0x0f ? 0 : uleb(c);
	switch (op) {
	case 0x05: /* offset_extended */
	case 0x11: /* offset_extended_sf */
	case 0x2f: /* GNU_negative_offset_extended */
		n = leb(c, op == 0x11);
		set_column(s, reg, AT_CFA, scaled(op == 0x2f ? -n : n, data_align));
		return true;
	case 0x06: /* restore_extended */
		restore_column(s, reg, initial);
		return true;
	case 0x07: /* undefined */
	case 0x08: /* same_value */
		set_column(s, reg, op == 0x07 ? UNDEFINED : SAME, 0);
		return true;
	case 0x09: /* register */
	case 0x14: /* val_offset */
	case 0x15: /* val_offset_sf */
		uleb(c);
		set_column(s, reg, OTHER, 0);
		return true;
	case 0x0c: /* def_cfa */
	case 0x0d: /* def_cfa_register */
	case 0x12: /* def_cfa_sf */
		s->cfa_reg = reg;
		s->cfa_expr = 0;
		if (op == 0x0d)
			return true;
		__attribute__((fallthrough));
	case 0x0e: /* def_cfa_offset */
	case 0x13: /* def_cfa_offset_sf */
		n = leb(c, op >= 0x12);
		s->cfa_offset = scaled(n, op >= 0x12 ? data_align : 1);
		return true;
	case 0x0f: /* def_cfa_expression */
		n = uleb(c);
		s->cfa_expr = c->at;
		s->cfa_expr_end = c->at + n;
		skip(c, n);
		return true;
	case 0x10: /* expression */
	case 0x16: /* val_expression */
		expression_column(s, reg, c, op == 0x16);
		return true;
	}
	return false;
}

/* Executes one of the less frequent CFA instructions. Returns false if it is not supported. */
static bool run_rare(struct state *s, unsigned op, struct cursor *c, const struct fde *f,
		     uint64_t *loc, const struct state *initial)
{
	if (op >> 6 == 2) /* offset */
		set_column(s, op & 63, AT_CFA, scaled(uleb(c), f->data_align));
	else if (op == 0x01) /* set_loc */
		*loc = pointer(c, f->encoding, 0);
	else if (op >= 0x02 && op <= 0x04) /* advance_loc1, 2, 4 */
		*loc += bytes(c, 1u << (op - 0x02)) * f->code_align;
	else if (op == 0x2e) /* GNU_args_size */
		uleb(c);
	else if (op == MG_DW_IGNORED)
		return true;
	else
		return column_instruction(s, op, c, initial, f->data_align);
	return true;
}

/* Executes CFA instructions up to the table row for `pc`. Returns false if one is not supported.
 * Optimized for functions with hundreds of instructions before `pc`, nearly all of one or two
 * bytes. */
static bool run(struct cursor c, uint64_t pc, const struct fde *f, struct state *s,
		const struct state *initial)
{
	struct state saved[8];
	unsigned depth = 0;
	uint64_t loc = f->start;
	const uint8_t *p = (const uint8_t *)c.at, *const end = (const uint8_t *)c.end;
	if (c.bad)
		return false;
	while (p < end && loc <= pc) {
		unsigned op = *p++, low = op & 63;
		bool small = p < end && *p < 128; /* a LEB128 operand that follows has one byte */
		if (op >> 6 == 1) {
			loc += low * f->code_align;
		} else if (op >> 6 == 2 && small) {
			uint64_t n = *p++;
			set_column(s, low, AT_CFA, scaled(n, f->data_align));
		} else if (op >> 6 == 3) {
			restore_column(s, low, initial);
		} else if (op == 0x0e && small) { /* def_cfa_offset */
			s->cfa_offset = *p++;
		} else if (op == 0x02 && p < end) { /* advance_loc1 */
			loc += *p++ * f->code_align;
		} else if (op == 0x0a && depth < 8) { /* remember_state */
			saved[depth++] = *s;
		} else if (op == 0x0b && depth > 0) { /* restore_state */
			*s = saved[--depth];
		} else if (op) { /* not nop */
			c.at = (uint64_t)p;
			if (!run_rare(s, op, &c, f, &loc, initial) || c.bad)
				return false;
			p = (const uint8_t *)c.at;
		}
	}
	return true;
}

/* ---- finding the FDE ------------------------------------------------------------------------- */

/* Returns the FDE of the last entry at or below `pc` in a sorted table, whose addresses are
 * relative to `base`; 0 = none. */
static uint64_t search(const struct mg_frames_entry *v, uint64_t count, uint64_t base, uint64_t pc)
{
	int64_t rel = (int64_t)(pc - base);
	uint64_t low = 0, high = count;
	if (count == 0 || rel < v[0].start)
		return 0;
	while (high - low > 1) {
		uint64_t mid = low + (high - low) / 2;
		if (v[mid].start <= rel)
			low = mid;
		else
			high = mid;
	}
	return base + (uint64_t)(int64_t)v[low].fde;
}

/* Returns the FDE with the last start at or below `pc`, from the sorted table; 0 = none. Sets
 * c->bad if there is no such table. */
static uint64_t find_fde(struct cursor *c, uint64_t hdr, uint64_t pc)
{
	uint8_t version = (uint8_t)bytes(c, 1), frame_enc = (uint8_t)bytes(c, 1);
	uint8_t count_enc = (uint8_t)bytes(c, 1), table_enc = (uint8_t)bytes(c, 1);
	pointer(c, frame_enc, hdr);
	uint64_t count = count_enc == DW_OMIT ? 0 : pointer(c, count_enc, hdr);
	if (version != 1 || table_enc != (DW_DATAREL | 11) || c->bad ||
	    count > (c->end - c->at) / 8) {
		c->bad = true;
		return 0;
	}
	return search((const void *)c->at, count, hdr, pc);
}

/* Returns a cursor over the entry at `at`, without its length prefix. */
static struct cursor entry(const struct cursor *segment, uint64_t at)
{
	struct cursor c = part(segment, at, segment->high);
	uint64_t n = bytes(&c, 4);
	if (n == 0xffffffff)
		n = bytes(&c, 8);
	if (n == 0 || c.bad || n > c.end - c.at)
		c.bad = true;
	else
		c.end = c.at + n;
	return c;
}

/* Reads a CIE: alignments, encoding, instructions. Returns whether FDEs have augmentation data. */
static bool read_cie(struct cursor c, struct fde *f, bool *bad)
{
	bytes(&c, 4);
	uint64_t version = bytes(&c, 1), string = c.at;
	if (version != 1 && version != 3)
		c.bad = true;
	while (!c.bad && bytes(&c, 1))
		;
	f->code_align = uleb(&c);
	f->data_align = sleb(&c);
	uint64_t ra = version == 1 ? bytes(&c, 1) : uleb(&c);
	bool augmented = !c.bad && *(const char *)string == 'z';
	if (!c.bad && !augmented && *(const char *)string)
		c.bad = true;
	uint64_t n = augmented ? uleb(&c) : 0, data_end = c.at + n;
	for (const char *a = (const char *)string + 1; augmented && !c.bad && *a; a++) {
		if (*a == 'R') {
			f->encoding = (uint8_t)bytes(&c, 1);
		} else if (*a == 'P') {
			uint8_t e = (uint8_t)bytes(&c, 1);
			pointer(&c, e & 0x7f, 0);
		} else if (*a == 'L') {
			bytes(&c, 1);
		} else if (*a == 'S') {
			f->signal = true;
		} else if (*a != 'B' && *a != 'G') { /* of signed and tagged frames, without data */
			break; /* the rest of the augmentation data is skipped by its length */
		}
	}
	*bad = c.bad || ra != MG_DW_RA || data_end < c.at || data_end > c.end;
	f->cie_code = part(&c, data_end, c.end);
	return augmented;
}

/* Reads the FDE at `at`. */
static bool read_fde(const struct cursor *segment, uint64_t at, struct fde *f)
{
	struct cursor c = entry(segment, at);
	uint64_t here = c.at;
	uint64_t cie = here - bytes(&c, 4);
	if (c.bad || cie == here)
		return false;
	struct cursor cie_entry = entry(segment, cie);
	bool bad = cie_entry.bad;
	if (bad)
		return false;
	bool augmented = read_cie(cie_entry, f, &bad);
	if (bad)
		return false;
	f->start = pointer(&c, f->encoding & 0x7f, 0);
	f->size = pointer(&c, f->encoding & 15, 0);
	if (augmented)
		skip(&c, uleb(&c));
	f->code = part(&c, c.at, c.end);
	return !c.bad && !(f->encoding & DW_INDIRECT);
}

/* ---- the rule -------------------------------------------------------------------------------- */

/* Tells whether the expression is "bp + n", with `deref` dereferenced, and stores n in *offset. */
static bool bp_relative(const struct cursor *segment, uint64_t at, uint64_t end, int deref,
			int64_t *offset)
{
	struct cursor c = part(segment, at, end);
	if (bytes(&c, 1) != MG_DW_OP_BREG_BP)
		return false;
	*offset = sleb(&c);
	if (deref && bytes(&c, 1) != 0x06) /* DW_OP_deref */
		return false;
	return !c.bad && c.at == c.end;
}

static uint64_t pack(const struct cursor *segment, const struct state *s)
{
	uint64_t type = 0;
	int64_t cfa = s->cfa_offset, bp = s->bp.offset;
	uint64_t mode = s->bp.column == AT_CFA ? MG_BP_AT_CFA : MG_BP_SAME;
	if (s->ra.column == UNDEFINED)
		return MG_RULE_END | MG_NEED_NO << 6;
	bool saved = s->ra.column == AT_CFA;
	if ((!saved && s->ra.column != SAME) || s->bp.column == OTHER ||
	    !mg_pack_return(saved, s->ra.offset, s->bp.column == AT_CFA, &bp))
		return MG_RULE_COMPLEX;
	if (s->cfa_expr && bp_relative(segment, s->cfa_expr, s->cfa_expr_end, 1, &cfa))
		type = MG_RULE_DEREF;
	else if (!s->cfa_expr && s->cfa_reg == MG_DW_SP)
		type = MG_RULE_FROM_SP;
	else if (!s->cfa_expr && s->cfa_reg == MG_DW_BP)
		type = MG_RULE_FROM_BP;
	if (s->bp.column == EXPRESSION) {
		mode = MG_BP_AT_BP;
		if (!bp_relative(segment, s->bp.expr, s->bp.expr_end, 0, &bp))
			type = 0;
	}
	if (!type || bp != (int16_t)bp || cfa != (int32_t)cfa)
		return MG_RULE_COMPLEX;
#ifdef MG_SEED_CFA_SIGN
	if (type == MG_RULE_FROM_BP)
		cfa = -cfa;
#endif
	uint64_t need = MG_NEED_INHERIT;
	if (type != MG_RULE_FROM_SP || mode == MG_BP_AT_BP)
		need = MG_NEED_YES;
	else if (mode == MG_BP_AT_CFA)
		need = MG_NEED_NO;
	return type | mode << 4 | need << 6 | (uint64_t)(uint16_t)bp << 8 | (uint64_t)cfa << 32;
}

/* Returns the unwinding rule at `ip`; if CFI describes `ip`, fills *s with the complete table
 * row. */
static uint64_t find_row(const struct mg_unwind_info *info, uint64_t ip, struct state *s)
{
	bool exact = ip & MG_EXACT_IP;
	uint64_t address = ip & ~MG_EXACT_IP;
	uint64_t pc = exact ? address : address - 1;
	uint64_t none = !exact && mg_is_sigreturn(info, address) ? MG_RULE_SIGNAL : MG_RULE_NONE;
	bool called = exact || mg_is_called(address, info->code_low, info->code_high);
	uint64_t artificial = called ? 0 : UINT64_C(1) << 32;
	if (none == MG_RULE_NONE)
		none |= artificial;
	if (!info->hdr && !info->frame_count)
		return none;
	struct cursor segment = {.low = info->low, .high = info->high};
	struct cursor c = part(&segment, info->hdr ? info->hdr : info->low, info->high);
	uint64_t at = info->hdr ? find_fde(&c, info->hdr, pc)
				: search(info->frames, info->frame_count, info->start, pc);
	if (c.bad)
		return MG_RULE_COMPLEX;
	struct fde f = {0};
	if (!at)
		return none;
	if (!read_fde(&segment, at, &f))
		return MG_RULE_COMPLEX;
	if (pc - f.start >= f.size)
		return none;
	if (f.signal)
		return MG_RULE_SIGNAL;
	if (artificial)
		return none;
	uint64_t start = f.start;
	f.start = 0; /* the CIE's instructions apply to every address */
	if (!run(f.cie_code, ~UINT64_C(0), &f, s, s))
		return MG_RULE_COMPLEX;
	f.start = start;
	struct state initial = *s;
	if (!run(f.code, pc, &f, s, &initial))
		return MG_RULE_COMPLEX;
	return pack(&segment, s);
}

uint64_t mg_eh_frame_rule(const struct mg_unwind_info *info, uint64_t ip)
{
	struct state s = {0};
	return find_row(info, ip, &s);
}

uint64_t mg_eh_frame_kept(const struct mg_unwind_info *info, uint64_t ip, int16_t kept[MG_KEPT])
{
	struct state s = {0};
	uint64_t rule = find_row(info, ip, &s);
	for (unsigned i = 0; i < MG_KEPT; i++)
		kept[i] = s.kept[i];
	return rule;
}
