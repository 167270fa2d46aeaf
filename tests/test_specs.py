"""Recommenders by name: what a spec means, and what is said when it means nothing."""

from __future__ import annotations

import copy
import sys
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from implicit.nearest_neighbours import CosineRecommender

import unskew as us
from unskew.arrays.types import Codes, Floats
from unskew.data.slice import Snapshot
from unskew.errors import InputError, PolicyError, UnskewError
from unskew.recommend import (
    EASE,
    Batch,
    Constant,
    FunctionRecommender,
    ImplicitModel,
    ItemKNN,
    Popular,
    Recommender,
    Table,
    recommender,
)
from unskew.recommend.contract import GradesHeldOut, HeldOutPairs, RanksHeldOut, Traits, traits_of
from unskew.recommend.parameters import convert_parameters, parse_spec
from unskew.recommend.specs import KNOWN, require_allowed, require_shipped
from unskew.testing import AT, ITEMS, all_pairs, batch_of, checkerboard, leave_one_out, without_each


def same(one: Recommender, other: Recommender) -> bool:
    """Whether the two recommend the same."""
    snapshot = checkerboard().at(AT)
    batch = leave_one_out(snapshot)
    return bool((one.fit(snapshot).recommend(batch, 4) == other.fit(snapshot).recommend(batch, 4)).all())


@pytest.mark.parametrize(
    ("spec", "meant"),
    [
        ("popular", Popular()),
        ("popular?exact=false", Popular(exact=False)),
        ("knn", ItemKNN()),
        ("knn?neighbours=3&similarity=jaccard", ItemKNN(3, similarity="jaccard")),
        ("ease?l2=20", EASE(20.0)),
        ("ease?l2=20&max_items=6", EASE(20.0, max_items=6)),
        ("ease?max_items=none", EASE()),
        ("als?factors=3&alpha=2", ImplicitModel("als", factors=3, alpha=2.0)),
        ("bm25?K=5&B=0.5", ImplicitModel("bm25", K=5, B=0.5)),
        ("tfidf", ImplicitModel("tfidf")),
        ("cosine?K=4", ImplicitModel("cosine", K=4)),
        ("constant:i03,i00", Constant(["i03", "i00"])),
        (" popular ", Popular()),
    ],
)
def test_a_spec_means_the_recommender_with_these_parameters(spec: str, meant: Recommender) -> None:
    found = recommender(spec)
    assert isinstance(found, Recommender)
    assert str(found) == spec.strip()
    assert same(found, meant)


def test_every_example_is_a_spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recommendations.csv").write_text("user,item,rank\n1,a,1\n")
    for spec in KNOWN.values():
        assert recommender(spec.replace(".parquet", ".csv"))


def test_ranking_by_itself_stays_possible_under_a_name() -> None:
    snapshot = checkerboard().at(AT)
    pairs = all_pairs(snapshot)
    found = recommender("knn?neighbours=3").fit(snapshot)
    assert isinstance(found, RanksHeldOut)
    assert (found.held_out_ranks(pairs, 4) == ItemKNN(3).fit(snapshot).held_out_ranks(pairs, 4)).all()
    assert not isinstance(recommender("os.path:commonprefix"), RanksHeldOut)


class Everything:
    """All that a recommender may have."""

    traits = Traits(exact=True, external=True, may_recommend_profile=True, files=(Path("lists.csv"),))

    def fit(self, snapshot: Snapshot, /) -> Everything:
        return self

    def recommend(self, profiles: Batch, k: int, /) -> Codes:
        return np.full((len(profiles), k), -1)

    def held_out_ranks(self, pairs: HeldOutPairs, k: int, /) -> Codes:
        return np.ones(len(pairs), dtype=np.int64)

    def grades(self, profiles: Batch, items: Codes, /) -> Floats:
        return items / 2


def test_all_of_the_contract_stays_under_a_name() -> None:
    found = recommender(Everything())
    assert str(found) == "Everything"
    assert isinstance(found, RanksHeldOut)
    assert isinstance(found, GradesHeldOut)
    assert traits_of(found) == Everything.traits
    pairs = all_pairs(checkerboard().at(AT))
    assert (found.held_out_ranks(pairs, 4) == 1).all()
    assert found.grades(without_each(pairs), pairs.item).tolist() == (pairs.item / 2).tolist()
    plain = recommender(Plain())
    assert not isinstance(plain, RanksHeldOut | GradesHeldOut)
    assert traits_of(plain) == Traits()
    for one in (found, plain):
        again: Any = copy.deepcopy(one)
        assert again.recommender is not one.recommender  # type: ignore[attr-defined]
        assert str(again) == str(one)


