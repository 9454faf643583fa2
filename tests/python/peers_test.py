"""Tables in pandas, Polars, DuckDB and PyArrow, in the environment that BUBBLESCOPE_PYTHON_PEERS names."""

import importlib
import importlib.util
import subprocess

from common import PROGRAM, bs, main, skip, trace, unittest

NAMES = ("pandas", "polars", "duckdb", "pyarrow", "numpy")
FOUND = {name: importlib.import_module(name) for name in NAMES if importlib.util.find_spec(name)}
if not FOUND:
    skip("none of pandas, Polars, DuckDB, PyArrow is there; BUBBLESCOPE_PYTHON_PEERS names a Python that has them")


def needs(*names):
    return unittest.skipUnless(all(name in FOUND for name in names), f"needs {', '.join(names)}")


class Peers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        loaded = bs.load(trace())
        cls.tables = [loaded.ops(), loaded.steps(), loaded.accounting(), loaded.bubbles(), loaded.transfers(),
                      loaded.table("findings"), loaded.slices(), loaded.ops()[5:17]]

    @needs("pyarrow")
    def test_pyarrow_takes_them(self):
        pa = FOUND["pyarrow"]
        for table in self.tables:
            taken = pa.table(table)
            taken.validate(full=True)
            self.assertEqual(taken.to_pydict(), table.to_dict())
        self.assertEqual(pa.array(self.tables[0]["start_ns"]).to_pylist(), self.tables[0]["start_ns"].to_list())
        self.assertEqual(pa.table(self.tables[0]).schema.field("kind").type, pa.dictionary(pa.int32(), pa.large_string()))

    @needs("pyarrow")
    def test_pyarrow_reads_streams_of_queries(self):
        sql = "SELECT name, category, ts, dur, rank, parent, dur / 3.0 AS third FROM slice ORDER BY id"
        written = subprocess.run([PROGRAM, "query", trace(), "--arrow", sql], stdout=subprocess.PIPE, check=True).stdout
        taken = FOUND["pyarrow"].ipc.open_stream(written).read_all()
        taken.validate(full=True)
        self.assertGreater(taken.num_rows, 0)
        self.assertEqual(taken.to_pydict(), bs.load(trace()).query(sql).to_dict())

    @needs("pyarrow", "numpy")
    def test_nothing_is_copied(self):
        ours = FOUND["numpy"].asarray(self.tables[0]["start_ns"])
        theirs = FOUND["pyarrow"].table(self.tables[0])["start_ns"].chunk(0).to_numpy(zero_copy_only=True)
        self.assertEqual(ours.ctypes.data, theirs.ctypes.data)

    @needs("pandas", "pyarrow")
    def test_pandas_takes_them(self):
        pd = FOUND["pandas"]
        for table in self.tables:
            frame = pd.DataFrame.from_arrow(table) if hasattr(pd.DataFrame, "from_arrow") else \
                FOUND["pyarrow"].table(table).to_pandas()
            self.assertEqual(list(frame.columns), table.columns)
            for name, cells in table.to_dict().items():
                got = [None if pd.isna(value) else value for value in frame[name].tolist()]
                self.assertEqual(got, cells, name)

    @needs("polars")
    def test_polars_takes_them(self):
        for table in self.tables:
            frame = FOUND["polars"].DataFrame(table)
            self.assertEqual(frame.to_dict(as_series=False), table.to_dict())

    @needs("duckdb")
    def test_duckdb_queries_them(self):
        ops = self.tables[0]
        rows = FOUND["duckdb"].sql("select kind, count(*), sum(end_ns - start_ns) from ops group by kind order by kind")
        expected = {}
        for kind, start, end in zip(*(ops[name].to_list() for name in ("kind", "start_ns", "end_ns"))):
            count, total = expected.get(kind, (0, 0))
            expected[kind] = count + 1, total + end - start
        self.assertEqual(rows.fetchall(), [(kind, *sums) for kind, sums in sorted(expected.items())])


if __name__ == "__main__":
    print("tested with " + ", ".join(f"{name} {module.__version__}" for name, module in FOUND.items()))
    main()
