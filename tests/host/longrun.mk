# longrun: a program that is told what to do, or runs on and on, and counts for itself.
LONGRUN := $(B)/tests/host/longrun
TEST_PROGRAMS += $(LONGRUN)
$(LONGRUN): tests/host/longrun.c include/memscope.h
	@mkdir -p $(@D)
	gcc -O1 -g -fno-builtin -pthread -Wall -Wextra -Iinclude -o $@ $<
