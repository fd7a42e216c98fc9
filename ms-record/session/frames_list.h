/* SPDX-License-Identifier: MIT
 * Lists the functions of modules without .eh_frame_hdr where the guest finds them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attach_map;
struct session;

/* For the module whose ELF header is at the start of `map`, if it has no header of its own: its
 * index + 1 in the image's mg_frames[]; 0 = it needs none, or cannot have one. By the thread that
 * has the session's modules. */
uint32_t frames_list(struct session *s, const struct attach_map *map);
/* The same for all modules of a process that waits for the handshake (session's maps are read). */
void frames_list_all(struct session *s);
/* Reads its memory, for struct attach_memory; `s` is the session. The kernel reads less than 2 GiB
 * at a time. */
bool session_read_memory(void *s, uint64_t address, void *to, size_t bytes);
