# SPDX-License-Identifier: MIT
import re
r = [re.compile('a%d(b|c)*[x-z]' % i) for i in range(30)]
