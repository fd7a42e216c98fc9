# Programs of the benchmark; built on `make bench`, which asks for them.
BENCH_PROGRAMS := $(B)/tests/bench/micro $(B)/tests/bench/cputime.so
bench: $(BENCH_PROGRAMS) $(HOST_PROGRAMS)

$(B)/tests/bench/micro: tests/bench/micro.c
	@mkdir -p $(@D)
	$(CC) -O2 -g -fno-builtin -fno-optimize-sibling-calls -Wall -Wextra -o $@ $<
$(B)/tests/bench/cputime.so: tests/bench/cputime.c
	@mkdir -p $(@D)
	$(CC) -O2 -g -D_GNU_SOURCE -Wall -Wextra -shared -fPIC -o $@ $<
