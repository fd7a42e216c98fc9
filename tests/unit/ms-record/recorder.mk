# SPDX-License-Identifier: MIT
# All of the recorder but its main, for tests of several of its rooms; of a file that a test itself includes nothing is taken from here.
RECORDER_LIB := $(B)/tests/unit/librecorder.a
$(RECORDER_LIB): $(filter-out $(B)/ms-record/main.o,$(patsubst %.c,$(B)/%.o,$(call tool_src,ms-record)))
	@mkdir -p $(@D)
	@rm -f $@
	ar rcs $@ $^
RECORDER_UNIT := $(addprefix $(B)/tests/unit/ms-record/,guard inherited_heap interpreter keep keep_many keep_model merge merge_heaps merge_model scan_memory scan_stamp thinned timed triggers)
$(RECORDER_UNIT): $(RECORDER_LIB)
$(RECORDER_UNIT): LIBS_common = $(RECORDER_LIB) $(COMMON_LIB) $(FORMAT_LIB) $(LIBS_ms-record)
