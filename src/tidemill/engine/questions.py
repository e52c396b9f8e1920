"""Replies to what a script asks: SHOW, DESCRIBE, EXPLAIN."""

from __future__ import annotations

from collections.abc import Mapping

from tidemill.engine.explain import Explainer
from tidemill.engine.register.script import Question
from tidemill.engine.show import describe, show
from tidemill.engine.tick.journal import QueryState
from tidemill.language.statements import Describe, Show


def reply_to(question: Question, explainer: Explainer, queries: Mapping[str, QueryState]) -> str:
    if isinstance(question, Show) and question.kind == "WEAVES":
        return explainer.weaves()
    if isinstance(question, Show) and question.kind == "SCHEDULE":
        return explainer.schedule(queries)
    if isinstance(question, Show):
        return show(question.kind, explainer.catalog, queries)
    if isinstance(question, Describe):
        return describe(question.name, explainer.catalog, queries)
    return explainer.explain(question)
