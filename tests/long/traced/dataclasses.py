# SPDX-License-Identifier: MIT
import dataclasses, enum, functools, typing
@dataclasses.dataclass
class A:
    a: int
    b: str = 'x'
class E(enum.Enum):
    A = 1
    B = 2
@functools.lru_cache(None)
def f(n):
    return A(n, str(n))
kept = [f(i % 150) for i in range(400)]
