# SPDX-License-Identifier: MIT
import asyncio
kept = []
async def f(i):
    await asyncio.sleep(0)
    kept.append(bytearray(i))
    await asyncio.sleep(0.001)
async def main():
    await asyncio.gather(*(f(i) for i in range(100)))
asyncio.run(main())
