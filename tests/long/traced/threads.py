# SPDX-License-Identifier: MIT
import threading, queue
q = queue.Queue()
kept = []
def work(n):
    for i in range(200):
        q.put(str(i) * n)
t = [threading.Thread(target=work, args=(i + 1,)) for i in range(4)]
[x.start() for x in t]
[x.join() for x in t]
while not q.empty():
    kept.append(q.get())
