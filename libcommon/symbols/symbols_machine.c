/* SPDX-License-Identifier: MIT
 * Lists the machines whose code is known.
 */
#include "symbols_machine.h"

#include <stddef.h>

static const struct ms_machine *const machines[] = {&ms_x86_64, &ms_aarch64};

const struct ms_machine *ms_machine_of(unsigned elf)
{
	for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
		if (machines[i]->elf == elf)
			return machines[i];
	return NULL;
}
