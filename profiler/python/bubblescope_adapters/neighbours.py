"""State of all ranks of a job on one machine, so that checks do not occupy cores that other ranks
need.

Each process publishes its state in its own page of memory, which the other processes find among its open files. The
page has no name in the file system and disappears with the process. If a rank cannot open the other ranks' pages, it
assumes that it is alone."""

import mmap
import os

_NAME = "bubblescope_neighbour"
_COMPUTING, _CHECKING = 0, 1  # bytes of the page, each the number of threads in that state


class Neighbours:
    def __init__(self, threads):
        """`threads` is the number of compute threads in this process."""
        self._threads = min(max(threads, 1), 255)
        self._cores = len(os.sched_getaffinity(0))
        self._others = []
        self.crowded = False # true if there are more threads than cores, so that waiting threads must be published
        self._own = None
        try:
            file = os.memfd_create(_NAME)
            os.ftruncate(file, mmap.PAGESIZE)
            self._own = mmap.mmap(file, mmap.PAGESIZE)
        except (OSError, AttributeError):
            self._own = bytearray(2)  # not visible to other processes
        self.waits(False)

    def find(self):
        """Finds the pages of the other processes that the same parent started. Must be called after these have created their
        pages."""
        self._others = [page for page in map(self._page, self._siblings()) if page is not None]
        self.crowded = (len(self._others) + 1) * self._threads > self._cores

    def waits(self, now):
        self._own[_COMPUTING] = 0 if now else self._threads

    def begin_check(self):
        """Returns True if a core is free for a check. In this case, end_check() must be called afterwards."""
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
