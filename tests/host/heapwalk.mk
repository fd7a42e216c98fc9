# SPDX-License-Identifier: MIT
# Heaps to be walked, and who does it: see tests/host/heapwalk.py. The heaps without sanitizers, which bring an allocator of their own.
HEAPWALK_T := $(B)/tests/host
HEAPWALK_OBJ := $(patsubst %.c,$(B)/%.o,$(call of_cpu,$(sort $(wildcard ms-record/ptrace/*.c ms-record/heap/heapwalk*.c))) ms-record/base/clock.c ms-record/base/descriptor.c ms-record/base/elfmap.c ms-record/base/quiet.c ms-record/base/timed.c)
TEST_PROGRAMS += $(HEAPWALK_T)/heapwalk_list $(HEAPWALK_T)/heapwalk $(HEAPWALK_T)/heapwalk_static $(HEAPWALK_T)/heapwalk_table $(HEAPWALK_T)/heapwalk_table_static
$(HEAPWALK_T)/heapwalk_list: $(HEAPWALK_T)/heapwalk_list.o $(HEAPWALK_OBJ) $(COMMON_LIB)
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(COMMON_LIB) -lm
$(HEAPWALK_T)/heapwalk: tests/host/heapwalk.c
	@mkdir -p $(@D)
	$(CC) -O1 -g -Wall -Wextra -std=gnu11 -o $@ $< -lpthread
$(HEAPWALK_T)/heapwalk_static: tests/host/heapwalk.c
	@mkdir -p $(@D)
	$(CC) -O1 -g -Wall -Wextra -std=gnu11 -static -o $@ $< -lpthread
$(HEAPWALK_T)/heapwalk_table: tests/host/heapwalk.c
	@mkdir -p $(@D)
	$(CC) -O1 -g -Wall -Wextra -std=gnu11 -DTABLE=100000 -o $@ $< -lpthread
$(HEAPWALK_T)/heapwalk_table_static: tests/host/heapwalk.c
	@mkdir -p $(@D)
	$(CC) -O1 -g -Wall -Wextra -std=gnu11 -DTABLE=100000 -static -o $@ $< -lpthread
