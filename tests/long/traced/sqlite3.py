# SPDX-License-Identifier: MIT
import sqlite3
d = sqlite3.connect(':memory:')
d.execute('create table t(a, b)')
d.executemany('insert into t values(?, ?)', ((i, 'x%d' % i) for i in range(500)))
kept = d.execute('select * from t').fetchall()
