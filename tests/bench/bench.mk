# Programs of the benchmark; the tests try it out too.
BENCH_PROGRAMS := $(addprefix $(B)/tests/bench/,launch micro words service stacks hello peak.so inert.so)
TEST_PROGRAMS += $(BENCH_PROGRAMS)

$(B)/tests/bench/launch: tests/bench/launch.c
	@mkdir -p $(@D)
	$(CC) -O2 -g -D_GNU_SOURCE -Wall -Wextra -o $@ $<
$(B)/tests/bench/micro: tests/bench/micro.c
	@mkdir -p $(@D)
	$(CC) -O2 -g -fno-builtin -fno-optimize-sibling-calls -Wall -Wextra -o $@ $< -lpthread
$(addprefix $(B)/tests/bench/,words service stacks hello): $(B)/tests/bench/%: tests/bench/%.cc
	@mkdir -p $(@D)
	g++ -O2 -g -std=gnu++17 -Wall -Wextra -o $@ $< -lpthread
$(B)/tests/bench/%.so: tests/bench/%.c
	@mkdir -p $(@D)
	$(CC) -O2 -g -D_GNU_SOURCE -Wall -Wextra -shared -fPIC -o $@ $<
