"""The cost of the Python package: a load compared with the command line's, and a table of ops as a DataFrame.

    python tests/bench/python_bench.py PROGRAM TRACE [ROUNDS]
"""

import statistics
import subprocess
import sys
import time

import bubblescope as bs


def took(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def main():
    program, trace = sys.argv[1:3]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    ours, theirs = [], []
    for _ in range(rounds):  # in alternation
        theirs.append(took(lambda: subprocess.run([program, "analyze", "--summary", trace], check=True,
                                                  stdout=subprocess.DEVNULL)))
        ours.append(took(lambda: subprocess.run(
            [sys.executable, "-c", "import sys, bubblescope as bs; print(bs.load(sys.argv[1]).summary)", trace],
            check=True, stdout=subprocess.DEVNULL)))
    a, b = statistics.median(theirs), statistics.median(ours)
    print(f"command line {a:.3f} s, Python with its start {b:.3f} s: {100 * (b / a - 1):+.1f} %")
    run = bs.load(trace)
    made = [took(run.ops) for _ in range(rounds)]
    print(f"{len(run.ops())} ops as a table: {statistics.median(made):.3f} s")
    try:
        import pandas
    except ImportError:
        return
    framed = [took(lambda: pandas.DataFrame.from_arrow(run.ops())) for _ in range(rounds + 1)][1:]
    print(f"as a DataFrame of pandas {pandas.__version__}, the table included: {statistics.median(framed):.3f} s")


if __name__ == "__main__":
    main()
