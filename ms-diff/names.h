/* SPDX-License-Identifier: MIT
 * Names of functions and modules as they are in every build.
 */
#pragma once

struct ms_arena;

/* A demangled name without what differs between builds of one source: return type, parameters,
 * template arguments, ABI tags, numbers of lambdas, and what the compiler says of its copies
 * (.constprop.0, .isra.0, .part.0, .cold, .lto_priv.0, [clone ...], Rust's hash). In the arena. */
const char *normal_function(struct ms_arena *a, const char *function);
/* The name of a program's or library's file without folders and version: "libfoo.so" for
 * "/usr/lib/libfoo-2.1.so.3". In the arena. */
const char *normal_module(struct ms_arena *a, const char *path);
