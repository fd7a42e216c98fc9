# SPDX-License-Identifier: MIT
# All of the recorder, but for the draining thread's file, which the test includes.
SCAN_STAMP := $(B)/tests/unit/ms-record/scan_stamp
SCAN_STAMP_OBJ := $(filter-out $(B)/ms-record/main.o $(B)/ms-record/drain/drain.o,$(patsubst %.c,$(B)/%.o,$(call tool_src,ms-record)))
$(SCAN_STAMP): $(SCAN_STAMP_OBJ)
$(SCAN_STAMP): LIBS_common = $(SCAN_STAMP_OBJ) $(COMMON_LIB) $(FORMAT_LIB) $(LIBS_ms-record)
