# SPDX-License-Identifier: MIT
# Programs with leaks: see tests/targets/leaks/leaks.h.
LEAKS_DIR := $(B)/tests/targets/leaks
LEAKS_FLAGS := -O1 -g -Wall -Wextra -fno-builtin -fno-allocation-dce -fno-optimize-sibling-calls -fno-inline -D_GNU_SOURCE -I. -Itests/targets/leaks \
	-Wno-unused-function
LEAKS_C := $(addprefix $(LEAKS_DIR)/,leaks leaksmore leaksother leaksroots leaksthreads leakterms leakmarks)
TEST_PROGRAMS += $(LEAKS_C) $(LEAKS_DIR)/leakscxx $(LEAKS_DIR)/leakmarkscxx $(LEAKS_DIR)/leaksmodule.so

$(LEAKS_C): $(LEAKS_DIR)/%: tests/targets/leaks/%.c tests/targets/leaks/leaks.h tests/targets/leaks/main.h include/memscope.h
	@mkdir -p $(@D)
	$(CC) $(LEAKS_FLAGS) -std=gnu11 -Iinclude -o $@ $< -lpthread -ldl
$(LEAKS_DIR)/leakscxx: tests/targets/leaks/leakscxx.cc tests/targets/leaks/leaks.h
	@mkdir -p $(@D)
	g++ $(LEAKS_FLAGS) -std=gnu++17 -o $@ $< -lpthread
$(LEAKS_DIR)/leakmarkscxx: tests/targets/leaks/leakmarks.c include/memscope.h
	@mkdir -p $(@D)
	g++ $(LEAKS_FLAGS) -std=gnu++17 -Iinclude -x c++ -o $@ $< -lpthread
$(LEAKS_DIR)/leaksmodule.so: tests/targets/leaks/leaksmodule.c
	@mkdir -p $(@D)
	$(CC) $(LEAKS_FLAGS) -std=gnu11 -fPIC -shared -o $@ $<
