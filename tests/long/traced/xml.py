# SPDX-License-Identifier: MIT
import xml.etree.ElementTree as E
kept = [E.fromstring('<a>' + '<b c="%d">t</b>' * 50 % tuple(range(50)) + '</a>') for i in range(10)]
