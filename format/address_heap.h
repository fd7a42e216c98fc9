/* SPDX-License-Identifier: MIT
 * Addresses of blocks by the model of the C library's heap (MS_COL_HEAP); private to format/.
 */
#ifndef MS_FORMAT_ADDRESS_HEAP_H
#define MS_FORMAT_ADDRESS_HEAP_H

#include "address.h"

/* Writes the code of an allocation. `old_address` and `old_size` of the block that it releases; 0
 * when a reader that started at the last reset does not know it. True: it was foreseen. */
bool ms_address_heap_put(struct ms_address_encoder *e, const struct ms_event *ev,
			 uint64_t old_address, uint64_t old_size);
/* Reads it. False: the column is damaged. */
bool ms_address_heap_get(struct ms_address_decoder *d, const struct ms_event *ev,
			 uint64_t old_address, uint64_t old_size, uint64_t *address);

#endif
