# SPDX-License-Identifier: MIT
import unittest
class T(unittest.TestCase):
    def test_a(self):
        self.x = [i for i in range(100)]
    def test_b(self):
        with self.assertRaises(ValueError):
            int('x')
s = unittest.defaultTestLoader.loadTestsFromTestCase(T)
r = unittest.TestResult()
s.run(r)
