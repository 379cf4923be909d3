"""Tables read in batches: the same rows, from any batch on."""

from __future__ import annotations

import io

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from separatrix.files.chunks import HASHED_BYTES
from separatrix.files.tables import iter_batches, read_table
from tests.files.streamed import table_bytes


def test_batches_are_the_table_whatever_is_quoted():
    for quoted in (False, True):
        content = table_bytes(quoted=quoted)
        options = {"target": "kind", "ignore": ["remark"] if quoted else []}
        whole = read_table(io.BytesIO(content), **options)
        batches = list(iter_batches(io.BytesIO(content), batch_size=10, **options))
        assert_array_equal(np.vstack([b.X for b in batches]), whole.X)
        assert_array_equal(np.concatenate([b.y for b in batches]), whole.y)
        assert batches[-1].end == len(content)


@pytest.mark.parametrize("quoted", [False, True])
def test_a_stream_goes_on_from_every_batch(quoted):
    content = table_bytes(quoted=quoted)
    options = {"target": "kind", "ignore": ["remark"] if quoted else [], "batch_size": 7}
    batches = list(iter_batches(io.BytesIO(content), **options))
    for i, batch in enumerate(batches):
        rest = list(iter_batches(io.BytesIO(content), **options, start=batch.end))
        assert [b.end for b in rest] == [b.end for b in batches[i + 1 :]]
        for a, b in zip(rest, batches[i + 1 :], strict=True):
            assert_array_equal(a.X, b.X)


def test_line_ends_and_marks_of_other_systems_are_taken():
    content = b"\xef\xbb\xbfa,kind\r\n1,x\r\n2,y\r\n"
    (batch,) = iter_batches(io.BytesIO(content))
    assert batch.X.columns.tolist() == ["a"]
    assert batch.y.tolist() == ["x", "y"]
    assert read_table(io.BytesIO(content)).X.columns.tolist() == ["a"]


def test_another_stream_is_not_taken_for_the_old_one():
    content = table_bytes(4000)
    assert len(content) > 2 * HASHED_BYTES
    last = list(iter_batches(io.BytesIO(content)))[-2]
    other = content.replace(b"up", b"UP", 1)
    head = last.head
    assert list(iter_batches(io.BytesIO(content), start=last.end, head=head))
    with pytest.raises(ValueError, match="not the rows that were learned before"):
        list(iter_batches(io.BytesIO(other), start=last.end, head=head))
    with pytest.raises(ValueError, match="shorter than the part that was learned"):
        list(iter_batches(io.BytesIO(content[: HASHED_BYTES + 5]), start=last.end, head=head))


def test_a_line_that_was_cut_in_the_middle_is_noticed():
    content = b"a,kind\n1,x\n2,y\n3.25,x"
    (batch,) = iter_batches(io.BytesIO(content))
    assert list(iter_batches(io.BytesIO(content), start=batch.end)) == []
    (more,) = iter_batches(io.BytesIO(content + b"\n4,y\n"), start=batch.end)
    assert more.X["a"].tolist() == [4]
    with pytest.raises(ValueError, match="was not complete then"):
        list(iter_batches(io.BytesIO(content + b"yz\n4,y\n"), start=batch.end))


@pytest.mark.parametrize("batch_size", [1, 2, 5])
def test_the_first_row_of_a_stream_without_names_is_a_row(batch_size):
    content = b"1,x\n2,y\n3,x\n"
    options = {"batch_size": batch_size, "header": False}
    batches = list(iter_batches(io.BytesIO(content), **options))
    assert [v for b in batches for v in b.X["x0"]] == [1, 2, 3]
    assert batches[-1].end == len(content)
    for i, batch in enumerate(batches):
        rest = list(iter_batches(io.BytesIO(content), **options, start=batch.end))
        assert [b.y.tolist() for b in rest] == [b.y.tolist() for b in batches[i + 1 :]]
