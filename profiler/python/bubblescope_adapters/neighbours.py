"""The state of all ranks of a job on one machine, so that a check does not use a core that another rank needs.

Each process states it in a page of memory of its own, which the others find among its open files. It has no name in the
file system, and disappears with the process. If the pages of the other ranks cannot be opened, a rank assumes that it
is alone."""

import mmap
import os

_NAME = "bubblescope_neighbour"
_COMPUTING, _CHECKING = 0, 1  # bytes of the page: how many threads do so


class Neighbours:
    def __init__(self, threads):
        """`threads`: number of threads that compute in this process."""
        self._threads = min(max(threads, 1), 255)
        self._cores = len(os.sched_getaffinity(0))
        self._others = []
        self.crowded = False  # whether there are more threads than cores, so that the others need to know who waits
        self._own = None
        try:
            file = os.memfd_create(_NAME)
            os.ftruncate(file, mmap.PAGESIZE)
            self._own = mmap.mmap(file, mmap.PAGESIZE)
        except (OSError, AttributeError):
            self._own = bytearray(2)  # nobody else sees it
        self.waits(False)

    def find(self):
        """Finds the pages of the other processes that this one's parent has started. To be called after they created
        their pages."""
        self._others = [page for page in map(self._page, self._siblings()) if page is not None]
        self.crowded = (len(self._others) + 1) * self._threads > self._cores

    def waits(self, now):
        self._own[_COMPUTING] = 0 if now else self._threads

    def begin_check(self):
        """Whether a core is free for a check. If so, call end_check() after it."""
        self._own[_CHECKING] = self._threads
        busy = sum([page[_COMPUTING] + page[_CHECKING] for page in self._others])
        if not self._others or busy + self._threads <= self._cores:
            return True
        self.end_check()
        return False

    def end_check(self):
        self._own[_CHECKING] = 0

    @staticmethod
    def _siblings():
        parent = "/proc/%d/task" % os.getppid()
        found = set()
        try:
            for thread in os.listdir(parent):
                with open("%s/%s/children" % (parent, thread)) as children:
                    found.update(int(child) for child in children.read().split())
        except (OSError, ValueError):
            pass
        return sorted(found - {os.getpid()})

    @staticmethod
    def _page(process):
        files = "/proc/%d/fd" % process
        try:
            for number in os.listdir(files):
                if not os.readlink("%s/%s" % (files, number)).startswith("/memfd:" + _NAME):
                    continue
                file = os.open("%s/%s" % (files, number), os.O_RDONLY)
                try:
                    return mmap.mmap(file, mmap.PAGESIZE, prot=mmap.PROT_READ)
                finally:
                    os.close(file)
        except (OSError, ValueError):
            pass
        return None
