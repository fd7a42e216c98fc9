/* SPDX-License-Identifier: MIT
 * Normalizes names of functions and modules, so that they are equal in every build.
 */
#pragma once

struct ms_arena;

/* Returns a demangled name without parts that differ between builds of one source: return type,
 * parameters, template arguments, ABI tags, numbers of lambdas, and suffixes of compiler copies and
 * hashes (.constprop.0, .isra.0, .part.0, .cold, .lto_priv.0, [clone ...], Rust's hash). In the
 * arena. */
const char *normal_function(struct ms_arena *a, const char *function);
/* Returns the file name of a program or library without folders and version: "libfoo.so" for
 * "/usr/lib/libfoo-2.1.so.3". In the arena. */
const char *normal_module(struct ms_arena *a, const char *path);
