"""Ids of users and items: a dictionary between the caller's ids and consecutive codes.

Everything above works on codes; this is the one place that knows the type the ids came in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from unskew.errors import InputError, option
from unskew.frames import as_array

_NUMBERS = {"integers", "decimal numbers"}


@dataclass(frozen=True, repr=False)
class Ids:
    """Distinct ids in code order: the id of code c is ``ids[c]``."""

    values: pa.Array  # the ids, without nulls, each once
    # The Arrow type they came in; differs from ``values.type`` only for categoricals, which are kept as plain
    # values and turned back on the way out.
    type: pa.DataType

    @classmethod
    def of(cls, values: pa.Array) -> Ids:
        """Take ids as they are; a categorical is unpacked and its type remembered."""
        kind = values.type
        if pa.types.is_dictionary(kind):
            values = values.dictionary_decode()
        return cls(values, kind)

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.to_list())

    def __getitem__(self, code: int) -> Any:
        return self.values[int(code)].as_py()

    def __repr__(self) -> str:
        return f"Ids({len(self)} {self.values.type}: {self.examples()})"

    def to_list(self) -> list[Any]:
        """The ids as Python values, in code order."""
        return list(self.values.to_pylist())

    def take(self, codes: npt.ArrayLike) -> pa.Array:
        """The ids of these codes, in the type they came in."""
        return self._restore_categorical(self.values.take(pa.array(np.asarray(codes, dtype=np.int64))))

    def column(self) -> pa.Array:
        """All ids in the type they came in, for a table."""
        return self._restore_categorical(self.values)

    def codes(self, wanted: Iterable[Any] | pa.Array | pa.ChunkedArray) -> npt.NDArray[np.int64]:
        """The codes of `wanted` ids, -1 for an id that is not here."""
        values = _as_array(wanted)
        if not are_comparable(values.type, self.values.type):
            return np.full(len(values), -1, dtype=np.int64)
        try:
            values = values.cast(self.values.type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # what does not fit cannot be one of ours
            values = _cast_one_by_one(values, self.values.type)
        places = pc.index_in(values, value_set=self.values)
        return np.asarray(places.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)

    def match(self, wanted: Iterable[Any] | pa.Array | pa.ChunkedArray) -> npt.NDArray[np.int64]:
        """The codes of ids of another table, which may have them in another type; -1 for an id that is not here.

        17511, 17511.0, "17511" and "17511.0" are the same id, unless both "17511" and "17511.0" are here.
        "017511" is another.

        >>> Ids.of(pa.array([17511, 17512])).match(["17512.0", " 17511", "017511", "x"]).tolist()
        [1, 0, -1, -1]
        >>> Ids.of(pa.array(["17511", "guest"])).match([17511.0]).tolist()
        [0]
        """
        values = _as_array(wanted)
        codes = self.codes(values)
        kinds = {kind_of(values.type), kind_of(self.values.type)}
        if (codes >= 0).all() or kinds <= _NUMBERS or not kinds <= {"text", *_NUMBERS}:
            return codes
        places = pc.index_in(_write_ids(values), value_set=_write_ids(self.values))
        return np.where(codes >= 0, codes, places.fill_null(-1).to_numpy(zero_copy_only=False))

    def require_codes(self, wanted: Iterable[Any] | pa.Array, what: str) -> npt.NDArray[np.int64]:
        """The codes of items that must be here; `what` says in an error who asks for them."""
        if isinstance(wanted, str | bytes) or not isinstance(wanted, Iterable):
            raise InputError(f"{what}: {wanted!r} is not a list of items", remedy="put it into one")
        listed = wanted if isinstance(wanted, pa.Array) else list(wanted)
        codes = self.codes(listed)
        if (codes < 0).any():
            first = int(np.argmax(codes < 0))
            missing = listed[first].as_py() if isinstance(listed, pa.Array) else listed[first]
            raise InputError(
                f"{what}: the log has no item {missing!r} (it has {self.examples()})", remedy="check the ids"
            )
        return codes

    def order(self) -> npt.NDArray[np.int64]:
        """The codes, sorted by id."""
        return self._order

    @cached_property
    def _order(self) -> npt.NDArray[np.int64]:
        return np.asarray(pc.sort_indices(self.values), dtype=np.int64)

    def examples(self, n: int = 3) -> str:
        """The first few ids, for a message."""
        shown = ", ".join(repr(v) for v in self.values.slice(0, n).to_pylist())
        return shown + (", ..." if len(self) > n else "")

    def _restore_categorical(self, values: pa.Array) -> pa.Array:
        return values.dictionary_encode() if pa.types.is_dictionary(self.type) else values


def kind_of(type_: pa.DataType) -> str:
    """What a person calls this type of id."""
    if pa.types.is_integer(type_):
        return "integers"
    if pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_string_view(type_):
        return "text"
    if pa.types.is_floating(type_) or pa.types.is_decimal(type_):
        return "decimal numbers"
    return str(type_)


def require_codes_of_mapping(
    ids: Ids, mapping: Mapping[Any, float], what: str
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Codes and numbers of a mapping from id to number; unknown ids have code -1."""
    try:
        numbers = np.array([float(v) for v in mapping.values()], dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{what} must map ids to numbers: {error}") from None
    return ids.codes(list(mapping)), numbers


def log_weights_by_id(ids: Ids, weights: Mapping[Any, float]) -> npt.NDArray[np.float64]:
    """Weights by item id as log-weights of all items: 0 for one that is not named, -inf where the weight is 0."""
    codes, values = require_codes_of_mapping(ids, weights, option("weights"))
    for item, code, value in zip(weights, codes, values, strict=True):
        if code < 0:
            raise InputError(
                f"{option('weights')}: the log has no item {item!r} (it has {ids.examples()})",
                remedy="leave it out",
            )
        if not (np.isfinite(value) and value >= 0):
            raise InputError(f"the weight of item {item!r} is {value}, but must be finite and not negative")
    theta = np.zeros(len(ids))
    with np.errstate(divide="ignore"):
        theta[codes] = np.log(values)
    return theta


def _as_array(wanted: Iterable[Any] | pa.Array | pa.ChunkedArray) -> pa.Array:
    if isinstance(wanted, pa.ChunkedArray):
        wanted = wanted.combine_chunks()
    if not isinstance(wanted, pa.Array):
        if isinstance(wanted, str | bytes) or not isinstance(wanted, Iterable):
            raise InputError(f"{wanted!r} is not a list of ids", remedy="put it into one")
        listed = wanted if isinstance(wanted, np.ndarray) else list(wanted)
        try:
            wanted = as_array(listed)
        except OverflowError:  # beyond 64 bits, which no id is
            wanted = pa.array([None if isinstance(v, int) and not -(2**63) <= v < 2**63 else v for v in listed])
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
            raise InputError(f"ids of several types in one list: {error}", remedy="give ids of one type") from None
    if pa.types.is_dictionary(wanted.type):
        wanted = wanted.dictionary_decode()
    return wanted


def are_comparable(first: pa.DataType, second: pa.DataType) -> bool:
    """Whether ids of these types can be the same; text is never the same as a number, 1 and 1.0 are."""
    if pa.types.is_null(first):
        return True
    return kind_of(first) == kind_of(second) or {kind_of(first), kind_of(second)} == _NUMBERS


def _write_ids(values: pa.Array) -> pa.Array:
    """Ids as texts, whole numbers without decimals and spaces: 17511 for 17511.0, "17511.0" and " 17511"."""
    if kind_of(values.type) == "decimal numbers":
        numbers = [
            int(value) if value is not None and value == value // 1 else value for value in values.to_pylist()
        ]
        return pa.array([None if number is None else str(number) for number in numbers], type=pa.string())
    texts = values.cast(pa.string())
    return pc.replace_substring_regex(texts, pattern=r"^\s*(0|-?[1-9][0-9]*)(\.0+)?\s*$", replacement=r"\1")


def _cast_one_by_one(values: pa.Array, type_: pa.DataType) -> pa.Array:
    def fit(value: Any) -> Any:
        whole = int(value) if isinstance(value, float) and value.is_integer() else value
        try:
            fitted = pa.scalar(whole, type=type_).as_py()
        except (pa.ArrowException, OverflowError):
            return None
        return fitted if fitted == value else None

    return pa.array([fit(v) for v in values.to_pylist()], type=type_)