def test_constants_are_ids_of_the_type_of_the_log() -> None:
    log = us.read_log({"user": [1, 1, 2], "item": [10, 20, 30], "time": [1, 1, 1]}).numbered_by_id
    batch = batch_of(log.at(1), [0], [np.empty(0, dtype=np.int64)])
    found = recommender("constant:30, 10").fit(log.at(1)).recommend(batch, 3)[0]
    assert [log.items[c] for c in found if c >= 0] == [30, 10]
    assert traits_of(recommender("constant:30")).may_recommend_profile
    with pytest.raises(InputError, match="the log has no item 'x'"):
        recommender("constant:30,x").fit(log.at(1))
    with pytest.raises(InputError, match="the log has no item '030'"):
        recommender("constant:30,030").fit(log.at(1))
    with pytest.raises(InputError, match="item '30' is in the list twice"):
        recommender("constant:30,30").fit(log.at(1))


def test_constants_may_have_commas_and_colons_in_their_ids() -> None:
    log = us.read_log({"user": [1, 1, 2], "item": ["a,b", "c:d", "e?f"], "time": [1, 1, 1]}).numbered_by_id
    batch = batch_of(log.at(1), [0], [np.empty(0, dtype=np.int64)])
    found = recommender('constant:"a,b",c:d,e?f').fit(log.at(1)).recommend(batch, 3)[0]
    assert [log.items[c] for c in found] == ["a,b", "c:d", "e?f"]


def test_a_table_is_read_from_a_path(tmp_path: Path) -> None:
    path = tmp_path / "a?b=c.csv"
    path.write_text("user,item,rank\nu00,i00,1\n")
    found = recommender(f"table:{path}")
    assert isinstance(found, Table)
    assert str(found) == f"table:{path}"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("knm", "there is no recommender 'knm'; did you mean 'knn'?"),
        ("svd", "no recommender 'svd'. There are constant:a,b,c, popular, knn.*package.module:Class"),
        ("", "no recommender ''"),
        ("popular:3", "popular takes nothing after a colon: write it as in popular"),
        ("knn:50", r"knn takes nothing after a colon: write it as in knn\?neighbours=50"),
        ("knn?neighbors=50", "no parameter 'neighbors'; did you mean 'neighbours'"),
        ("knn?zzz=50", "knn has no parameter 'zzz'; it has neighbours, similarity, exact"),
        ("knn?neighbours=many", "knn: neighbours=many must be a whole number"),
        ("knn?neighbours=1.5", "knn: neighbours=1.5 must be a whole number"),
        ("knn?neighbours", r"cannot read 'neighbours': write parameters as in knn\?name=value"),
        ("knn?neighbours=1&neighbours=2", "gives 'neighbours' twice"),
        ("knn?similarity=cosin", "must be one of cosine"),
        ("ease?l2=much", "ease: l2=much must be a number"),
        ("ease?max_items=few", "max_items=few must be none or a whole number"),
        ("als?factor=3", "als has no parameter 'factor'; did you mean 'factors'"),
        ("als?use_cg=maybe", "als: use_cg=maybe must be true or false"),
        ("bm25?K=x", "bm25: K=x must be a whole number"),
        ("constant", "must name its items, as in constant:a,b,c"),
        ("constant:", "must name its items"),
        ("constant:a,,b", "must name its items"),
        ("table", "must name a file"),
        ("table:", "must name a file"),
        ("table:/no/such/file.parquet", "/no/such/file.parquet"),
        ("no_such_module_here:Model", "no module 'no_such_module_here', neither installed nor in the current"),
        ("json.no_such_part:Model", "no module 'json.no_such_part'"),
        ("json:JSONEncode", "json' has no 'JSONEncode': check the name; did you mean 'JSONEncoder'"),
        ("json:", "must be written as package.module:Class"),
        (":Model", "must be written as package.module:Class"),
        ("math:pi", "math:pi is a float, which is not a recommender"),
        ("decimal:Decimal", "decimal:Decimal is a class that has no fit and no recommend"),
    ],
)
def test_a_spec_that_means_nothing_says_why(spec: str, message: str) -> None:
    with pytest.raises(UnskewError, match=message):
        recommender(spec)


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """The name of a module in the current directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    name = "own_" + "".join(c if c.isalnum() else "_" for c in request.node.name)
    source = """
from unskew.recommend import Popular

