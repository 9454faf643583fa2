"""The exports of the Arrow PyCapsule interface, read with ctypes alone: types, nulls, slices, and who owns what."""

import ctypes
import gc

from common import bs, main, trace, unittest


class Schema(ctypes.Structure):
    pass


class Array(ctypes.Structure):
    pass


class Stream(ctypes.Structure):
    pass


Schema._fields_ = [("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_char_p),
                   ("flags", ctypes.c_int64), ("n_children", ctypes.c_int64),
                   ("children", ctypes.POINTER(ctypes.POINTER(Schema))), ("dictionary", ctypes.POINTER(Schema)),
                   ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Schema))), ("private_data", ctypes.c_void_p)]
Array._fields_ = [("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
                  ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64),
                  ("buffers", ctypes.POINTER(ctypes.c_void_p)), ("children", ctypes.POINTER(ctypes.POINTER(Array))),
                  ("dictionary", ctypes.POINTER(Array)), ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Array))),
                  ("private_data", ctypes.c_void_p)]
Stream._fields_ = [("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Schema))),
                   ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Array))),
                   ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(Stream))),
                   ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Stream))), ("private_data", ctypes.c_void_p)]


def inside(capsule, name, kind):
    """The structure in a capsule; raises ValueError for a capsule of another name."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.cast(get(capsule, name), ctypes.POINTER(kind)).contents


NUMBERS = {b"i": ctypes.c_int32, b"l": ctypes.c_int64, b"g": ctypes.c_double}


def bit(address, index):
    return bool(ctypes.cast(address, ctypes.POINTER(ctypes.c_uint8))[index // 8] >> (index % 8) & 1)


def texts_of(schema, array):
    assert schema.format == b"U" and array.n_buffers == 3
    offsets = ctypes.cast(array.buffers[1], ctypes.POINTER(ctypes.c_int64))
    base = array.buffers[2]
    return [ctypes.string_at(base + offsets[i], offsets[i + 1] - offsets[i]).decode() for i in range(array.length)]


def cells_of(schema, array):
    """A column's cells, as Arrow's specification says to read them."""
    words = texts_of(schema.dictionary.contents, array.dictionary.contents) if schema.dictionary else None
    cells = []
    for i in range(array.offset, array.offset + array.length):
        if array.buffers[0] and not bit(array.buffers[0], i):
            cells.append(None)
        elif schema.format == b"b":
            cells.append(bit(array.buffers[1], i))
        else:
            value = ctypes.cast(array.buffers[1], ctypes.POINTER(NUMBERS[schema.format]))[i]
            cells.append(words[value] if words is not None else value)
    return cells


def table_of(schema, array):
    assert schema.format == b"+s" and schema.n_children == array.n_children and array.offset == 0
    assert array.n_buffers == 1 and not array.buffers[0]
    return {schema.children[c].contents.name.decode():
            cells_of(schema.children[c].contents, array.children[c].contents) for c in range(schema.n_children)}


def tables():
    loaded = bs.load(trace())
    yield from (loaded.table(name) for name in ("steps", "accounting", "ops", "bubbles", "transfers", "findings"))
    yield loaded.slices()  # has nulls: a trace of its own names no rank of a file
    yield loaded.ops()[9:23]
    yield loaded.slices()[5:18]
    yield loaded.ops()[3:3]


class Capsules(unittest.TestCase):
    def test_of_arrays_hold_the_table(self):
        for table in tables():
            kept = table.__arrow_c_array__()
            schema, array = inside(kept[0], b"arrow_schema", Schema), inside(kept[1], b"arrow_array", Array)
            self.assertEqual(table_of(schema, array), table.to_dict())
            alone = table.__arrow_c_schema__()  # which frees what it holds when it ends
            self.assertEqual(inside(alone, b"arrow_schema", Schema).format, b"+s")

    def test_of_streams_give_one_batch_and_end(self):
        for table in tables():
            capsule = table.__arrow_c_stream__(requested_schema=None)
            stream = inside(capsule, b"arrow_array_stream", Stream)
            schema, array, end = Schema(), Array(), Array()
            self.assertEqual(stream.get_schema(stream, schema), 0)
            self.assertEqual(stream.get_next(stream, array), 0)
            self.assertEqual(stream.get_next(stream, end), 0)
            self.assertFalse(end.release)
            expected = table.to_dict()
            del table
            stream.release(stream)
            self.assertFalse(stream.release)
            del capsule
            gc.collect()
            self.assertEqual(table_of(schema, array), expected, "a batch outlives its stream and its table")
            array.release(array)
            schema.release(schema)
            self.assertFalse(array.release)
            self.assertFalse(schema.release)

    def test_of_columns_hold_the_column(self):
        for table in tables():
            for name in table.columns:
                kept = table[name].__arrow_c_array__()
                schema, array = inside(kept[0], b"arrow_schema", Schema), inside(kept[1], b"arrow_array", Array)
                self.assertEqual(schema.name.decode(), name)
                self.assertEqual(schema.flags, 2, "nullable")
                self.assertEqual(cells_of(schema, array), table[name].to_list())
                if array.null_count >= 0:
                    self.assertEqual(array.null_count, table[name].to_list().count(None))

    def test_share_the_memory_of_the_table(self):
        import struct
        table = bs.load(trace()).ops()
        addresses = set()
        for each in (table, table[7:20]):
            kept = each.__arrow_c_array__()
            array = inside(kept[1], b"arrow_array", Array)
            addresses.add(array.children[table.columns.index("start_ns")].contents.buffers[1])
        self.assertEqual(len(addresses), 1)
        view = memoryview(table["start_ns"])
        self.assertEqual(ctypes.string_at(addresses.pop(), 8 * len(table)), view.tobytes())
        self.assertEqual(struct.calcsize("l"), 8)

    def test_let_consumers_move_children_out(self):
        table = bs.load(trace()).ops()
        expected = table["kind"].to_list()
        kept = table.__arrow_c_array__()
        schema, array = inside(kept[0], b"arrow_schema", Schema), inside(kept[1], b"arrow_array", Array)
        at = table.columns.index("kind")
        moved = Array()
        ctypes.memmove(ctypes.byref(moved), array.children[at], ctypes.sizeof(Array))
        array.children[at].contents.release = type(moved.release)()  # as the specification has it
        array.release(array)
        del table, array
        gc.collect()
        self.assertEqual(cells_of(schema.children[at].contents, moved), expected)
        moved.release(moved)

    def test_that_nobody_takes_are_freed(self):
        import resource
        loaded = bs.load(trace("many.pftrace", pp=8, microbatches=512))

        def rounds(count):
            for _ in range(count):
                loaded.ops().__arrow_c_stream__()
                loaded.ops().__arrow_c_array__()
            gc.collect()
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

        first = rounds(20)
        self.assertLess(rounds(200) - first, 40_000)  # KiB; each table that is kept would be 500


class Types(unittest.TestCase):
    def test_are_as_promised(self):
        types = bs.load(trace()).ops().types
        self.assertEqual({name: kind for name, kind in types.items() if name.endswith("_ns")},
                         dict.fromkeys(("start_ns", "end_ns", "device_idle_ns", "exposed_comm_ns"), "int64"))
        self.assertEqual(types["rank"], "int32")
        self.assertEqual(types["kind"], "dictionary[int32, string]")
        self.assertEqual(bs.load(trace()).steps().types["bubble_rate"], "float64")


if __name__ == "__main__":
    main()
