# SPDX-License-Identifier: MIT
kept = []
def f(n):
    for i in range(n):
        kept.append('x' * (i + 600))
f(200)
b = [bytes(i + 1000) for i in range(50)]