class Model:
    def __init__(
        self, size: int = 3, rate: float = 0.5, *, deep: bool = False, kind: str = "a", top: "int | None" = 1
    ):
        self.given = (size, rate, deep, kind, top)
    def fit(self, snapshot):
        self.popular = Popular().fit(snapshot)
        return self
    def recommend(self, profiles, k):
        return self.popular.recommend(profiles, k)

class Needy(Model):
    def __init__(self, path):
        self.given = path

class Failing(Model):
    def __init__(self):
        raise RuntimeError("the disk is gone")

class Outer:
    Inner = Model

ready = Model(size=9)

def first(profile, k, skip: int = 0, unit="x"):
    rest = [i for i in ("i00", "i01", "i02", "i03") if i not in profile]
    return rest[skip : skip + k]
"""
    (tmp_path / f"{name}.py").write_text(source)
    return name


@pytest.mark.parametrize(
    ("query", "given"),
    [
        ("", (3, 0.5, False, "a", 1)),
        ("?size=7&rate=2&deep=true&kind=7&top=none", (7, 2.0, True, "7", None)),
        ("?deep=0&top=4", (3, 0.5, False, "a", 4)),
        ("?kind=a%26b", (3, 0.5, False, "a&b", 1)),
    ],
)
def test_a_class_of_the_current_directory(module: str, query: str, given: tuple[Any, ...]) -> None:
    found: Any = recommender(f"{module}:Model{query}")
    assert str(found) == f"{module}:Model{query}"
    assert found.given == given
    assert [type(a) for a in found.given] == [type(b) for b in given]
    assert same(found, Popular())


def test_an_object_a_function_and_what_is_inside_a_class(module: str) -> None:
    ready: Any = recommender(f"{module}:ready")
    assert ready.given[0] == 9
    inner: Any = recommender(f"{module}:Outer.Inner?size=2")
    assert inner.given[0] == 2
    function = recommender(f"{module}:first?skip=1")
    assert str(function) == f"{module}:first?skip=1"
    assert same(function, FunctionRecommender(lambda p, k: [i for i in ITEMS[:4] if i not in p][1 : 1 + k]))


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ("Modell", "has no 'Modell': check the name; did you mean 'Model'?"),
        ("Model?sise=3", "no parameter 'sise'; did you mean 'size'"),
        ("Model?rate=x", "rate=x must be a number"),
        ("Model?top=x", "top=x must be none or a whole number"),
        ("Needy", r"needs the parameter 'path', as in .*:Needy\?path="),
        ("Failing", "cannot be made: RuntimeError: the disk is gone"),
        ("ready?size=3", "is an object already: it takes no parameters"),
        ("first?k=3", "no parameter 'k'; it has skip, unit"),
    ],
)
def test_what_is_wrong_with_a_class_of_ones_own(module: str, rest: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        recommender(f"{module}:{rest}")


@pytest.mark.parametrize("methods", ["", "fit = 1", "def recommend(self, profiles, k): pass"])
def test_a_class_that_is_no_recommender_is_refused_before_it_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, methods: str
) -> None:
    monkeypatch.chdir(tmp_path)
    made = f"def __init__(self, path: str = 'created'): open(path, 'w').close()\n    {methods or 'pass'}"
    (tmp_path / "effect.py").write_text(f"class Effect:\n    {made}\n")
    with pytest.raises(InputError, match="is a class that has no fit"):
        recommender("./effect.py:Effect")
    with pytest.raises(InputError, match="is a class that has no fit and no recommend"):
        recommender("subprocess:Popen?args=touch created")
    assert [path.name for path in tmp_path.iterdir()] == ["effect.py"]


def test_a_configuration_names_code_only_where_the_user_allows_it() -> None:
    for spec in ("knn?neighbours=20", "constant:a,b", "table:lists/*.parquet?user=member", "als", " popular "):
        require_allowed(spec, allow_code=False, where="unskew.toml")
    for spec in ("./mine.py:Model", "mine:Model", "subprocess:Popen?args=ls", "constant", "tables:x", "knn:x"):
        with pytest.raises(PolicyError, match=r"^unskew.toml names .* use allow_code=True"):
            require_allowed(spec, allow_code=False, where="unskew.toml")
        require_allowed(spec, allow_code=True, where="unskew.toml")


def test_a_parameter_without_a_type_is_what_it_looks_like(module: str) -> None:
    for text, value in (("3", 3), ("0.5", 0.5), ("true", True), ("none", None), ("a.csv", "a.csv")):
        found: Any = recommender(f"{module}:Needy?path={text}")
        assert found.given == value
        assert type(found.given) is type(value)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "import no_such_module_at_all",
            "was found, but it cannot be imported: No module named 'no_such_module_at_all'",
        ),
        ("1 / 0", "was found, but importing it failed: ZeroDivisionError"),
        ("def f(:", "was found, but importing it failed: SyntaxError"),
    ],
)
def test_a_module_that_fails_says_which_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "broken_module.py").write_text(source)
    with pytest.raises(InputError, match=message):
        recommender("broken_module:Model")


def test_a_file_may_name_what_ships() -> None:
    for spec in ("constant:a,b", " constant:a,b", "constant:x?y:z", "knn", "popular?exact=false", *KNOWN.values()):
        if not spec.startswith("table"):
            require_shipped(spec)


def test_a_file_that_names_a_program_or_a_module_is_refused_and_nothing_runs(tmp_path: Path, module: str) -> None:
    marker = tmp_path / "it_ran"
    (tmp_path / "marking.py").write_text(f"open({str(marker)!r}, 'w').close()")
    for spec in (
        f"subprocess:Popen?args=touch {marker}",
        "marking:Model",
        " marking:Model",
        f"{module}:Model",
        "constant.marking:Model",
        "knn:Model?neighbours=3",
        "popular.x",
        f"table:{marker}",
        "table",
        "svd",
        "",
    ):
        with pytest.raises(InputError) as error:
            require_shipped(spec)
        assert str(error.value).startswith(f"the recommender {spec!r} is not one that unskew ships")
    with pytest.raises(InputError, match="the recommender None is not one that unskew ships"):
        require_shipped(None)  # type: ignore[arg-type]
    assert not marker.exists()
    assert not {"marking", module} & set(sys.modules)


FILE = """
from dataclasses import dataclass

