"""The hash in the ids of terms that are not inline."""

from __future__ import annotations

from typing import Any


def test_the_hash_depends_on_every_byte_kind_and_salt(spark: Any) -> None:
    codec = spark._jvm.org.apache.spark.sql.cqels.terms.TermCodec
    base = bytes(range(40))
    ids = {codec.hashId(1, bytearray(base), 0, 58), codec.hashId(2, bytearray(base), 0, 58)}
    ids.add(codec.hashId(1, bytearray(base), 1, 58))
    for length in range(40):
        ids.add(codec.hashId(1, bytearray(base[:length]), 0, 58))
        ids.add(codec.hashId(1, bytearray(base[:length] + b"\xff" + base[length + 1 :]), 0, 58))
    assert len(ids) == 83
    assert codec.hashId(1, bytearray(base), 0, 8) & ((1 << 58) - 1) < 256
