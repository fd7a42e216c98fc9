# SPDX-License-Identifier: MIT
# All of ms-top but its main.
TOP_OBJECTS := $(patsubst %.c,$(B)/%.o,$(sort $(wildcard ms-top/*/*.c)))
$(B)/tests/unit/ms-top/top_property: $(TOP_OBJECTS)
$(B)/tests/unit/ms-top/top_property: LIBS_common := $(TOP_OBJECTS) $(COMMON_LIB) $(FORMAT_LIB) $(LIBS_ms-top)