import beside
from unskew.recommend import MatrixModel, Popular

@dataclass
class Model:
    size: int = 3
    def fit(self, snapshot):
        self.popular = Popular().fit(snapshot)
        return self
    def recommend(self, profiles, k):
        return self.popular.recommend(profiles, k)

class Fitted:
    def fit(self, x):
        self.together = x.T @ x
    def predict(self, rows):
        return rows @ self.together

class Wrapped(MatrixModel):
    def __init__(self, batch: int = 2):
        super().__init__(Fitted, batch=batch)

def first(profile, k):
    return [i for i in beside.ITEMS if i not in profile][:k]
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Python file with one beside it that it imports, neither in the current directory."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "beside", raising=False)
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "beside.py").write_text("ITEMS = ['i00', 'i01', 'i02', 'i03']\n")
    (folder / "mine.py").write_text(FILE)
    monkeypatch.chdir(tmp_path)
    return folder / "mine.py"


@pytest.mark.parametrize("form", ["{}", "models/mine.py", "./models/mine.py", "./models/../models/mine.py"])
def test_a_class_in_a_file(file: Path, form: str) -> None:
    spec = f"{form.format(file)}:Model?size=7"
    found: Any = recommender(spec)
    assert str(found) == spec
    assert found.size == 7
    assert same(found, Popular())


def test_a_function_in_a_file_and_what_lies_beside_it(file: Path) -> None:
    found = recommender("models/mine.py:first")
    assert same(found, FunctionRecommender(lambda p, k: [i for i in ITEMS[:4] if i not in p][:k]))


def test_a_model_of_a_matrix_in_a_file(file: Path) -> None:
    found: Any = recommender("models/mine.py:Wrapped?batch=5")
    assert found.batch == 5
    assert same(found, us.MatrixModel(found.model))
    assert isinstance(found, RanksHeldOut)


def test_the_file_counts_among_those_that_a_recommender_was_read_from(file: Path) -> None:
    assert traits_of(recommender("models/mine.py:Model")).files == (file,)
    assert traits_of(recommender("models/mine.py:first")).files == (file,)


def test_a_file_is_run_once_and_again_when_it_has_changed(file: Path) -> None:
    def kind() -> Any:
        found: Any = recommender("models/mine.py:Model")
        return type(found.recommender)

    assert kind() is kind()
    file.write_text(FILE.replace("size: int = 3", "size: int = 4"))
    assert kind()().size == 4


