CREATE STREAM readings (v DOUBLE) SOURCE 'json:data';
CREATE AGGREGATE hours SOURCE 'python:hours.py' AS '
import pyarrow.compute as pc
import tidemill


@tidemill.aggregate(arguments={"at": "EVENT TIME"}, state={"n": "BIGINT"}, returns="BIGINT")
class Hours:
    def identity(self):
        return {"n": 0}

    def lift(self, at):
        return {"n": pc.hour(at)}

    def combine(self, left, right):
        return {"n": left["n"] + right["n"]}

    def lower(self, state):
        return state["n"]
';
CREATE QUERY q AS SELECT hours() AS n FROM readings [RANGE 30 SECONDS SLIDE 5 SECONDS];
