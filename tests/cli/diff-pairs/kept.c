/* SPDX-License-Identifier: MIT
 * Keeps the last block that a program of the corpus allocated.
 */
void *volatile kept;
