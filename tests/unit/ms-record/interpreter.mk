# SPDX-License-Identifier: MIT
# All of the recorder but its main: code objects come by a ring and go into a trace.
INTERPRETER := $(B)/tests/unit/ms-record/interpreter
INTERPRETER_OBJ := $(filter-out $(B)/ms-record/main.o,$(patsubst %.c,$(B)/%.o,$(call tool_src,ms-record)))
$(INTERPRETER): $(INTERPRETER_OBJ)
$(INTERPRETER): LIBS_common = $(INTERPRETER_OBJ) $(COMMON_LIB) $(FORMAT_LIB) $(LIBS_ms-record)
