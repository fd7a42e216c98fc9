# SPDX-License-Identifier: MIT
"""What a trace consists of, from its block headers alone (ms-trace(5)): totals of the recording, and bytes by column."""
import ctypes
import struct

FILE_HEADER, BLOCK_HEADER, ENTRY = struct.Struct("<8sHHI"), struct.Struct("<8sHHIQQIIII"), struct.Struct("<HBBII")
SYNC = b"\xb5MSblk\r\n"
EVENTS, END, SYMBOLS = 2, 9, 10
TYPES = {1: "info", 2: "events", 3: "stacks", 4: "modules", 5: "threads", 6: "samples", 7: "marks", 8: "losses", 9: "end",
         10: "symbols", 11: "checkpoints", 12: "index", 13: "verdicts"}
COLUMNS = {1: "head", 2: "op", 3: "thread", 4: "stack", 5: "size", 6: "freed", 7: "time", 8: "address", 9: "unknown", 10: "ext",
           11: "slack", 12: "address (heap)"}
END_EVENTS, END_LOST, END_WAITED = 4, 6, 14


def blocks(file):
    """Yields (type, [(column, codec, raw bytes, stored bytes, offset in the file)], bytes of the block)."""
    head = FILE_HEADER.unpack(file.read(FILE_HEADER.size))
    at = head[3]
    while True:
        file.seek(at)
        data = file.read(BLOCK_HEADER.size)
        if len(data) < BLOCK_HEADER.size or data[:8] != SYNC:
            return
        _, kind, count, _, _, _, payload, _, _, _ = BLOCK_HEADER.unpack(data)
        offset = at + BLOCK_HEADER.size + count * ENTRY.size
        columns = []
        for column, codec, _, raw, stored in ENTRY.iter_unpack(file.read(count * ENTRY.size)):
            columns.append((column, codec, raw, stored, offset))
            offset += stored
        yield kind, columns, BLOCK_HEADER.size + payload
        at += BLOCK_HEADER.size + payload


def contents(file, column):
    _, codec, raw, stored, offset = column
    file.seek(offset)
    data = file.read(stored)
    if codec == 0:
        return data
    zstd = ctypes.CDLL("libzstd.so.1")
    zstd.ZSTD_decompress.restype = ctypes.c_size_t
    zstd.ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    out = ctypes.create_string_buffer(raw)
    zstd.ZSTD_decompress(out, raw, data, len(data))
    return out.raw


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """The numbers of the first record of a records column."""
    length, at = varint(data, 0)
    end, out = at + length, {}
    while at < end:
        tag, at = varint(data, at)
        value, at = varint(data, at)
        if tag & 1:
            at += value
        else:
            out[tag >> 1] = value
    return out


class Totals:
    """events, lost, waited_ns: of the recording; bytes: by block type, "events.COLUMN" and "block headers"; size: of the file."""

    def __init__(self, path):
        self.events = self.lost = self.waited_ns = None
        self.bytes, self.size = {}, 0
        with open(path, "rb") as file:
            for kind, columns, size in list(blocks(file)):
                name = TYPES.get(kind, "type %d" % kind)
                if kind == EVENTS:
                    for column, _, _, stored, _ in columns:
                        self.add("events." + COLUMNS.get(column, "column %d" % column), stored)
                    self.add("block headers", size - sum(c[3] for c in columns))
                else:
                    self.add(name, size)
                if kind == END:
                    end = fields(contents(file, columns[0]))
                    self.events, self.lost = end.get(END_EVENTS, 0), end.get(END_LOST, 0)
                    self.waited_ns = end.get(END_WAITED, 0)
            self.size = file.seek(0, 2)
        if self.events is None:
            raise ValueError("'%s' has no end block" % path)

    def add(self, name, n):
        self.bytes[name] = self.bytes.get(name, 0) + n

    @property
    def without_symbols(self):
        return self.size - self.bytes.get("symbols", 0)
