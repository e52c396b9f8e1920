"""Each statement: what it parses to, how it is written back, and what is refused where."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlglot import exp

from tidemill import types
from tidemill.errors import TidemillError
from tidemill.language import parse_script, render
from tidemill.language.statements import (
    AlterQuery,
    ColumnDef,
    CreateAggregate,
    CreateAnswerStream,
    CreateDerivedStream,
    CreateQuery,
    CreateSink,
    CreateStream,
    CreateTable,
    Describe,
    Drop,
    Explain,
    Expr,
    JoinClause,
    OrderItem,
    PauseQuery,
    ResumeQuery,
    RowSelect,
    RunSelect,
    Select,
    SelectItem,
    Set,
    Show,
    Star,
    Statement,
    Subquery,
    Window,
)

FROM = "FROM s [RANGE 2 s SLIDE 1 s]"
BARE = Window(3_000_000, 0, is_soft=True)  # of a window that has its SLIDE from another one
COUNTED = Select((SelectItem(Expr("COUNT(*)"), None),), "s", None, Window(2_000_000, 1_000_000))


def joined(*joins: JoinClause) -> RunSelect:
    return RunSelect(replace(COUNTED, stream_alias="p", joins=joins))


PARSED: dict[str, Statement] = {
    "create stream b as select all ts, p.*, length * 8 bits, * from s p join w using (a) where x": (
        CreateDerivedStream(
            "b",
            RowSelect(
                (
                    SelectItem(Expr("ts")),
                    Star("p"),
                    SelectItem(Expr("length * 8"), "bits"),
                    Star(),
                ),
                "s",
                "p",
                Expr("x"),
                (JoinClause("INNER", "w", None, using=("a",)),),
            ),
        )
    ),
    "create stream b as select a from s where x union all select a from t join w on x"
    " union all select a from u where y": CreateDerivedStream(
        "b",
        RowSelect((SelectItem(Expr("a")),), "s", None, Expr("x")),
        others=(
            RowSelect(
                (SelectItem(Expr("a")),),
                "t",
                None,
                None,
                (JoinClause("INNER", "w", None, Expr("x")),),
            ),
            RowSelect((SelectItem(Expr("a")),), "u", None, Expr("y")),
        ),
    ),
    "CREATE OR REPLACE STREAM b AS SELECT * FROM s": CreateDerivedStream(
        "b", RowSelect((Star(),), "s", None), or_replace=True
    ),
    "create stream b as select count(*) from s.LATE [range 2 s slide 1 s]": CreateAnswerStream(
        "b", replace(COUNTED, stream="s.late")
    ),
    f"CREATE OR REPLACE STREAM b (a INT) AS SELECT COUNT(*) {FROM}": CreateAnswerStream(
        "b", COUNTED, (ColumnDef("a", types.INT),), True
    ),
    "describe s.malformed": Describe("s.malformed"),
    "DROP QUERY q": Drop("QUERY", "q"),
    "drop stream if exists `a b`;": Drop("STREAM", "a b", True),
    "SHOW SETTINGS": Show("SETTINGS"),
    "create query q as select *, n * 8 bits from s as p order by ts": CreateQuery(
        "q",
        None,
        Select(
            (SelectItem(Expr("*")), SelectItem(Expr("n * 8"), "bits")),
            "s",
            "p",
            None,
            order_by=(OrderItem(Expr("ts"), False, True),),
        ),
    ),
    "DESCRIBE packets": Describe("packets"),
    "DESC packets": Describe("packets"),
    "DROP TABLE IF EXISTS whois": Drop("TABLE", "whois", True),
    "SHOW TABLES": Show("TABLES"),
    "SHOW WEAVES": Show("WEAVES"),
    "SHOW AGGREGATES": Show("AGGREGATES"),
    "DROP AGGREGATE IF EXISTS decay": Drop("AGGREGATE", "decay", True),
    "CREATE AGGREGATE decay SOURCE 'python:decay.py#Decay'": CreateAggregate(
        "decay", "python:decay.py#Decay"
    ),
    "create or replace aggregate decay source 'python:d.py' as 'a = \\'b\\'\\n'": CreateAggregate(
        "decay", "python:d.py", "a = 'b'\n", True
    ),
    "PAUSE QUERY q": PauseQuery("q"),
    "resume query `a b`": ResumeQuery("a b"),
    f"ALTER QUERY q AS SELECT COUNT(*) {FROM}": AlterQuery("q", None, COUNTED),
    f"alter query q into r as select count(*) {FROM}": AlterQuery("q", "r", COUNTED),
    "CREATE TABLE whois (prefix STRING, owner STRING) SOURCE 'csv:w.csv'": CreateTable(
        "whois",
        (ColumnDef("prefix", types.STRING), ColumnDef("owner", types.STRING)),
        "csv:w.csv",
    ),
    "create or replace table t (a int) with (b = 1) source 'json:t'": CreateTable(
        "t", (ColumnDef("a", types.INT),), "json:t", (("b", "1"),), True
    ),
    f"SELECT COUNT(*) {FROM} p JOIN whois w ON p.src = w.prefix": joined(
        JoinClause("INNER", "whois", "w", Expr("p.src = w.prefix"))
    ),
    f"SELECT COUNT(*) {FROM} p INNER JOIN t USING (a, `b c`)": joined(
        JoinClause("INNER", "t", None, using=("a", "b c"))
    ),
    f"""SELECT COUNT(*) {FROM} AS p LEFT OUTER JOIN t ON p.a = t.a AND t.b > 1
        left join `u v` as u on u.a = t.a""": joined(
        JoinClause("LEFT", "t", None, Expr("p.a = t.a AND t.b > 1")),
        JoinClause("LEFT", "u v", "u", Expr("u.a = t.a")),
    ),
    f"SELECT COUNT(*) {FROM} p JOIN t.late [RANGE 3 s] u ON p.a = u.a": joined(
        JoinClause("INNER", "t.late", "u", Expr("p.a = u.a"), window=BARE)
    ),
    f"SELECT COUNT(*) {FROM} p, t [RANGE 3 s] AS u CROSS JOIN v [RANGE 3 s]": joined(
        JoinClause(",", "t", "u", window=BARE), JoinClause("CROSS", "v", None, window=BARE)
    ),
    f"""SELECT COUNT(*) {FROM} p RIGHT OUTER JOIN t [RANGE 3 s] USING (a)
        full join t [range 3 s] using (a) left semi join t [range 3 s] using (a)
        semi join t [range 3 s] using (a) anti join t [range 3 s] using (a)""": joined(
        *(
            JoinClause(kind, "t", None, using=("a",), window=BARE)
            for kind in ("RIGHT", "FULL", "LEFT SEMI", "LEFT SEMI", "LEFT ANTI")
        )
    ),
    f"""SELECT COUNT(*) {FROM} p
        WHERE NOT EXISTS (SELECT *, 2 FROM t [RANGE 3 s] AS u WHERE u.a = p.a)
        AND p.x BETWEEN 1 AND 2 AND p.y + 1 NOT IN (SELECT b FROM t [RANGE 3 s])
        AND CASE WHEN a AND b THEN c END""": replace(
        joined(),
        select=replace(
            joined().select,
            where=Expr("p.x BETWEEN 1 AND 2 AND CASE WHEN a AND b THEN c END"),
            subqueries=(
                Subquery(True, "t", "u", BARE, Expr("u.a = p.a")),
                Subquery(True, "t", None, BARE, None, Expr("p.y + 1"), Expr("b")),
            ),
        ),
    ),
    "SET sharing = 'auto'": Set("sharing", "auto"),
    "SET Sharing = auto": Set("sharing", "auto"),
    "SET tick_files = 4": Set("tick_files", "4"),
    "SET skew = -0.5": Set("skew", "-0.5"),
    "EXPLAIN ALL": Explain("PLAN", None),
    "EXPLAIN SHARED ALL": Explain("SHARED", None),
    f"EXPLAIN SHARED SELECT COUNT(*) {FROM}": Explain("SHARED", COUNTED),
    "EXPLAIN SHARED QUERY q": Explain("SHARED", "q"),
    f"EXPLAIN AST SELECT COUNT(*) {FROM}": Explain("AST", COUNTED),
    f"SELECT COUNT(*) {FROM}": RunSelect(COUNTED),
    f"SELECT COUNT(*) {FROM} WITH (priority = 5)": RunSelect(COUNTED, (("priority", "5"),)),
    f"SELECT COUNT(*) {FROM} LIMIT 3 with (Priority = -1);": RunSelect(
        replace(COUNTED, limit=3), (("priority", "-1"),)
    ),
    f"SELECT COUNT(*) {FROM} WHERE a > 1 GROUP BY k WITH (priority = 5)": RunSelect(
        replace(COUNTED, where=Expr("a > 1"), group_by=(Expr("k"),)), (("priority", "5"),)
    ),
    f"CREATE QUERY q AS SELECT COUNT(*) {FROM}": CreateQuery("q", None, COUNTED),
    f"create or replace query q into r with (a.b = 1, 'C' = yes) as select count(*) {FROM}": (
        CreateQuery("q", "r", COUNTED, (("a.b", "1"), ("C", "yes")), True)
    ),
    "CREATE SINK r TO 'parquet:out' WITH (roll = '1 minute')": CreateSink(
        "r", "parquet:out", (("roll", "1 minute"),)
    ),
    "CREATE STREAM raw (v INT) SOURCE 'x:'": CreateStream(
        "raw", (ColumnDef("v", types.INT),), None, "x:"
    ),
    """CREATE STREAM s (ts timestamp, `a b` map<string,array<int>>, d decimal(10,2)) -- columns
       WITH (lateness = '2 seconds') ON OVERLOAD BLOCK SOURCE 'p:d' ORDER BY ts""": CreateStream(
        "s",
        (
            ColumnDef("ts", types.TIMESTAMP),
            ColumnDef("a b", types.Type("MAP<STRING, ARRAY<INT>>")),
            ColumnDef("d", types.Type("DECIMAL", 10, 2)),
        ),
        "ts",
        "p:d",
        (("lateness", "2 seconds"),),
    ),
}

FULL = """
CREATE QUERY top_talkers INTO results AS
SELECT src, sum(length) AS bytes, COUNT(*) packets
FROM packets [RANGE 30 SECONDS SLIDE 5 SECONDS] p
WHERE proto = 'TCP' AND port IN (80, 443)
GROUP BY src, hour(ts)
HAVING SUM(length) > 100000
ORDER BY bytes DESC, src NULLS LAST
LIMIT 10;
"""

REFUSED = [
    ("FROBNICATE x", "E_SYNTAX", "expected a statement", "FROBNICATE"),
    ("CREATE VIEW v", "E_SYNTAX", "STREAM or TABLE or SINK or AGGREGATE or QUERY", "VIEW"),
    ("CREATE TABLE t (a INT)", "E_SYNTAX", "SOURCE 'address'", ""),
    ("CREATE TABLE t SOURCE 'x'", "E_SYNTAX", r"expected \(", "SOURCE"),
    ("CREATE TABLE t (a INT) ORDER BY a SOURCE 'x'", "E_SYNTAX", "SOURCE, WITH or", "ORDER BY"),
    ("CREATE TABLE t (a INT) SOURCE 'x' ON OVERLOAD BLOCK", "E_SYNTAX", "SOURCE, WITH or", "ON"),
    ("CREATE AGGREGATE a", "E_SYNTAX", "expected SOURCE", ""),
    ("CREATE AGGREGATE a SOURCE b", "E_SYNTAX", "quoted address", "b"),
    ("CREATE AGGREGATE a SOURCE 'b' AS c", "E_SYNTAX", "quoted text", "c"),
    ("CREATE STREAM b AS SELECT a FROM s GROUP BY a", "E_WINDOW", "there is none", "GROUP BY"),
    ("CREATE STREAM b (a INT) AS SELECT * FROM s [RANGE 1 s]", "E_NOT_BUILT", "over a window", "*"),
    ("CREATE STREAM b AS SELECT a FROM s UNION SELECT a", "E_NOT_BUILT", "without ALL", "UNION"),
    ("CREATE STREAM b AS SELECT a FROM s ORDER BY a", "E_NOT_BUILT", "an order", "ORDER BY"),
    ("CREATE STREAM b AS SELECT a FROM s WITH (x = 1)", "E_NOT_BUILT", "WITH on", "WITH"),
    ("CREATE STREAM b AS SELECT DISTINCT a FROM s", "E_NOT_BUILT", "DISTINCT", "DISTINCT"),
    ("CREATE STREAM b AS SELECT a FROM", "E_SYNTAX", "the name of a stream", ""),
    ("CREATE STREAM s (a INT)", "E_SYNTAX", "SOURCE 'address'", ""),
    ("CREATE STREAM s (a INTT) SOURCE 'x'", "E_UNKNOWN_TYPE", "no type INTT", "INTT"),
    ("CREATE STREAM s (a) SOURCE 'x'", "E_UNKNOWN_TYPE", "type of column a", ")"),
    ("CREATE STREAM s (a ARRAY<FOO>) SOURCE 'x'", "E_UNKNOWN_TYPE", "no type ARRAY", "ARRAY<FOO>"),
    ("CREATE STREAM s (a INT) SOURCE 'x' SOURCE 'y'", "E_SYNTAX", "twice", "SOURCE"),
    ("CREATE STREAM s (a INT) SOURCE 'x' ON OVERLOAD DROP", "E_NOT_BUILT", "OVERLOAD", "DROP"),
    ("CREATE STREAM s (a INT) SOURCE x", "E_SYNTAX", "quoted address", "x"),
    ("CREATE SINK r TO 'x' WITH (a 1)", "E_OPTION", "= after a", "1"),
    ("CREATE SINK r TO 'x' WITH (a = 1, a = 2)", "E_OPTION", "twice", "a"),
    ("CREATE SINK r TO 'x' WITH a = 1", "E_OPTION", "after WITH", "a"),
    ("CREATE SINK r TO 'x' WITH (a = 10s)", "E_OPTION", "a value", "10s"),
    ("CREATE SINK r TO 'x' WITH ()", "E_OPTION", "name of an option", ")"),
    ("CREATE QUERY select AS SELECT a", "E_SYNTAX", "name of a query", "select"),
    ("ALTER STREAM s (a INT)", "E_SYNTAX", "expected QUERY", "STREAM"),
    ("ALTER QUERY q SET a = 1", "E_SYNTAX", "expected AS", "SET"),
    ("ALTER QUERY q INTO AS SELECT a", "E_SYNTAX", "name of a sink", "AS"),
    ("ALTER QUERY q AS WITH a AS (SELECT 1) SELECT 1", "E_NOT_BUILT", "WITH before", "WITH"),
    ("PAUSE q", "E_SYNTAX", "expected QUERY", "q"),
    ("RESUME QUERY", "E_SYNTAX", "name of a query", ""),
    ("DROP AGGREGATE", "E_SYNTAX", "the name of an aggregate", ""),
    ("SHOW q", "E_SYNTAX", "STREAMS or SOURCES or TABLES", "q"),
    ("EXPLAIN q", "E_SYNTAX", "QUERY name or ALL", "q"),
    ("SET a", "E_SYNTAX", "expected =", ""),
    ("DROP QUERY q r", "E_SYNTAX", "end of the statement", "r"),
    ("WITH a AS (SELECT 1) SELECT 1", "E_NOT_BUILT", "WITH before", "WITH"),
    (f"SELECT * {FROM}", "E_NOT_BUILT", r"SELECT \*", "*"),
    (f"SELECT DISTINCT ISTREAM(a) {FROM}", "E_SYNTAX", "stands inside ISTREAM", "DISTINCT"),
    (f"SELECT a, ISTREAM(b) {FROM}", "E_SYNTAX", "ISTREAM is about whole rows", "ISTREAM"),
    (f"SELECT DSTREAM(a) AS b {FROM}", "E_SYNTAX", "DSTREAM is about whole rows", "AS"),
    (f"SELECT ISTREAM(DSTREAM(a)) {FROM}", "E_SYNTAX", "DSTREAM is about whole", "DSTREAM"),
    (f"SELECT ISTREAM(a {FROM}", "E_SYNTAX", "never closed", "("),
    (f"SELECT ISTREAM RESTORE (a) {FROM}", "E_NOT_BUILT", "ISTREAM RESTORE", "ISTREAM"),
    (f"SELECT WSTREAM(a) {FROM}", "E_NOT_BUILT", "WSTREAM", "WSTREAM"),
    ("SELECT ISTREAM(a) FROM s", "E_WINDOW", "answers to windows", "ISTREAM"),
    ("CREATE STREAM b AS SELECT RSTREAM(a) FROM s", "E_WINDOW", "has none", "RSTREAM"),
    ("SELECT DSTREAM(a) FROM s [RANGE 1 s]", "E_WINDOW", "no fixed slide", "DSTREAM"),
    ("SELECT ISTREAM(a) FROM s [RANGE 1 s, 2 s SLIDE 1 s]", "E_NOT_BUILT", "lengths", "ISTREAM"),
    (f"SELECT ISTREAM(a) {FROM} EMIT EVERY 1 s", "E_EMIT", "no EMIT", "EMIT EVERY 1 s"),
    ("SELECT DISTINCT a FROM s", "E_NOT_BUILT", "without a window", "DISTINCT"),
    (f"SELECT COUNT(*) AS {FROM}", "E_SYNTAX", "a name after AS", "FROM"),
    (f"SELECT COUNT(*), {FROM}", "E_SYNTAX", "expected an expression", "FROM"),
    ("SELECT COUNT(*)", "E_SYNTAX", "expected FROM", ""),
    ("SELECT a FROM (SELECT 1)", "E_NOT_BUILT", "subquery", "("),
    ("SELECT a FROM s AS p [RANGE 1 s SLIDE 1 s]", "E_SYNTAX", "alias before", "AS"),
    ("SELECT a FROM s p [RANGE 1 s SLIDE 1 s]", "E_SYNTAX", "alias before", "p"),
    (f"SELECT a {FROM}, t", "E_NOT_BUILT", "several streams", ","),
    ("SELECT a FROM s, t", "E_NOT_BUILT", "several streams", ","),
    ("SELECT a FROM s RANGE 1 s SLIDE 1 s", "E_WINDOW", "in brackets", "RANGE"),
    (f"SELECT a {FROM} JOIN t", "E_SYNTAX", "expected ON or USING", ""),
    (f"SELECT a {FROM} JOIN t USING a", "E_SYNTAX", r"expected \(", "a"),
    (f"SELECT a {FROM} JOIN t ON", "E_SYNTAX", "an expression", ""),
    (f"SELECT a {FROM} JOIN t ON a = b, u", "E_NOT_BUILT", "several streams", ","),
    (f"SELECT a {FROM} JOIN (SELECT 1) ON a", "E_NOT_BUILT", "subquery", "("),
    (f"SELECT a {FROM} JOIN t u [RANGE 1 s SLIDE 1 s] ON a", "E_SYNTAX", "alias before", "u"),
    (
        "CREATE STREAM x AS SELECT a FROM s JOIN t [RANGE 1 s] ON a",
        "E_NOT_BUILT",
        "of rows",
        "[RANGE 1 s]",
    ),
    (f"SELECT a {FROM} CROSS JOIN t [RANGE 1 s] ON a", "E_SYNTAX", "expected", "ON"),
    (f"SELECT a {FROM} WHERE a OR EXISTS (SELECT 1 {FROM})", "E_NOT_BUILT", "subquery", "SELECT"),
    (
        f"SELECT a {FROM} WHERE a IN (SELECT 1 {FROM}) OR b",
        *("E_NOT_BUILT", "subquery", f"a IN (SELECT 1 {FROM})"),
    ),
    (f"SELECT a {FROM} WHERE (a IN (SELECT 1 {FROM}))", "E_NOT_BUILT", "subquery", "SELECT"),
    (f"SELECT (SELECT 1 {FROM}) {FROM}", "E_NOT_BUILT", "subquery", "SELECT"),
    (f"SELECT a {FROM} HAVING a > (SELECT 1 {FROM})", "E_NOT_BUILT", "subquery", "SELECT"),
    (
        f"SELECT a {FROM} WHERE EXISTS (SELECT 1 {FROM} GROUP BY a)",
        "E_NOT_BUILT",
        "WHERE",
        "GROUP BY",
    ),
    (f"SELECT a {FROM} WHERE EXISTS (SELECT 1 {FROM} JOIN t ON a)", "E_NOT_BUILT", "WHERE", "JOIN"),
    (
        f"SELECT a {FROM} WHERE EXISTS (SELECT 1 {FROM} WHERE EXISTS (SELECT 1 {FROM}))",
        *("E_NOT_BUILT", "in a subquery", f"EXISTS (SELECT 1 {FROM})"),
    ),
    (f"SELECT a {FROM} AS p RIGHT OUTER JOIN t", "E_NOT_BUILT", "RIGHT JOIN", "RIGHT"),
    (f"SELECT a {FROM} FULL JOIN t", "E_NOT_BUILT", "FULL JOIN", "FULL"),
    (f"SELECT a {FROM} CROSS JOIN t", "E_NOT_BUILT", "CROSS JOIN", "CROSS"),
    (f"SELECT a {FROM} NATURAL LEFT JOIN t", "E_NOT_BUILT", "NATURAL JOIN", "NATURAL"),
    (f"SELECT a {FROM} LEFT SEMI JOIN t ON a", "E_NOT_BUILT", "SEMI JOIN", "LEFT"),
    (f"SELECT a {FROM} LEFT ANTI JOIN t ON a", "E_NOT_BUILT", "ANTI JOIN", "LEFT"),
    (f"SELECT a {FROM} LEFT t ON a", "E_SYNTAX", "expected JOIN", "t"),
    (f"SELECT a {FROM} JOIN LATERAL f(a)", "E_NOT_BUILT", "LATERAL", "LATERAL"),
    (f"SELECT a {FROM} GROUP BY ROLLUP(a)", "E_NOT_BUILT", "grouping set", "ROLLUP"),
    (f"SELECT a {FROM} GROUP BY ALL", "E_NOT_BUILT", "grouping set", "ALL"),
    (f"SELECT a {FROM} UNION SELECT 1", "E_NOT_BUILT", "set operation", "UNION"),
    (f"SELECT a {FROM} WHERE x UNION SELECT 1", "E_NOT_BUILT", "set operation", "UNION"),
    (
        f"SELECT a {FROM} WHERE x AND EXISTS (SELECT 1 {FROM}) EXCEPT SELECT 1",
        *("E_NOT_BUILT", "set operation", "EXCEPT"),
    ),
    (
        "CREATE STREAM b AS SELECT a FROM s WHERE x IN (SELECT 1) UNION ALL SELECT a FROM t",
        *("E_NOT_BUILT", "subquery", "SELECT"),
    ),
    (f"SELECT a {FROM} LIMIT 5 OFFSET 2", "E_NOT_BUILT", "OFFSET", "OFFSET"),
    (f"SELECT a {FROM} LIMIT -1", "E_SYNTAX", "whole number", "-"),
    (f"SELECT a {FROM} LIMIT 1.5", "E_SYNTAX", "whole number", "1.5"),
    (f"SELECT a {FROM} LIMIT x", "E_SYNTAX", "whole number", "x"),
    (f"SELECT a {FROM} LIMIT 1 LIMIT DELAY TO '1 s'", "E_NOT_BUILT", "LIMIT DELAY", "LIMIT"),
    (f"SELECT a {FROM} ORDER BY a NULLS", "E_SYNTAX", "FIRST or LAST", ""),
    (f"SELECT SUM(a) OVER (ORDER BY b) {FROM}", "E_NOT_BUILT", "OVER", "SUM(a) OVER (ORDER BY b"),
    (f"SELECT a IN (SELECT b) {FROM}", "E_NOT_BUILT", "subquery", "SELECT"),
    (f"SELECT a + {FROM}", "E_SYNTAX", "expected an operand", "FROM"),
    (f"SELECT :a {FROM}", "E_SYNTAX", "cannot read", ":a"),
    (f"SELECT (a {FROM}", "E_SYNTAX", r"this \( is never closed", "("),
    (f"SELECT a) {FROM}", "E_SYNTAX", r"this \) closes nothing", ")"),
    ("SELECT a FROM s [RANGE 1 s SLIDE 1 s; SHOW QUERIES", "E_SYNTAX", "never closed", "["),
    ("SELECT f(a] FROM s", "E_SYNTAX", "closes nothing", "]"),
    ("SHOW QUERIES; SELECT 'abc", "E_SYNTAX", "this ' is never closed", "'"),
    ("SELECT `abc", "E_SYNTAX", "this ` is never closed", "`"),
    ("SHOW QUERIES /* not /* closed */", "E_SYNTAX", "never closed", "/*"),
]


@pytest.mark.parametrize("text", PARSED)
def test_parsed(text):
    assert parse_script(text) == (PARSED[text],)


@pytest.mark.parametrize("text", PARSED)
def test_rendered_text_parses_to_the_same(text):
    canonical = render(PARSED[text])
    assert parse_script(canonical) == (PARSED[text],)


def test_full_query():
    [query] = parse_script(FULL)
    assert isinstance(query, CreateQuery)
    select = query.select
    assert [item.alias for item in select.items] == [None, "bytes", "packets"]
    assert select.stream_alias == "p"
    assert select.group_by == (Expr("src"), Expr("HOUR(ts)"))
    assert select.order_by == (
        OrderItem(Expr("bytes"), True, False),
        OrderItem(Expr("src"), False, False),
    )
    assert select.limit == 10


def test_canonical_text():
    assert render(parse_script(FULL)[0]) == (
        "CREATE QUERY top_talkers INTO results AS\n"
        "SELECT src, SUM(length) AS bytes, COUNT(*) AS packets\n"
        "FROM packets [RANGE 30 SECONDS SLIDE 5 SECONDS] AS p\n"
        "WHERE proto = 'TCP' AND port IN (80, 443)\n"
        "GROUP BY src, HOUR(ts)\n"
        "HAVING SUM(length) > 100000\n"
        "ORDER BY bytes DESC, src NULLS LAST\n"
        "LIMIT 10"
    )


def test_places_point_into_the_script():
    text = "SHOW QUERIES;\n" + FULL
    _, query = parse_script(text)
    assert isinstance(query, CreateQuery)
    select = query.select
    assert select.where is not None

    def at(place):
        return text[place.start : place.end]

    assert at(query.place) == "top_talkers"
    assert at(query.text_place) == FULL.strip().rstrip(";")
    assert at(select.stream_place) == "packets"
    assert at(select.items[1].expr.place) == "sum(length)"
    assert at(select.where.place) == "proto = 'TCP' AND port IN (80, 443)"
    columns = {column.name: column for column in select.where.tree.find_all(exp.Column)}
    assert at(select.where.place_of(columns["port"])) == "port"


@pytest.mark.parametrize(("text", "code", "words", "underlined"), REFUSED)
def test_refusal(text, code, words, underlined):
    with pytest.raises(TidemillError, match=words) as caught:
        parse_script(text)
    problem = caught.value.problem
    assert problem.code == code
    assert problem.place is not None
    assert problem.text[problem.place.start : problem.place.end] == underlined
    assert code != "E_NOT_BUILT" or problem.hint


@pytest.mark.parametrize("text", ["", "  ;; ; ", "-- nothing\n", "/* a /* nested */ one */;"])
def test_nothing_to_do(text):
    assert parse_script(text) == ()


def test_a_slip_in_the_first_word_is_guessed():
    with pytest.raises(TidemillError) as caught:
        parse_script("CREAT QUERY q AS SELECT 1")
    assert caught.value.problem.hint == "did you mean 'CREATE'?"


def test_deep_nesting_is_refused_not_crashed():
    for text in ("(" * 3000 + "a" + ")" * 3000, "-" + " -" * 5000 + "a", "NOT " * 5000 + "a"):
        with pytest.raises(TidemillError, match="nested too deeply"):
            parse_script(f"SELECT {text} {FROM}")
