"""The queries of a synopsis on pages: one page holds those that are answered in one go."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from tidemill.answer.asked import Sheet
from tidemill.answer.delivery import CARRY, COUNT
from tidemill.answer.shapes import Lifted, lift
from tidemill.answer.task import Question
from tidemill.engine.tick.context import Surroundings
from tidemill.engine.tick.page import Page
from tidemill.plan.query import QueryPlan
from tidemill.schedule import Due
from tidemill.share import Stint


class Pages:
    """The pages of a synopsis, made anew only when a query's route has changed."""

    def __init__(
        self, around: Surroundings, synopsis_id: str, readers: tuple[tuple[QueryPlan, Stint], ...]
    ) -> None:
        self._around, self._synopsis_id = around, synopsis_id
        queries = self._queries = tuple(query for query, _ in readers)
        self._readings = [stint.reading for _, stint in readers]
        self._lifted = [lift(query) for query in queries]
        # Where there is one bucket only, what it puts in order is so for good.
        is_parted = around.buckets[synopsis_id] > 1
        self._must_carry = [
            (query.is_ordered and is_parted) or not lifted.finishes_here
            for query, lifted in zip(queries, self._lifted, strict=True)
        ]
        self._routes: tuple[tuple[str, bool], ...] = ()
        self._pages: list[Page] = []
        self._places: dict[str, tuple[int, int]] = {}

    def questions(self, due: Iterable[Due]) -> tuple[Question, ...]:
        """What is due, page by page; queries of other synopses are passed over."""
        self._turn(tuple(self._route(n, q.name) for n, q in enumerate(self._queries)))
        numbers: list[list[int]] = [[] for _ in self._pages]
        runs: list[list[Due]] = [[] for _ in self._pages]
        for one in due:
            if one.synopsis == self._synopsis_id:
                page, number = self._places[one.query]
                numbers[page].append(number)
                runs[page].append(one)
        return tuple(
            page.question(mine, own)
            for page, mine, own in zip(self._pages, numbers, runs, strict=True)
            if own
        )

    def _route(self, number: int, query: str) -> tuple[str, bool]:
        """Rows come back to the driver only when somebody there has work with them.

        Beside the route, whether anyone will read the columns by name.
        """
        watched = query in self._around.subscribers
        route = self._around.sinks[query].route
        named = watched or route != COUNT
        return (CARRY if watched or self._must_carry[number] else route), named

    def _turn(self, routes: tuple[tuple[str, bool], ...]) -> None:
        if routes == self._routes:
            return
        self._routes = routes
        groups: dict[Hashable, list[int]] = {}
        for number, (query, lifted, route) in enumerate(
            zip(self._queries, self._lifted, routes, strict=True)
        ):
            groups.setdefault(self._key(query, lifted, *route), []).append(number)
        self._pages = [self._page(numbers) for numbers in groups.values()]
        self._places = {
            query: (place, number)
            for place, page in enumerate(self._pages)
            for number, query in enumerate(page.queries)
        }

    def _key(self, query: QueryPlan, lifted: Lifted, route: str, named: bool) -> Hashable:
        # A query that Spark finishes has a plan of its own to be finished by.
        alone = None if lifted.finishes_here else query.name
        names = lifted.names if named or alone else ()
        return lifted.shape, route, names, id(self._around.sinks[query.name]), alone

    def _page(self, numbers: list[int]) -> Page:
        queries = tuple(self._queries[number].name for number in numbers)
        lifted = [self._lifted[number] for number in numbers]
        route, named = self._routes[numbers[0]]
        named = named or not lifted[0].finishes_here
        readings = [self._readings[number] for number in numbers]
        sheet = Sheet.of(lifted, lifted[0].names if named else (), readings)
        return Page(queries, sheet, route)
