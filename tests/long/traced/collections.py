# SPDX-License-Identifier: MIT
from collections import deque, OrderedDict, Counter, defaultdict
d = deque(range(1000))
o = OrderedDict((i, str(i)) for i in range(500))
c = Counter('abracadabra' * 10)
x = defaultdict(list)
for i in range(300):
    x[i % 7].append(i * 1.5)
