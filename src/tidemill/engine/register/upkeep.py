"""The plan between two ticks: lets go of what nobody reads any more, follows the rate of input."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tidemill.catalog import Catalog
from tidemill.engine.register.plan import Planner
from tidemill.engine.register.rates import RateWatch
from tidemill.engine.tick.runner import StreamRunner
from tidemill.share import SharedPlan, retire_stints


@dataclass(frozen=True)
class Upkeep:
    planner: Planner
    _rates: dict[str, RateWatch] = field(default_factory=dict)  # by stream

    def plan_after(
        self, plan: SharedPlan, runners: Iterable[StreamRunner], catalog: Catalog
    ) -> SharedPlan:
        """The same plan if the streams' last ticks give no cause to change it."""
        for runner in runners:
            plan = self._after(plan, runner, catalog)
        return plan

    def _after(self, plan: SharedPlan, runner: StreamRunner, catalog: Catalog) -> SharedPlan:
        name, state = runner.stream.name, runner.state
        if state.time.watermark_us is not None:
            plan = retire_stints(plan, name, state.time.watermark_us)
        rate = self._rates.setdefault(name, RateWatch()).note(state)
        return plan if rate is None else self.planner.at_rate(plan, name, rate, catalog)
