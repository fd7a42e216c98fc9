# The test targets: built as a user would build a program (no frame pointers, no sanitizers), whatever MODE is.
TARGETS_DIR := $(B)/tests/targets
TARGETS_FLAGS := -O2 -g -Wall -Wextra -Wno-infinite-recursion -fno-builtin $(if $(CLANG),,-fno-allocation-dce -Wno-use-after-free) -fno-optimize-sibling-calls -D_GNU_SOURCE -I. -rdynamic
TARGETS_C := $(filter-out tests/targets/truth.c tests/targets/module_%,$(wildcard tests/targets/*.c))
ifeq ($(wildcard include/memscope.h),)
TARGETS_C := $(filter-out %/mark.c %/peak.c,$(TARGETS_C))
endif
TARGETS_CC := $(wildcard tests/targets/*.cc)
TARGETS_BIN := $(TARGETS_C:tests/targets/%.c=$(TARGETS_DIR)/%) $(TARGETS_CC:tests/targets/%.cc=$(TARGETS_DIR)/%)
TARGETS_SO := $(TARGETS_DIR)/module_a.so $(TARGETS_DIR)/module_b.so
TEST_PROGRAMS += $(TARGETS_BIN) $(TARGETS_SO)

$(TARGETS_DIR)/truth.o: tests/targets/truth.c tests/targets/truth.h
	@mkdir -p $(@D)
	$(CC) $(TARGETS_FLAGS) -std=gnu11 -c -o $@ $<
$(TARGETS_C:tests/targets/%.c=$(TARGETS_DIR)/%): $(TARGETS_DIR)/%: tests/targets/%.c $(TARGETS_DIR)/truth.o tests/targets/truth.h
	$(CC) $(TARGETS_FLAGS) -std=gnu11 -o $@ $< $(TARGETS_DIR)/truth.o -lpthread -ldl -lm
$(TARGETS_CC:tests/targets/%.cc=$(TARGETS_DIR)/%): $(TARGETS_DIR)/%: tests/targets/%.cc $(TARGETS_DIR)/truth.o tests/targets/truth.h
	g++ $(TARGETS_FLAGS) -std=gnu++17 -o $@ $< $(TARGETS_DIR)/truth.o -lpthread
$(TARGETS_SO): $(TARGETS_DIR)/%.so: tests/targets/%.c tests/targets/module_a.c tests/targets/truth.h
	@mkdir -p $(@D)
	$(CC) $(TARGETS_FLAGS) -std=gnu11 -fPIC -shared -o $@ $<
