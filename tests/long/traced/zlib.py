# SPDX-License-Identifier: MIT
import zlib, bz2, lzma
kept = [zlib.compressobj() for i in range(3)]
more = [bz2.compress(bytes(1000)) for i in range(3)]
l = lzma.LZMACompressor()
l.compress(b'x' * 5000)
