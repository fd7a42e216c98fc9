/* SPDX-License-Identifier: MIT
 * The guest image that is mapped into a running process: part of this program, relocated to its
 * address there.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ms-record/guest/layout.h"

struct ms_err;

struct attach_image {
	uint64_t base;
	size_t bytes;     /* size of the guest image's mapping, in whole pages */
	size_t data;      /* offset at which code ends and data begins, in whole pages */
	size_t manifest;  /* offset of the manifest, in bytes */
	uint8_t *content; /* content of the mapping, `bytes` long */
};

/* Builds the guest image relocated to address `base`; its content is malloc'ed. Returns 0, or -1
 * with `err` set. */
int attach_image_make(struct attach_image *im, uint64_t base, struct ms_err *err);
void attach_image_free(struct attach_image *im);
/* Returns the manifest inside the guest image's content. */
static inline struct mg_manifest *attach_image_manifest(const struct attach_image *im)
{
	return (struct mg_manifest *)(void *)(im->content + im->manifest);
}
/* Tells whether a mapping is our guest image, by the build-id in its first `n` bytes. */
bool attach_image_is_ours(const uint8_t *first, size_t n);
