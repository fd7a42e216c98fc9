/* SPDX-License-Identifier: MIT
 * Reads the state of a process of the target from /proc.
 */
#include "process.h"

#include "libcommon/proc/proc.h"

/* Hashes the fields that describe the address space: code, stack, data, arguments, environment. */
uint64_t process_signature_of(const struct ms_proc_stat *st)
{
	uint64_t h = 0, any = 0;
	for (unsigned i = 26; i < st->fields && i <= 51; i++)
		if (i <= 28 || (i >= 45 && i != 47)) {
			any |= st->field[i] > 1;
			h = (h ^ st->field[i]) * UINT64_C(0x100000001b3) + 1;
		}
	return any ? h : 0;
}

uint64_t process_signature(int folder)
{
	struct ms_proc_stat st;
	ms_proc_stat_at(folder, &st);
	return process_signature_of(&st);
}

bool process_hidden(int folder)
{
	struct ms_proc_stat st;
	return ms_proc_stat_at(folder, &st) && st.state != 'Z' && st.state != 'X' &&
	       st.field[MS_STAT_VSZ] && process_signature(folder) == 0;
}

int process_exit_status(int folder)
{
	struct ms_proc_stat st;
	bool known = ms_proc_stat_at(folder, &st) && st.state == 'Z' && st.fields > MS_STAT_EXIT;
	return known ? (int)st.field[MS_STAT_EXIT] : -1;
}
