# SPDX-License-Identifier: MIT
# C++ modules of a C program: see tests/host/scopes.c, operators.py.
SCOPES_T := $(B)/tests/host
TEST_PROGRAMS += $(SCOPES_T)/scopes $(addprefix $(SCOPES_T)/scopes_,plain.so own.so other.so hash.so thread.so)

$(SCOPES_T)/scopes: tests/host/scopes.c
	@mkdir -p $(@D)
	$(CC) -g -O1 -Wall -Wextra -fno-builtin -o $@ $< -ldl -lpthread
$(SCOPES_T)/scopes_own.so: SCOPES_FLAGS := -DOWN='"own"'
$(SCOPES_T)/scopes_other.so: SCOPES_FLAGS := -DOWN='"other"'
$(SCOPES_T)/scopes_hash.so: SCOPES_FLAGS := -DOWN='"sysv"' -Wl,--hash-style=sysv
$(SCOPES_T)/scopes_thread.so: SCOPES_FLAGS := -DTHREAD
$(SCOPES_T)/scopes_%.so: tests/host/scopes_module.cc
	@mkdir -p $(@D)
	g++ -g -O2 -Wall -Wextra -shared -fPIC $(SCOPES_FLAGS) -o $@ $<
