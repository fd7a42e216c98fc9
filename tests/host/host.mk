# An ordinary C++ program for the host tests and the benchmark, built as its user would.
HOST_PROGRAMS := $(B)/tests/host/mixed $(B)/tests/host/mixed_static
TEST_PROGRAMS += $(HOST_PROGRAMS)

$(B)/tests/host/mixed: tests/host/mixed.cc
	@mkdir -p $(@D)
	g++ -O2 -g -std=gnu++17 -Wall -Wextra -o $@ $< -lpthread
$(B)/tests/host/mixed_static: tests/host/mixed.cc
	@mkdir -p $(@D)
	g++ -O2 -g -std=gnu++17 -Wall -Wextra -static-libstdc++ -static-libgcc -o $@ $< -lpthread
