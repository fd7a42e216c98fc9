/* SPDX-License-Identifier: MIT
 * The image that is mapped into a running process: part of this program, relocated to where it will
 * lie.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ms-record/guest/layout.h"

struct ms_err;

struct attach_image {
	uint64_t base;
	size_t bytes;     /* of its mapping, whole pages */
	size_t data;      /* from here on it is data, before it code; whole pages */
	size_t manifest;  /* offset of the manifest */
	uint8_t *content; /* `bytes`, as they are there */
};

/* The image for address `base`; content is malloc'ed. 0, or -1 with `err` set. */
int attach_image_make(struct attach_image *im, uint64_t base, struct ms_err *err);
void attach_image_free(struct attach_image *im);
/* Its manifest, in the content. */
static inline struct mg_manifest *attach_image_manifest(const struct attach_image *im)
{
	return (struct mg_manifest *)(void *)(im->content + im->manifest);
}
/* Has the mapping that begins with these `n` bytes the build-id of our image? */
bool attach_image_is_ours(const uint8_t *first, size_t n);
