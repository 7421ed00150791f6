"""Where work is done: in this process, in several of this machine, or on the machines of Ray."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeVar

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")

Make = Callable[[], Callable[[_Task], _Result]]
"""Makes the function that is called; each process makes its own, so that it loads the model."""


@dataclass(frozen=True, slots=True)
class Machines:
    """Where work is done."""

    # processes; None: this one, or as many as a Ray cluster has cores or GPUs for
    workers: int | None = None
    engine: Literal["local", "ray"] = "local"
    address: str | None = None  # of a Ray cluster; None: one is started on this machine
    gpus: float = 0.0  # of each worker of Ray; 0.5: two workers share one

    @property
    def is_this_process(self) -> bool:
        """Whether this process does all work itself."""
        return self.engine == "local" and (self.workers or 1) == 1

    def run(
        self, make: Make[_Task, _Result], tasks: Iterable[_Task]
    ) -> contextlib.AbstractContextManager[Iterator[_Result]]:
        """Call the function that `make` makes for each task, here or elsewhere.

        Args:
            make: must be picklable unless this process does all.
            tasks: read as they are needed; by Ray all at once.

        Returns:
            A context with the results, in the order of the tasks, but by Ray as they come. All
            processes are ended with it.
        """
        if self.is_this_process:
            return contextlib.nullcontext(map(make(), tasks))
        if self.engine == "ray":
            from linker.jobs import cluster

            return contextlib.closing(cluster.run(make, tasks, self))
        from linker.jobs import workers

        return contextlib.closing(workers.run(make, tasks, self.workers or 1))
