# SPDX-License-Identifier: MIT
# Programs that keep blocks in known ways: see tests/targets/kept.sh.
KEPT_DIR := $(B)/tests/targets/kept
KEPT_FLAGS := -g -Wall -Wextra -fno-builtin-calloc -fno-optimize-sibling-calls -D_GNU_SOURCE
KEPT_T := $(addprefix $(KEPT_DIR)/,kept kept-O0 kept-O2 kept-static kept-nopie keptcxx keptmembers keptfork keptthreads keptsqlite)
KEPT_EXIT := $(addprefix $(KEPT_DIR)/,keptexit keptexit-nopie keptexit-static)
TEST_PROGRAMS += $(KEPT_T) $(KEPT_EXIT) $(KEPT_EXIT:%=%-cxx)

$(KEPT_DIR)/kept: KEPT_HOW := -O1
$(KEPT_DIR)/kept-O0: KEPT_HOW := -O0
$(KEPT_DIR)/kept-O2: KEPT_HOW := -O2
$(KEPT_DIR)/kept-static: KEPT_HOW := -O1 -static-pie
$(KEPT_DIR)/kept-nopie: KEPT_HOW := -O1 -no-pie
$(filter-out %cxx %members %fork %threads %sqlite,$(KEPT_T)): tests/targets/kept/kept.c
	@mkdir -p $(@D)
	$(CC) $(KEPT_FLAGS) $(KEPT_HOW) -std=gnu11 -o $@ $< -lpthread
$(KEPT_DIR)/keptcxx $(KEPT_DIR)/keptmembers: $(KEPT_DIR)/%: tests/targets/kept/%.cc
	@mkdir -p $(@D)
	g++ $(KEPT_FLAGS) -O2 -std=gnu++17 -o $@ $< -lpthread
$(KEPT_DIR)/keptfork $(KEPT_DIR)/keptthreads: $(KEPT_DIR)/%: tests/targets/kept/%.c
	@mkdir -p $(@D)
	$(CC) $(KEPT_FLAGS) -O1 -std=gnu11 -o $@ $< -lpthread
$(KEPT_DIR)/keptsqlite: tests/targets/kept/keptsqlite.c
	@mkdir -p $(@D)
	$(CC) $(KEPT_FLAGS) -O1 -std=gnu11 -o $@ $< -lsqlite3

# The same file in C and in C++, which has static destructors besides.
$(KEPT_DIR)/keptexit-nopie $(KEPT_DIR)/keptexit-nopie-cxx: KEPT_HOW := -no-pie
$(KEPT_DIR)/keptexit-static: KEPT_HOW := -static-pie
$(KEPT_DIR)/keptexit-static-cxx: KEPT_HOW := -static
$(KEPT_EXIT): tests/targets/kept/keptexit.c include/memscope.h
	@mkdir -p $(@D)
	$(CC) $(KEPT_FLAGS) $(KEPT_HOW) -O1 -I. -std=gnu11 -o $@ $< -lpthread
$(KEPT_EXIT:%=%-cxx): tests/targets/kept/keptexit.c include/memscope.h
	@mkdir -p $(@D)
	g++ $(KEPT_FLAGS) $(KEPT_HOW) -O1 -I. -x c++ -std=gnu++17 -o $@ $< -lpthread