def test_a_file_may_be_called_like_a_library_that_it_imports(file: Path) -> None:
    (file.parent / "implicit.py").write_text(
        "from implicit.nearest_neighbours import CosineRecommender as Model\n"
    )
    assert same(recommender("models/implicit.py:Model"), recommender("cosine"))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("models/mien.py:Model", "there is no file '.*mien.py': check the path; did you mean 'mine.py'?"),
        ("models/none/mine.py:Model", "there is no file '.*none/mine.py': check the path$"),
        ("models/mine.py:Modell", "'mine.py' has no 'Modell': check the name; did you mean 'Model'?"),
        ("models/mine.py", "'models/mine.py' must be written as package.module:Class or ./file.py:Class"),
        ("models/mine.py:", "must be written as"),
        ("models/mine.py:Model?sise=3", "no parameter 'sise'; did you mean 'size'"),
        (
            "models/mine.py:Fitted",
            "is a class that has fit but not recommend: .*wrap it in unskew.Matrix",
        ),
    ],
)
def test_what_is_wrong_with_a_file_or_what_is_in_it(file: Path, spec: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        recommender(spec)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import no_such_module_at_all", "ModuleNotFoundError: No module named 'no_such_module_at_all'"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("def f(:", "SyntaxError: invalid syntax"),
        ("raise SystemExit('usage: mine.py FILE')", "SystemExit: usage: mine.py FILE"),
    ],
)
def test_a_file_that_fails_says_how(file: Path, source: str, message: str) -> None:
    file.write_text(source)
    with pytest.raises(InputError, match=rf"importing the file '.*mine.py' failed: {message}"):
        recommender("models/mine.py:Model")
    assert str(file) not in sys.modules


@pytest.mark.parametrize(
    "spec", ["./mine.py:Model", "/models/mine.py:Model?size=3", "mine.py:Model", "mine:Model"]
)
def test_files_and_modules_are_not_allowed_where_only_what_is_shipped_is(spec: str) -> None:
    with pytest.raises(InputError, match="is not one that unskew ships"):
        require_shipped(spec)


class Plain:
    """A recommender of someone else, without a name of its own."""

    def fit(self, snapshot: Snapshot, /) -> Plain:
        self.popular = Popular().fit(snapshot)
        return self

    def recommend(self, profiles: Batch, k: int, /) -> Codes:
        return self.popular.recommend(profiles, k)


def test_objects_classes_functions_and_models_of_implicit_are_taken_as_they_are() -> None:
    popular = Popular()
    assert recommender(popular) is popular
    assert isinstance(recommender(Popular), Popular)
    found = recommender(Plain())
    assert str(found) == "Plain"
    assert same(found, popular)
    assert same(recommender(Plain), popular)
    assert same(recommender(CosineRecommender(K=4)), recommender("cosine?K=4"))
    assert same(recommender(CosineRecommender), recommender("cosine"))

    def nothing(profile: list[Any], k: int) -> list[Any]:
        return []

    function = recommender(nothing)
    assert isinstance(function, FunctionRecommender)
    assert str(function) == "nothing"


@pytest.mark.parametrize("wrong", [None, 3])
def test_what_is_no_recommender_is_refused(wrong: Any) -> None:
    with pytest.raises(InputError, match="is not a recommender: give an object with fit and recommend"):
        recommender(wrong)


def test_parameters_are_taken_apart() -> None:
    assert parse_spec("a.b:C") == ("a.b:C", {})
    assert parse_spec("knn?a=1&b=x=y") == ("knn", {"a": "1", "b": "x=y"})
    assert parse_spec("knn?") == ("knn", {})
    assert parse_spec("knn?a=") == ("knn", {"a": ""})


def test_parameters_are_typed_by_the_signature() -> None:
    def target(
        kind: Literal["a", "b", 3] = "a",
        size: float | None = None,
        any_of: int | str = 1,
        names: tuple[str, ...] = (),
        **more: Any,
    ) -> None: ...

    def one(**given: str) -> Any:
        return convert_parameters(target, given, "x")

    assert one(kind="3") == {"kind": 3}
    assert one(size="2") == {"size": 2.0}
    assert one(size="") == {"size": None}
    assert one(any_of="2") == {"any_of": 2}
    assert one(any_of="two") == {"any_of": "two"}
    assert one(names="a") == {"names": "a"}
    assert one(other="1e3") == {"other": 1000.0}
    with pytest.raises(InputError, match="x: kind=c must be a or b or 3"):
        one(kind="c")
    with pytest.raises(InputError, match="size=x must be none or a number"):
        one(size="x")
    assert convert_parameters(lambda: None, {}, "x") == {}
    with pytest.raises(InputError, match="x has no parameter 'a'; it has none at all"):
        convert_parameters(lambda: None, {"a": "1"}, "x")


def test_a_file_is_no_recommender_and_the_way_to_name_it_is_said(tmp_path: Path) -> None:
    (tmp_path / "lists.csv").write_text("user,item,rank\n1,2,3\n")
    with pytest.raises(InputError, match=r"is a file, and no recommender: .* write table:.*lists\.csv"):
        recommender(str(tmp_path / "lists.csv"))
