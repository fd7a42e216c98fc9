# SPDX-License-Identifier: MIT
# The compiler's calls at each access are the tests' own (interleave.h), whatever MODE says. The ring has besides all of the recorder, but
# for what the test includes.
INTERLEAVE := $(addprefix $(B)/tests/unit/,guest/interleave_modules guest/interleave_ranges guest/interleave_ring guest/interleave_rules ms-record/interleave_queue)
$(INTERLEAVE:%=%.o): override ALL_CFLAGS = $(BASE) -O2 -fsanitize=thread -fno-strict-aliasing -Wno-tsan $(CPPFLAGS)
$(INTERLEAVE): ALL_LDFLAGS = $(filter-out -fsanitize=thread,$(LDFLAGS_$(MODE)) $(LDFLAGS))
INTERLEAVE_OBJ := $(filter-out $(addprefix $(B)/ms-record/,main.o base/wake.o drain/drain.o drain/parse.o drain/ring.o),$(patsubst %.c,$(B)/%.o,$(call tool_src,ms-record)))
$(B)/tests/unit/guest/interleave_ring: $(INTERLEAVE_OBJ)
$(B)/tests/unit/guest/interleave_ring: LIBS_common = $(INTERLEAVE_OBJ) $(COMMON_LIB) $(FORMAT_LIB) $(LIBS_ms-record)
QUEUE_OBJ := $(filter-out $(addprefix $(B)/ms-record/,main.o write/writer.o),$(patsubst %.c,$(B)/%.o,$(call tool_src,ms-record)))
$(B)/tests/unit/ms-record/interleave_queue: $(QUEUE_OBJ)
$(B)/tests/unit/ms-record/interleave_queue: LIBS_common = $(QUEUE_OBJ) $(COMMON_LIB) $(FORMAT_LIB) $(LIBS_ms-record)
RANGES_OBJ := $(filter-out $(addprefix $(B)/ms-record/,main.o code/ranges.o),$(patsubst %.c,$(B)/%.o,$(call tool_src,ms-record)))
$(B)/tests/unit/guest/interleave_ranges: $(RANGES_OBJ)
$(B)/tests/unit/guest/interleave_ranges: LIBS_common = $(RANGES_OBJ) $(COMMON_LIB) $(FORMAT_LIB) $(LIBS_ms-record)
