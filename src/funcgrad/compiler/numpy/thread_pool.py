"""A thread pool for programs on large arrays: NumPy releases the GIL while its loops run.

`each` runs a task on numbers 0, 1, ..., here and on threads that wait for work. They are made when first
wanted, and again after a fork. Which thread takes which number is not known; so a task must not depend on it.
"""

from __future__ import annotations

import contextvars
import os
import queue
import threading
from collections.abc import Callable
from typing import Any

_MOST = 4


class _Job:
    """A shared counter, from which threads take task numbers one by one."""

    def __init__(self, work: Callable[[Callable[[], int]], None], count: int, context: Any) -> None:
        self.work = work
        self.context = context
        self.left = iter(range(count))
        self.lock = threading.Lock()
        self.idle = threading.Condition(self.lock)
        self.helping = 0
        self.closed = False
        self.error: BaseException | None = None

    def take(self) -> int:
        """The next number; -1 when there is none left."""
        with self.lock:
            return -1 if self.closed else next(self.left, -1)

    def help(self) -> None:
        with self.lock:
            if self.closed:
                return
            self.helping += 1
        try:
            self.context.copy().run(self.work, self.take)
        except BaseException as error:
            self.error = error
            self.closed = True
        finally:
            with self.lock:
                self.helping -= 1
                self.idle.notify_all()

    def close(self) -> None:
        """Wait for the helping threads; later ones find no task."""
        with self.lock:
            self.closed = True
            while self.helping:
                self.idle.wait()


class _Workers:
    def __init__(self) -> None:
        self.jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self.lock = threading.Lock()
        self.made = 0

    def ask(self, job: _Job, count: int) -> None:
        with self.lock:
            while self.made < count:
                self.made += 1
                name = f"funcgrad-{self.made}"
                threading.Thread(target=self.wait, name=name, daemon=True).start()
        for _ in range(count):
            self.jobs.put(job)

    def wait(self) -> None:
        while True:
            job = self.jobs.get()
            job.help()
            del job  # nothing is kept alive while there is nothing to do


_workers = _Workers()


def _renew() -> None:
    global _workers
    _workers = _Workers()  # a child process has none of the threads, and locks as they were


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


def cores() -> int:
    """How many threads may run at a time: the process's cores, or fewer if OMP_NUM_THREADS says so."""
    if hasattr(os, "sched_getaffinity"):
        found = len(os.sched_getaffinity(0))
    else:
        found = os.cpu_count() or 1
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return min(found, _MOST, int(asked) if asked.isdecimal() and int(asked) else _MOST)


def each(work: Callable[[Callable[[], int]], None], count: int) -> None:
    """Run ``work(take)`` here and on other threads: it does what is to be done for each ``take()`` till -1.

    >>> done = []
    >>> def work(take):
    ...     while (i := take()) >= 0:
    ...         done.append(i)
    >>> each(work, 4)
    >>> sorted(done)
    [0, 1, 2, 3]
    """
    others = min(cores(), count) - 1
    job = _Job(work, count, contextvars.copy_context())
    if others > 0:
        _workers.ask(job, others)
    try:
        work(job.take)
    finally:
        job.close()
    if job.error is not None:
        raise job.error
