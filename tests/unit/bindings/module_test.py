"""The Python module of the C interface: run with the module's folder on PYTHONPATH. torch is used where it is there."""

import os
import subprocess
import sys
import tempfile
import unittest

import bubblescope_aadiff as aadiff

try:
    import torch
except ImportError:
    torch = None

MASK = (1 << 64) - 1


def by_definition(data):
    def mix(x):
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
        x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
        return x ^ (x >> 31)

    odd = 0x9E3779B97F4A7C15
    padded = data + bytes(-len(data) % 8)
    total = sum(mix(int.from_bytes(padded[8 * i:8 * i + 8], "little") + (i + 1) * odd & MASK)
                for i in range(len(padded) // 8))
    return mix(total + (len(data) + 1) * odd & MASK)


class Digests(unittest.TestCase):
    def test_are_as_defined(self):
        for size in (0, 1, 7, 8, 9, 64, 1003):
            data = bytes(37 * i + 11 & 255 for i in range(size))
            self.assertEqual(aadiff.digest(data), by_definition(data))
            self.assertEqual(aadiff.digest(bytearray(data)), by_definition(data))

    @unittest.skipIf(torch is None, "PyTorch is not installed")
    def test_are_the_same_by_torch(self):
        torch.manual_seed(1)
        for shape, kind in (((3, 5), torch.float32), ((7,), torch.float16), ((1, 1), torch.bfloat16), ((33,), torch.uint8),
                            ((8, 8), torch.float64), ((0,), torch.float32)):
            tensor = torch.randn(shape).mul(100).to(kind)
            data = bytes(tensor.contiguous().view(-1).view(torch.uint8).tolist())
            self.assertEqual(aadiff.digest(tensor), by_definition(data), (shape, kind))
            self.assertEqual(aadiff.torch_digest(tensor), by_definition(data), (shape, kind))
        whole = torch.randn(9, 6)
        for part in (whole[1:], whole.t(), whole[:, 2]):
            self.assertEqual(aadiff.torch_digest(part), aadiff.digest(part.contiguous().clone()))


class Sessions(unittest.TestCase):
    def run_rank(self, folder, rank, flip=False):
        session = aadiff.Session("1f1b", rank=rank, pp=2, microbatches=4, forward_ns=10**9, backward_ns=2 * 10**9,
                                 directory=folder, device="GPU-7")
        order = [("F", 0), ("F", 1), ("B", 0), ("F", 2), ("B", 1), ("F", 3), ("B", 2), ("B", 3)] if rank == 0 else [
            (kind, microbatch) for microbatch in range(4) for kind in "FB"]
        verdicts = []
        for step in range(3):
            with session.step(step):
                for kind, microbatch in order:
                    for task in session.tasks(free_ns=5 * 10**9):
                        with task:
                            again = aadiff.digest(f"{step} {rank} {task.kind}{task.microbatch}".encode())
                        if not task.compare("output", again):
                            session.difference(b"\x00\x00\x80?", b"\x01\x00\x80?", "float32")
                            verdicts.append((step, task.kind, session.repeated([again, again], [again, again])))
                    with session.op(kind, microbatch) as op:
                        wrong = flip and step == 1 and kind == "F"
                        op.computed(0, "output", aadiff.digest(f"{step} {rank} {kind}{microbatch}".encode()) ^ wrong)
        counts = session.counts()
        session.close()
        session.close()  # twice does no harm
        return counts, verdicts

    def test_check_and_record(self):
        with tempfile.TemporaryDirectory() as folder:
            for rank in range(2):
                counts, verdicts = self.run_rank(folder, rank, flip=rank == 0)
                self.assertEqual(counts["units"], 2)
                self.assertEqual(counts["planned"], counts["equal"] + counts["mismatched"] + counts["skipped"])
                if rank == 0:
                    self.assertGreater(counts["mismatched"], 0)
                    self.assertEqual({(1, "F", "transient")}, set(verdicts))
                else:
                    self.assertEqual(verdicts, [])
            self.assertEqual(sorted(os.listdir(folder)), ["rank0.pftrace", "rank1.pftrace"])
            program = os.environ.get("BUBBLESCOPE_PROGRAM")
            if program:
                found = subprocess.run([program, "analyze", folder, "--fail-on", "aadiff-mismatch"],
                                       capture_output=True, text=True)
                self.assertEqual(found.returncode, 1, found.stderr)
                self.assertIn("device GPU-7", " ".join(found.stdout.split()))

    def test_say_what_is_wrong(self):
        with self.assertRaisesRegex(aadiff.AadiffError, "no rank 9"):
            aadiff.Session("1f1b", rank=9, pp=2, microbatches=4)
        session = aadiff.Session("1f1b", rank=0, pp=2, microbatches=4)
        with self.assertRaisesRegex(aadiff.AadiffError, "outside a step"):
            session.tell_op("F", 0, 0, 1, 2)
        with self.assertRaises(ValueError):
            session.difference(b"1234", b"12345678", "float32")
        session.close()


if __name__ == "__main__":
    unittest.main()
