#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the events of a trace as trace-dump does; written from ms-trace(5) alone, to prove that the page suffices."""
import ctypes
import struct
import sys

KINDS = ["alloc", "free", "realloc", "failed", "free-unknown", "realloc-unknown", "free-inferred", "ext"]
SIZED, RELEASING, ALLOCATING = (0, 2, 3, 5), (1, 2, 6), (0, 2, 5)

zstd = ctypes.CDLL("libzstd.so.1")
zstd.ZSTD_decompress.restype = ctypes.c_size_t
zstd.ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]


class Cursor:
    def __init__(self, data):
        self.data, self.at = data or b"", 0

    def next(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value


def unzigzag(v):
    return (v >> 1) ^ -(v & 1)


def slot(a, b):
    return ((a * 0x9E3779B1 + b * 0x85EBCA77) % 2**32) >> 20


class Addresses:
    """The state of the section "Addresses" of one event block."""

    def __init__(self, columns, number):
        self.column = Cursor(columns[13]) if 13 in columns else None
        self.first, self.known, self.end, self.freed = number, {}, {}, {}

    def slot(self, thread, size):
        return ((size + 7) % 2**64 // 16 + thread * 211) % 1024

    def allocated(self, thread, number, size, freed):
        if not self.column:
            return 0
        at = self.slot(thread, size)
        old = self.known.get(freed, (0, 0))[0]
        v = self.column.next()
        step = unzigzag(v >> 1) * 16 + (self.column.next() if v & 1 else 0)
        address = ((old or self.freed.get(at, 0) or self.end.get(thread % 64, 0)) + step) % 2**64
        if self.freed.get(at) == address:
            self.freed[at] = 0
        self.end[thread % 64] = address + ((size + 7) % 2**64 // 16 + 1) * 16
        self.known[number] = address, size
        return address

    def released(self, thread, freed, address):
        old, size = self.known.get(freed, (0, 0))
        if old and old != address:
            self.freed[self.slot(thread, size)] = old


class Thread:
    stack = before = frees = freed = 0


class Events:
    def __init__(self, columns):
        head = Cursor(columns[1])
        self.number, self.first, self.tick, self.count = (head.next() for _ in range(4))
        self.ops = columns.get(2, b"")
        names = ("thread_column", 3), ("stack", 4), ("size", 5), ("freed", 6), ("time", 7), ("unknown", 9), ("ext", 10), ("slack", 11)
        for name, column in names:
            setattr(self, name, Cursor(columns.get(column)))
        self.has_slack = 11 in columns
        self.thread, self.threads = 0, {}
        self.stack1, self.stack2, self.size1, self.size2, self.free1 = {}, {}, {}, {}, {}
        self.addresses = Addresses(columns, self.number)

    def get_stack(self, op, t):
        i, j = slot(t.stack, 0), slot(t.stack, t.before + t.frees)
        if op & 16:
            stack = self.stack2.get(j, 0)
        else:
            v = self.stack.next()
            stack = self.stack1.get(i, 0) if v == 0 else t.stack + unzigzag(v - 1)
        self.stack1[i] = self.stack2[j] = stack
        return stack

    def get_freed(self, op, t):
        i = slot(t.stack, t.frees)
        if op & 128:
            ago = self.free1.get(i, 0)
        else:
            v = self.freed.next()
            ago = v >> 1 if v & 1 else self.number - (t.freed + unzigzag(v >> 1))
        assert 1 <= ago <= self.number
        self.free1[i] = ago
        t.freed = self.number - ago
        t.frees += 1
        return t.freed

    def get_size(self, op, t, stack):
        i, j = slot(stack, 0), slot(stack, t.stack)
        if op & 32:
            size = self.size2.get(j, 0)
        else:
            v = self.size.next()
            size = self.size1.get(i, 0) if v == 0 else self.size.next() if v == 1 else v - 2
        self.size1[i] = self.size2[j] = size
        t.before, t.stack, t.frees = t.stack, stack, 0
        return size

    def event(self, op):
        kind = op & 7
        if not op & 8:
            self.thread = self.thread_column.next()
        if not op & 64:
            self.tick += self.time.next()
        t = self.threads.setdefault(self.thread % 64, Thread())
        stack = address = 0
        freed = moved = None
        text = "  %d thread %d %s" % (self.tick, self.thread, KINDS[kind])
        if kind == 7:
            return text + self.extended()
        if kind not in SIZED and op & 32:
            stack = self.get_stack(op, t)
        if kind in RELEASING:
            freed = self.get_freed(op, t)
        if kind in SIZED:
            stack = self.get_stack(op, t)
            size = self.get_size(op, t, stack)
        if kind in ALLOCATING:
            address = moved = self.addresses.allocated(self.thread, self.number, size, freed)
            text += " #%d" % self.number
            slack = self.slack.next() if self.has_slack else None
            self.number += 1
        if kind == 4:
            address = self.unknown.next()
        if freed is not None:
            text += " frees #%d" % freed
            self.addresses.released(self.thread, freed, moved)
        if kind in SIZED:
            text += " size %d" % size
        if stack:
            text += " stack %d" % stack
        text += " at 0x%x" % address if address else ""
        return text + (" slack %d" % slack if kind in ALLOCATING and slack is not None else "")

    def extended(self):
        ext, size = self.ext.next(), self.ext.next()
        body = Cursor(self.ext.data[self.ext.at : self.ext.at + size])
        self.ext.at += size
        stack, address, size, value = (body.next() for _ in range(4))
        text = (" stack %d" % stack if stack else "") + (" at 0x%x" % address if address else "")
        return text + " %d size %d value %d" % (ext, size, value)


def columns_of(payload, count):
    columns, at = {}, count * 12
    for i in range(count):
        number, codec, raw, stored = struct.unpack_from("<HBxII", payload, i * 12)
        data = payload[at : at + stored]
        at += stored
        if codec == 1:
            out = ctypes.create_string_buffer(raw + 1)
            assert zstd.ZSTD_decompress(out, raw, data, stored) == raw
            data = out.raw[:raw]
        columns[number] = data
    return columns


def main():
    with open(sys.argv[1], "rb") as f:
        data = f.read()
    at = struct.unpack_from("<I", data, 12)[0]
    while at < len(data):
        assert data[at : at + 8] == bytes.fromhex("b54d53626c6b0d0a")
        kind, count, payload = struct.unpack_from("<HH20xI", data, at + 8)
        if kind == 2:
            e = Events(columns_of(data[at + 48 : at + 48 + payload], count))
            print("  from allocation #%d, event %d, tick %d: %d events" % (e.number, e.first, e.tick, e.count))
            for op in e.ops:
                print(e.event(op))
        at += 48 + payload


main()
