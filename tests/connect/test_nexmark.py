"""The Nexmark generator: one auction house in three streams, shaped as published."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidemill.connect.generators.files import write_generated
from tidemill.connect.generators.register import generator_names, make_generator
from tidemill.connect.nexmark.events import BID
from tidemill.connect.nexmark.generator import TABLES_OF_NEXMARK, NexmarkTable
from tidemill.connect.nexmark.model import NEXMARK_OPTIONS, NexmarkModel
from tidemill.errors import TidemillError

TEN_SECONDS = NexmarkModel(rate=2_000, duration_us=10_000_000)
models = st.builds(
    NexmarkModel,
    seed=st.integers(0, 2**32 - 1),
    rate=st.integers(1, 400),
    hot_auctions=st.integers(1, 5),
    hot_bidders=st.integers(1, 5),
    hot_sellers=st.integers(1, 5),
    in_flight=st.integers(1, 200),
    active_people=st.integers(1, 20),
    duration_us=st.none() | st.integers(1, 4_000_000),
    events=st.integers(0, 1_000),
)


def whole(model: NexmarkModel, table: str) -> pa.Table:
    made = NexmarkTable(model, table)
    blocks = made.block_count()
    assert blocks is not None
    rows = [made.make_block(block, made.schema.names) for block in range(blocks)]
    return pa.Table.from_batches(rows, made.schema)


def house(model: NexmarkModel) -> duckdb.DuckDBPyConnection:
    """The three streams as tables, in order of arrival."""
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("SET TimeZone = 'UTC'")
    for table in TABLES_OF_NEXMARK:
        connection.register(f"{table}_rows", whole(model, table))
        connection.execute(f"CREATE TABLE {table} AS FROM {table}_rows")
    return connection


@pytest.fixture(scope="module")
def ten_seconds() -> duckdb.DuckDBPyConnection:
    return house(TEN_SECONDS)


def value(connection: duckdb.DuckDBPyConnection, sql: str) -> Any:
    return connection.sql(sql).fetchall()[0][0]


# --- The same anywhere ------------------------------------------------------------------------


@pytest.mark.parametrize("table", TABLES_OF_NEXMARK)
def test_the_same_seed_gives_the_same_rows_in_any_order_of_blocks(table: str):
    one, other = (NexmarkTable(TEN_SECONDS, table) for _ in range(2))
    backwards = [other.make_block(block, other.schema.names) for block in (3, 2)]
    assert [one.make_block(block, one.schema.names) for block in (2, 3)] == backwards[::-1]


@pytest.mark.parametrize("table", TABLES_OF_NEXMARK)
def test_another_seed_gives_other_rows_of_the_same_events(table: str):
    one, other = (whole(replace(TEN_SECONDS, seed=seed), table) for seed in (1, 2))
    same = {name for name in one.column_names if one[name].equals(other[name])}
    assert same == {"id", "dateTime"} & set(one.column_names)


@pytest.mark.parametrize("table", TABLES_OF_NEXMARK)
def test_a_column_is_the_same_with_others_and_alone(table: str):
    made = NexmarkTable(TEN_SECONDS, table)
    rows = made.make_block(1, made.schema.names)
    for name in rows.schema.names:
        assert made.make_block(1, [name])[name].equals(rows[name])


@given(models, st.sampled_from(TABLES_OF_NEXMARK), st.integers(0, 1_000))
def test_a_shorter_stream_is_the_beginning_of_a_longer_one(model, table, events):
    shorter, longer = whole(replace(model, events=min(events, model.events)), table), model
    assert whole(longer, table).slice(0, len(shorter)).equals(shorter)


# --- One house --------------------------------------------------------------------------------


@given(models)
def test_counts_agree_with_rows_and_the_tables_make_up_the_events(model):
    tables = [NexmarkTable(model, table) for table in TABLES_OF_NEXMARK]
    events = model.event_count()
    blocks = tables[0].block_count() or 0
    places = [(made, block) for made in tables for block in range(blocks)]
    sizes = [len(made.make_block(block, ["dateTime"])) for made, block in places]
    assert sizes == [made.rows_in_block(block) for made, block in places]
    assert sum(sizes) == events
    assert all(made.rows_in_block(blocks) == 0 for made in tables)


@given(models)
def test_whom_a_row_names_came_before_it(model):
    person, auction, bid = (whole(model, table) for table in TABLES_OF_NEXMARK)
    for rows, column, target in (
        (bid, "auction", auction),
        (bid, "bidder", person),
        (auction, "seller", person),
    ):
        assert target["id"].to_pylist() == list(range(1_000, 1_000 + len(target)))
        places = rows[column].to_numpy() - 1_000
        assert ((places >= 0) & (places < len(target))).all()
        assert (target["dateTime"].to_numpy()[places] <= rows["dateTime"].to_numpy()).all()


@given(models)
def test_times_are_whole_milliseconds_in_order_and_in_the_stream(model):
    for table in TABLES_OF_NEXMARK:
        times = np.asarray(whole(model, table)["dateTime"].cast(pa.int64())) - model.start_us
        assert (times % 1_000 == 0).all()
        assert (np.diff(times) >= 0).all()
        assert (times >= 0).all()
        assert (times < (model.duration_us or 2**60)).all()


def test_every_event_in_time_is_there():
    model = NexmarkModel(rate=300, duration_us=1_004_000)
    # The events of the second second come at 0, 3, 6 … ms; those at 0 and 3 are before 4 ms.
    assert model.event_count() == 302


# --- Shaped as published ----------------------------------------------------------------------


def test_one_person_three_auctions_and_46_bids_of_each_fifty(ten_seconds):
    counts = [value(ten_seconds, f"SELECT COUNT(*) FROM {table}") for table in TABLES_OF_NEXMARK]
    assert counts == [400, 1_200, 18_400]
    assert value(ten_seconds, "SELECT COUNT(DISTINCT id) FROM auction") == 1_200
    assert ten_seconds.sql("SELECT MIN(id), MAX(id) FROM person").fetchall() == [(1_000, 1_399)]


def test_half_of_the_bids_are_of_hot_auctions_and_three_quarters_by_hot_people(ten_seconds):
    # A row that is not hot may name a hot one too: one auction in a hundred, one person in a few.
    hot_auctions = "SELECT AVG((auction % 100 = 0)::INT) FROM bid"
    assert value(ten_seconds, hot_auctions) == pytest.approx(0.505, abs=0.02)
    hot_bidders = "SELECT AVG((bidder % 100 = 1)::INT) FROM bid"
    assert value(ten_seconds, hot_bidders) == pytest.approx(0.755, abs=0.02)
    hot_sellers = "SELECT AVG((seller % 100 = 0)::INT) FROM auction"
    assert value(ten_seconds, hot_sellers) == pytest.approx(0.76, abs=0.04)


def test_no_key_is_hot_where_the_ratios_are_one():
    even = house(NexmarkModel(rate=2_000, events=20_000, hot_auctions=1, hot_bidders=1))
    assert value(even, "SELECT AVG((auction % 100 = 0)::INT) FROM bid") < 0.03
    assert value(even, "SELECT AVG((bidder % 100 = 1)::INT) FROM bid") < 0.03


def test_prices_are_even_over_six_powers_of_ten(ten_seconds):
    lows = "SELECT AVG((price < 10000)::INT) FROM bid"
    assert value(ten_seconds, lows) == pytest.approx(1 / 3, abs=0.02)
    assert value(ten_seconds, "SELECT MIN(price) FROM bid") >= 100
    assert value(ten_seconds, "SELECT MAX(price) FROM bid") <= 100_000_000
    assert value(ten_seconds, "SELECT MIN(reserve - initialBid) FROM auction") >= 100


def test_auctions_last_until_a_hundred_more_are_open(ten_seconds):
    # A hundred auctions are 1,666 events, which take 833 ms; auctions last up to twice as long.
    lasts = "SELECT {}(date_diff('ms', dateTime, expires)) FROM auction"
    assert value(ten_seconds, lasts.format("AVG")) == pytest.approx(833, rel=0.1)
    assert value(ten_seconds, lasts.format("MIN")) >= 1
    assert value(ten_seconds, lasts.format("MAX")) <= 1_668
    categories = ten_seconds.sql("SELECT DISTINCT category FROM auction ORDER BY 1").fetchall()
    assert categories == [(number,) for number in range(10, 15)]


@pytest.mark.parametrize(
    ("table", "numbers", "average"), [("person", 1, 200), ("auction", 6, 500), ("bid", 4, 100)]
)
def test_rows_have_the_size_they_should_in_the_mean(table, numbers, average):
    rows = whole(TEN_SECONDS, table)
    names = [n for n in rows.column_names if pa.types.is_string(rows.schema.field(n).type)]
    if table == "bid":
        names = ["extra"]  # channel and URL are later than the sizes, and beside them
    bytes_ = sum(pc.mean(pc.binary_length(rows[name])).as_py() for name in names)
    assert bytes_ + 8 * numbers == pytest.approx(average, rel=0.02)


def test_half_of_the_bids_come_by_four_channels_and_the_others_mostly_tell_theirs(ten_seconds):
    hot = "SELECT AVG((channel NOT LIKE 'channel-%')::INT), COUNT(DISTINCT channel) FROM bid"
    share, channels = ten_seconds.sql(hot).fetchall()[0]
    assert share == pytest.approx(0.5, abs=0.02)
    assert channels > 4_000
    cold = "SELECT AVG((url LIKE '%&channel_id=%')::INT) FROM bid WHERE channel LIKE 'channel-%'"
    assert value(ten_seconds, cold) == pytest.approx(0.9, abs=0.02)
    assert (
        value(
            ten_seconds,
            "SELECT MAX(n) FROM (SELECT COUNT(DISTINCT url) AS n FROM bid GROUP BY channel)",
        )
        == 1
    )


def test_texts_look_as_they_should():
    person, auction, bid = (whole(TEN_SECONDS, table) for table in TABLES_OF_NEXMARK)
    patterns = [
        (person["name"], r"[A-Z][a-z]+ [A-Z][a-z]+"),
        (person["emailAddress"], r"[a-z]{3,6}@[a-z]{3,4}\.com"),
        (person["creditCard"], r"\d{4} \d{4} \d{4} \d{4}"),
        (person["state"], r"AZ|CA|ID|OR|WA|WY"),
        (auction["itemName"], r"[a-z][a-z ]{0,18}|"),
        (auction["description"], r"[a-z][a-z ]{0,98}|"),
        (
            bid["url"],
            r"https://www\.nexmark\.com/([a-z_]{3,4}/){3}item\.htm\?query=1(&channel_id=\d+)?",
        ),
        (bid["extra"], r"[a-z]{54,81}"),
    ]
    for texts, pattern in patterns:
        assert all(re.fullmatch(pattern, text) for text in texts.to_pylist()), pattern
    assert len(set(bid["extra"].to_pylist())) > 18_000
    assert " " in "".join(auction["description"].to_pylist())


# --- Refusals and files -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "text"),
    [
        *(("rate", "fast"), ("rate", "1.5"), ("rate", "0"), ("seed", "-1"), ("events", "-1")),
        *(("hot_auctions", "0"), ("in_flight", "0"), ("duration_us", "0")),
    ],
)
def test_a_value_that_describes_no_stream_is_refused(option, text):
    with pytest.raises(TidemillError, match=f"option {option} .* cannot be {text}") as caught:
        make_generator("nexmark/bid", {option: text})
    assert caught.value.code == "E_SOURCE"
    assert caught.value.problem.detail


def test_an_unknown_option_lists_those_there_are():
    with pytest.raises(TidemillError) as caught:
        make_generator("nexmark/bid", {"hot_auction": "2"})
    assert caught.value.problem.hint == "did you mean 'hot_auctions'?"
    assert all(option in caught.value.problem.detail for option in NEXMARK_OPTIONS)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("nexmark", "a stream has one table of nexmark, as in generate:nexmark/bid"),
        ("nexmark/bids", "a stream has one table of nexmark, as in generate:nexmark/bid"),
        ("packet", "did you mean 'packets'?"),
        ("packets/bid", None),
    ],
)
def test_a_name_of_no_generator_is_refused_with_the_names(name, hint):
    with pytest.raises(TidemillError) as caught:
        make_generator(name, {})
    assert caught.value.code == "E_SOURCE"
    assert all(known in caught.value.problem.detail for known in generator_names())
    assert hint is None or caught.value.problem.hint == hint


def test_blocks_count_from_zero():
    with pytest.raises(ValueError, match="blocks count from 0"):
        NexmarkTable(TEN_SECONDS, BID.name).make_block(-1, ["price"])


def test_files_hold_the_streams_and_files_of_one_number_the_same_time(tmp_path: Path):
    told: list[int] = []
    options = {"rate": "1000", "seed": "7"}
    written = write_generated("nexmark", tmp_path / "out", 4_500, 2_000, options, told.append)
    assert written == told[-1] == 4_500
    model = NexmarkModel(rate=1_000, seed=7, events=4_500)
    for table in TABLES_OF_NEXMARK:
        files = sorted((tmp_path / "out" / table).iterdir(), key=lambda file: file.stat().st_mtime)
        assert [file.name for file in files] == [
            f"part-{number:05d}.parquet" for number in range(3)
        ]
        assert pq.read_table(files).equals(whole(model, table))
        seconds = [pc.max(pq.read_table(file)["dateTime"]).as_py().second for file in files]
        assert seconds == [1, 3, 4]
