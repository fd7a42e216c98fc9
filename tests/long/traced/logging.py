# SPDX-License-Identifier: MIT
import logging, configparser, argparse, datetime, fractions, random
h = []
class H(logging.Handler):
    def emit(self, r):
        h.append(self.format(r))
l = logging.getLogger('x')
l.addHandler(H())
for i in range(100):
    l.error('e %d', i)
c = configparser.ConfigParser()
c.read_string('[a]\nx=1\n')
p = argparse.ArgumentParser()
p.add_argument('--x')
n = p.parse_args(['--x', '1'])
d = [datetime.datetime(2000, 1, 1) + datetime.timedelta(i) for i in range(100)]
f = [fractions.Fraction(i, 7) for i in range(50)]
r = [random.Random(i) for i in range(5)]
