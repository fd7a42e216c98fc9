# SPDX-License-Identifier: MIT
# inherited_heap: what forked children inherit, by ms-record's own files.
INHERITED_HEAP := $(B)/tests/host/inherited_heap
TEST_PROGRAMS += $(INHERITED_HEAP)
$(INHERITED_HEAP): $(B)/tests/host/inherited_heap.o $(patsubst %.c,$(B)/%.o,$(filter-out ms-record/main.c,$(call tool_src,ms-record))) $(COMMON_LIB) $(FORMAT_LIB)
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(COMMON_LIB) $(FORMAT_LIB) $(LIBS_ms-record)
