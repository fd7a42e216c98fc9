# SPDX-License-Identifier: MIT
# Programs that keep blocks in known ways: see tests/targets/kept.sh.
KEPT_DIR := $(B)/tests/targets/kept
KEPT_FLAGS := -g -Wall -Wextra -fno-builtin-calloc -fno-optimize-sibling-calls -D_GNU_SOURCE
KEPT_T := $(addprefix $(KEPT_DIR)/,kept kept-O0 kept-O2 kept-static kept-nopie keptcxx keptsqlite)
TEST_PROGRAMS += $(KEPT_T)

$(KEPT_DIR)/kept: KEPT_HOW := -O1
$(KEPT_DIR)/kept-O0: KEPT_HOW := -O0
$(KEPT_DIR)/kept-O2: KEPT_HOW := -O2
$(KEPT_DIR)/kept-static: KEPT_HOW := -O1 -static-pie
$(KEPT_DIR)/kept-nopie: KEPT_HOW := -O1 -no-pie
$(filter-out %cxx %sqlite,$(KEPT_T)): tests/targets/kept/kept.c
	@mkdir -p $(@D)
	$(CC) $(KEPT_FLAGS) $(KEPT_HOW) -std=gnu11 -o $@ $< -lpthread
$(KEPT_DIR)/keptcxx: tests/targets/kept/keptcxx.cc
	@mkdir -p $(@D)
	g++ $(KEPT_FLAGS) -O2 -std=gnu++17 -o $@ $< -lpthread
$(KEPT_DIR)/keptsqlite: tests/targets/kept/keptsqlite.c
	@mkdir -p $(@D)
	$(CC) $(KEPT_FLAGS) -O1 -std=gnu11 -o $@ $< -lsqlite3
