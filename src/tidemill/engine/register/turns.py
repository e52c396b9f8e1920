"""Plans for another range of input rates, made beside the ticks and taken over between two.

To group ten thousand queries anew takes seconds, and no tick waits for that. The plan that stands
goes on meanwhile; groups that were made for one that has changed are given up and made again.
"""

from __future__ import annotations

from collections.abc import Hashable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from tidemill.catalog import Catalog
from tidemill.engine.register.plan import Planner
from tidemill.language.names import Name
from tidemill.share import Context, Regrouping, SharedPlan, Turn, turn

# The groups of so few queries are made at once: it takes milliseconds, and runs can be repeated.
GROUPED_AT_ONCE = 64


@dataclass(frozen=True)
class Planning:
    """Groups that are being made, and what they will be good for."""

    basis: Hashable
    rows_per_second: float
    context: Context
    regrouping: Future[Regrouping]


@dataclass
class RateTurns:
    """The turns of all streams; only groups are made on the other thread, from frozen values."""

    planner: Planner
    beside: Executor = field(default_factory=lambda: ThreadPoolExecutor(1, "planning"))
    _plannings: dict[Name, Planning] = field(default_factory=dict)  # by stream

    def follow(
        self,
        plan: SharedPlan,
        stream: Name,
        rows_per_second: float,
        catalog: Catalog,
        wait: bool = False,
    ) -> SharedPlan:
        """The plan for a rate that was measured: the one that stands until another is there."""
        planned = self.planner.context(stream, catalog, plan).costs.sample.rows_per_second
        turned = turn(plan, stream, rows_per_second, planned)
        if isinstance(turned, SharedPlan):
            self._give_up(stream)
            return turned
        basis = plan.version, plan.rates.get(stream), turned.band, catalog.settings
        planning = self._plannings.get(stream)
        if planning is None or planning.basis != basis:
            self._give_up(stream)
            context = self.planner.context(stream, catalog, turned.plan)
            planning = Planning(basis, rows_per_second, context, self._begin(turned, context))
            self._plannings[stream] = planning
        if not wait and not planning.regrouping.done():
            return plan
        del self._plannings[stream]
        regrouping = planning.regrouping.result()
        # By the rate that the groups were made for; plans of other streams may have turned since.
        again = turn(plan, stream, planning.rows_per_second, planned)
        assert isinstance(again, Turn)
        position = self.planner.position(stream)
        return regrouping.applied(again.plan, stream, position, planning.context)

    @property
    def are_under_way(self) -> bool:
        """True if some groups are being made, or wait to be taken over."""
        return bool(self._plannings)

    def close(self) -> None:
        """What is being made is for nobody."""
        self._plannings.clear()
        self.beside.shutdown(wait=True, cancel_futures=True)

    def _give_up(self, stream: Name) -> None:
        if stream in self._plannings:
            self._plannings.pop(stream).regrouping.cancel()

    def _begin(self, turned: Turn, context: Context) -> Future[Regrouping]:
        if len(turned.plan.queries_of(turned.stream)) > GROUPED_AT_ONCE:
            return self.beside.submit(turned.regrouping, context)
        groups = Future[Regrouping]()
        groups.set_result(turned.regrouping(context))
        return groups
