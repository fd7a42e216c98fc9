# SPDX-License-Identifier: MIT
def g(n):
    x = [n] * 10
    yield x
    if n:
        yield from g(n - 1)
kept = [g(8) for i in range(50)]
vals = [next(k) for k in kept]
for k in kept:
    vals.append(next(k))
