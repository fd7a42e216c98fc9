# SPDX-License-Identifier: MIT
# Files that make another database of whatever they are put beside: forge.py DATABASE FOLDER writes
# FOLDER/{journal,wal,shm}, each with all pages of DATABASE.
import os
import shutil
import sqlite3
import struct
import sys

database, folder = sys.argv[1:]
with open(database, "rb") as f:
    image = f.read()
size = struct.unpack(">H", image[16:18])[0]
pages = [image[at:at + size] for at in range(0, len(image), size)]

# a rollback journal: its header fills a sector, then page number, page, checksum
nonce = 0x5eed
with open(f"{folder}/journal", "wb") as f:
    head = bytes.fromhex("d9d505f920a163d7") + struct.pack(">5I", len(pages), nonce, len(pages), 512, size)
    f.write(head.ljust(512, b"\0"))
    for number, page in enumerate(pages, 1):
        checksum = nonce + sum(page[at] for at in range(size - 200, 0, -200))
        f.write(struct.pack(">I", number) + page + struct.pack(">I", checksum & 0xffffffff))

# a log of every page, and its index, as SQLite writes them
work = f"{folder}/work.db"
shutil.copy(database, work)
c = sqlite3.connect(work, isolation_level=None)
c.execute("PRAGMA journal_mode = WAL")
c.execute("PRAGMA wal_autocheckpoint = 0")
c.execute("VACUUM")
shutil.copy(work + "-wal", f"{folder}/wal")
shutil.copy(work + "-shm", f"{folder}/shm")
c.close()
os.unlink(work)
