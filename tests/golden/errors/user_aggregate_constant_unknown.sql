CREATE AGGREGATE total SOURCE 'python:total.py' AS 'import tidemill

@tidemill.aggregate(arguments={"x": "DOUBLE"}, state={"total": "DOUBLE"}, returns="DOUBLE")
class Total:
    def __init__(self, scale: float = 1.0):
        if scale == 0:
            raise ValueError("scale must not be zero")
    def identity(self):
        return {"total": 0.0}
    def lift(self, x):
        return {"total": x}
    def combine(self, left, right):
        return {"total": left["total"] + right["total"]}
    def lower(self, state):
        return state["total"]
';
CREATE STREAM packets (ts TIMESTAMP, src STRING, length BIGINT) ORDER BY ts SOURCE 'parquet:data';
CREATE QUERY q AS SELECT total(length, scal => 2) AS t FROM packets [RANGE 2 SECONDS SLIDE 1 SECOND];
