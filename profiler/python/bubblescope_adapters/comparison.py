"""Bitwise comparison of tensors on their device. The host reads the result later."""

import sys

from . import bubblescope_aadiff as aadiff

torch = sys.modules["torch"]
_MASK = (1 << 64) - 1
_WORDS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_ROWS = 64  # parts of a tensor with separate hashes


def _words(tensor):
    tensor = tensor.detach()
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor)
    return tensor.contiguous().view(_WORDS[tensor.element_size()])


def _hash(words, *dim):
    if hasattr(torch, "hash_tensor") and words.numel():
        return torch.hash_tensor(words, *dim).view(torch.int64)
    return words.sum(*dim, dtype=torch.int64)


def hashes(tensor):
    """A small tensor in the place of one that cannot be kept: hashes of up to 64 parts, and of as many parts of every 64th
    word. Tensors with one different word never have equal hashes, nor have those with two words exchanged, unless both
    are in the same two parts."""
    words = _words(tensor).reshape(-1)
    if words.nbytes % 8 == 0:
        words = (words.clone() if words.storage_offset() else words).view(torch.int64)
    rows = _ROWS if words.numel() % _ROWS == 0 else 1
    return torch.stack([_hash(words.view(rows, -1), 1), words.view(-1, rows).sum(0, dtype=torch.int64)])


class Comparison:
    """Compares pairs of lists of tensors on the current stream. All functions other than the constructor need its work to be
    finished."""

    def __init__(self, device, pairs):
        self._lengths = [len(first) for first, _ in pairs]
        rows, described = [], {}  # hashes describe tensors in records: the comparison itself is exact
        for first, again in pairs:
            if [one.shape for one in first] != [one.shape for one in again]:
                raise ValueError("the sizes of results changed")
            for one, other in zip(first, again):
                a, b = _words(one), _words(other)
                for tensor, words in ((one, a), (other, b)):
                    if id(tensor) not in described:
                        described[id(tensor)] = _hash(words)
                rows.append(((a != b).sum(), described[id(one)], described[id(other)]))
        self._rows = device.to_host(torch.stack([torch.stack(row) for row in rows]))
        self._read = None

    def _pairs(self):
        if self._read is None:
            rows = iter(self._rows.tolist())
            self._read = [[next(rows) for _ in range(length)] for length in self._lengths]
        return self._read

    def equal(self):
        """For each pair of lists, whether all bits are equal."""
        return [not any([different for different, _, _ in pair]) for pair in self._pairs()]

    def digests(self, pair):
        """Digests of both lists of a pair, from their hashes and the number of differences."""
        rows = self._pairs()[pair]
        words = [[(first, 0) for _, first, _ in rows], [(again, different) for different, _, again in rows]]
        return [aadiff.digest(b"".join([(word & _MASK).to_bytes(8, "little") for pair in side for word in pair]))
                for side in words]
