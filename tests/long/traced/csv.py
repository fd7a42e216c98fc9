# SPDX-License-Identifier: MIT
import csv, io
s = io.StringIO()
w = csv.writer(s)
for i in range(300):
    w.writerow([i, 'a%d' % i])
rows = list(csv.reader(io.StringIO(s.getvalue())))
