"""The packet generator: the same anywhere, and shaped like traffic."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidemill.connect.packets.model import OPTIONS
from tidemill.connect.packets.packets import (
    BLOCK_US,
    SCHEMA,
    PacketModel,
    _kept_codes,
    block_count,
    make_block,
    rows_in_block,
)
from tidemill.connect.packets.times import arrival_times, drawn_counts, event_times
from tidemill.errors import TidemillError

SECOND_US = 1_000_000
TIMED = PacketModel(rate=500, duration_us=8_300_000)
DISORDERED = PacketModel(rate=500, duration_us=8_300_000, disorder_us=2_500_000)

models = st.builds(
    PacketModel,
    seed=st.integers(0, 2**32 - 1),
    rate=st.sampled_from([1, 30, 400]),
    hosts=st.integers(2, 50),
    sources=st.integers(1, 8),
    disorder_us=st.sampled_from([0, 1, 999_999, 1_000_000, 1_000_001, 3_200_000]),
    duration_us=st.integers(1, 6 * SECOND_US),
    rows=st.none() | st.integers(0, 1_500),
)


def last(model: PacketModel) -> int:
    count = block_count(model)
    assert count is not None
    return count


def whole(model: PacketModel) -> pa.Table:
    return pa.Table.from_batches([make_block(model, b) for b in range(last(model))], SCHEMA)


def times_us(table: pa.Table | pa.RecordBatch) -> np.ndarray:
    return np.asarray(table["ts"].cast(pa.int64()))


def forget() -> None:
    for cached in (drawn_counts, arrival_times, _kept_codes):
        cached.cache_clear()


def in_time_order(table: pa.Table) -> pa.Table:
    return table.sort_by([(name, "ascending") for name in SCHEMA.names])


# --- The same anywhere ------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_bytes():
    first, second = (make_block(PacketModel(seed=5), 3) for _ in range(2))
    assert first.serialize().equals(second.serialize())


def test_another_seed_gives_other_rows():
    one, other = make_block(PacketModel(seed=5), 3), make_block(PacketModel(seed=6), 3)
    for name in SCHEMA.names:
        assert not one[name].equals(other[name])


@pytest.mark.parametrize("model", [TIMED, DISORDERED, PacketModel(rate=300, rows=2_000)])
def test_blocks_in_any_order_equal_blocks_in_order(model):
    backwards = [make_block(model, b) for b in reversed(range(last(model)))]
    forget()
    assert whole(model).equals(pa.Table.from_batches(backwards[::-1], SCHEMA))


def test_disorder_moves_rows_and_keeps_each():
    assert in_time_order(whole(DISORDERED)).equals(in_time_order(whole(TIMED)))
    assert not whole(DISORDERED).equals(whole(TIMED))


def test_a_shorter_stream_is_the_beginning_of_a_longer_one():
    shorter, longer = (PacketModel(rate=500, duration_us=us) for us in (2_700_000, 5_000_000))
    table = whole(shorter)
    assert table.num_rows > 0
    assert whole(longer).slice(0, table.num_rows).equals(table)


# --- As many as asked for ---------------------------------------------------------------------


@given(models)
def test_counts_agree_with_rows_and_nothing_comes_after_the_end(model):
    count = last(model)
    sizes = [make_block(model, b).num_rows for b in range(count)]
    assert sizes == [rows_in_block(model, b) for b in range(count)]
    assert make_block(model, count).num_rows == rows_in_block(model, count) == 0
    if model.rows is not None:
        uncut = PacketModel(**{**vars(model), "rows": None})
        assert sum(sizes) == min(model.rows, whole(uncut).num_rows)


@pytest.mark.parametrize("disorder_us", [0, 1_700_000])
@pytest.mark.parametrize("rows", [1, 999, 10_000, 650_000])
def test_rows_are_exact_and_no_block_is_needless(rows, disorder_us):
    model = PacketModel(rate=1_000, rows=rows, disorder_us=disorder_us)
    sizes = [rows_in_block(model, b) for b in range(last(model))]
    assert sum(sizes) == rows
    assert sizes[-1] > 0


def test_a_stream_without_an_end_says_so():
    assert block_count(PacketModel()) is None


def test_no_rows_is_no_blocks():
    assert block_count(PacketModel(rows=0)) == 0


def test_the_mean_rate_is_the_rate_asked_for():
    # Ten minutes of each of twenty streams; one alone may be off by a tenth.
    counts = [drawn_counts(PacketModel(seed=s, rate=1_000), 0).mean() for s in range(20)]
    assert np.mean(counts) == pytest.approx(1_000, rel=0.05)


# --- In time ----------------------------------------------------------------------------------


@given(models)
def test_every_row_lies_in_the_stream_and_arrives_in_its_block(model):
    for block in range(last(model)):
        start_us = model.start_us + block * BLOCK_US
        times = times_us(make_block(model, block))
        assert (times < min(start_us + BLOCK_US, model.start_us + model.duration_us)).all()
        assert (times >= max(model.start_us, start_us - model.disorder_us)).all()


def test_without_disorder_times_never_go_back():
    assert (np.diff(times_us(whole(TIMED))) >= 0).all()


def test_disorder_keeps_its_bound_and_uses_it():
    times = times_us(whole(DISORDERED))
    late_by_us = np.maximum.accumulate(times) - times
    assert late_by_us.max() <= DISORDERED.disorder_us
    assert late_by_us.max() > 0.8 * DISORDERED.disorder_us
    assert (late_by_us > 0).mean() > 0.5


def test_delays_are_between_none_and_the_bound():
    delays_us = arrival_times(DISORDERED, 1) - event_times(DISORDERED, 1)
    assert delays_us.min() >= 0
    assert delays_us.max() <= DISORDERED.disorder_us


# --- Shaped like traffic ----------------------------------------------------------------------


def dispersion(model: PacketModel) -> float:
    counts = drawn_counts(model, 0)
    return float(counts.var() / counts.mean())


def test_traffic_is_far_burstier_than_poisson():
    # Poisson has 1 whatever the rate.
    assert dispersion(PacketModel(rate=10_000)) > 30


def test_bursts_last():
    counts = drawn_counts(PacketModel(rate=10_000), 0).astype(float)
    # Independent seconds would correlate within about 2 / sqrt(600) of 0.
    assert np.corrcoef(counts[:-5], counts[5:])[0, 1] > 0.15


def test_more_sources_are_smoother():
    assert dispersion(PacketModel(sources=4)) > 3 * dispersion(PacketModel(sources=400))


def share_of_busiest(model: PacketModel, column: str) -> float:
    counts = pc.value_counts(make_block(model, 0)[column]).field("counts").to_numpy()
    return float(counts.max() / counts.sum())


@pytest.mark.parametrize("column", ["src", "dst"])
def test_hosts_follow_zipf(column):
    # Over 1,000 hosts with exponent 1.1 the first has 1 / sum(k ** -1.1) = 0.18 of the rows.
    expected = 1 / (np.arange(1, 1_001) ** -1.1).sum()
    assert share_of_busiest(PacketModel(), column) == pytest.approx(expected, rel=0.1)
    assert share_of_busiest(PacketModel(zipf=0), column) < 0.01


def test_columns_hold_what_packets_hold():
    batch = make_block(PacketModel(), 0)
    assert batch.schema == SCHEMA
    lengths = batch["length"].to_numpy()
    assert (lengths.min(), lengths.max()) == (40, 1500)
    assert ((lengths > 100) & (lengths < 1400)).mean() < 0.25
    assert not pc.any(pc.equal(batch["src"], batch["dst"])).as_py()


def test_icmp_has_no_port_and_only_tcp_has_flags():
    batch = make_block(PacketModel(), 0)
    assert set(batch["proto"].to_pylist()) == {"TCP", "UDP", "ICMP"}
    assert pc.is_null(batch["port"]).equals(pc.equal(batch["proto"], "ICMP"))
    assert pc.is_valid(batch["flags"]).equals(pc.equal(batch["proto"], "TCP"))


# --- Refusals ---------------------------------------------------------------------------------


def test_options_are_read_by_name():
    model = PacketModel.from_options({"rate": "250", "zipf": "0.9", "rows": "10"})
    assert model == PacketModel(rate=250, zipf=0.9, rows=10)


def test_an_unknown_option_lists_those_there_are():
    with pytest.raises(TidemillError) as caught:
        PacketModel.from_options({"host": "10"})
    assert caught.value.code == "E_SOURCE"
    assert caught.value.problem.hint == "did you mean 'hosts'?"
    assert all(option in caught.value.problem.detail for option in OPTIONS)


@pytest.mark.parametrize(
    ("option", "text"),
    [
        *(("rate", "fast"), ("rate", "1.5"), ("rate", "0"), ("zipf", "steep"), ("zipf", "nan")),
        *(("hosts", "1"), ("shape", "1"), ("rows", "-1"), ("duration_us", "0"), ("seed", "-1")),
    ],
)
def test_a_value_that_describes_no_stream_is_refused(option, text):
    with pytest.raises(TidemillError, match=f"option {option} .* cannot be {text}") as caught:
        PacketModel.from_options({option: text})
    assert caught.value.code == "E_SOURCE"
    assert caught.value.problem.detail


def test_blocks_count_from_zero():
    with pytest.raises(ValueError, match="blocks count from 0"):
        make_block(PacketModel(), -1)
