# SPDX-License-Identifier: MIT
# All of the recorder but its main: code objects come by a ring and go into a trace; items become events.
RECORDER_UNIT := $(addprefix $(B)/tests/unit/ms-record/,interpreter merge)
RECORDER_UNIT_OBJ := $(filter-out $(B)/ms-record/main.o,$(patsubst %.c,$(B)/%.o,$(call tool_src,ms-record)))
$(RECORDER_UNIT): $(RECORDER_UNIT_OBJ)
$(RECORDER_UNIT): LIBS_common = $(RECORDER_UNIT_OBJ) $(COMMON_LIB) $(FORMAT_LIB) $(LIBS_ms-record)
