"""Random command lines, made from what commands themselves say about their options, so that a new one joins."""

from __future__ import annotations

from random import Random

import click

from unskew.cli import main

FILES = {
    "LOG": ("log.parquet", "log.csv", "log.jsonl", "log.arrow", "saved.arrow"),
    "exposures": ("exposures.csv",),
    "holdout": ("holdout.csv",),
    "names": ("names.csv",),
    "weights": ("weights.parquet",),
    "reference": ("marginal.parquet", "40", "50"),
    "base": ("log.parquet",),
    "world": ("world",),
}
"""What is in the folder in which the commands run, by the option that takes it."""

_WRITTEN = ("out.parquet", "out.csv", "out.html", "out.svg", "out", "folder/out.parquet")
_ODD_PATHS = (
    *(
        "",
        ".",
        "/",
        "missing.parquet",
        "log.parquet",
        "empty.csv",
        "random.parquet",
        "world",
        "/dev/null",
        "/dev/full",
    ),
    *("a\nb.parquet", "x" * 300, "\x1b[31m.csv", "*.parquet", "[", "log.parquet/x", "loop", "~", "-", "out.xyz"),
)
_SANE = {
    "COLUMN": ("user", "item", "time", "price", "kind"),
    "T": ("50", "90", "40", "-20"),
    "T0": ("40", "50"),
    "A": ("40",),
    "B": ("80",),
    "STEP": ("20", "25"),
    "SPEC": ("popular", "knn", "constant:1,2", "ease?l2=50", "knn?neighbours=3", "table:lists.parquet", "auto"),
    "NAME": ("hit@5", "mrr@10", "ndcg@3", "rbp@5", "user-recall@3", "rank<=1,5", "item weights", "organic"),
    "HOW": ("uniform", "recency:30", "price"),
    "START:END": ("40:60", "50:", "30/45"),
    "KIND:NAME": ("column:kind", "agreement:popular"),
    "A,B,...": ("1,2", "0"),
    "SHARE": ("0.1", "1"),
    "TOL": ("0.01", "1e-6"),
}
_NUMBERS = ("1", "2", "5", "20")
_ODD_NUMBERS = (
    *(
        "0",
        "-1",
        "1.5",
        "nan",
        "inf",
        "-inf",
        "1e400",
        "",
        " ",
        "9223372036854775807",
        "9223372036854775808",
        "²",
        "0x1",
    ),
    *("1e-320", "99999999999999999999", "1_000", "true", "-0"),
)
_ODD_TEXTS = (
    *(
        "",
        " ",
        "nan",
        "-1",
        "0",
        "None",
        "a\nb",
        "\x1b[31m",
        "é",
        "a" * 5000,
        "2024-02-30",
        "99999999999999999999",
    ),
    *(
        "9" * 400,
        ":",
        "::",
        "?",
        "a?b",
        "hit@0",
        "hit@-1",
        "hit@99999999999999999999",
        "popular?x=1",
        "knn?neighbours=0",
    ),
    *(
        "constant:",
        "table:missing.parquet",
        "table:names.csv",
        "os:getcwd",
        "recency:",
        "recency:-1",
        "recency:nan",
    ),
    *("90:40", "40:60:80", "column:", "column:nothing", "agreement:", "1d", "-1d", "1e9", "٣", "\udcff"),
)
_SMALL = {
    "users": "60",
    "items": "30",
    "seeds": "1",
    "truth_seeds": "1",
    "methods": "item weights",
    "every": "100",
}
"""What is always said to commands that would otherwise work for minutes."""

_NEVER_DONE = {"reproduce": ["--world", "nowhere"]}
"""What is said to commands that take half a minute even so: they are to refuse it, whatever else they are told."""

_SIZED = ("simulate", "yardstick")


def draw_command_line(rng: Random) -> list[str]:
    """A command with some of its options, most of them sane."""
    name = rng.choice(sorted(main.commands))
    command = main.commands[name]
    params = [param for param in command.params if param.name not in ("help", "help_all", "debug")]
    others = [param for param in params if not _is_needed(name, param)]
    more = rng.sample(others, min(len(others), rng.choice((0, 1, 1, 2, 3, 5))))
    chosen = [param for param in params if _is_needed(name, param) or param in more]
    odd = {rng.randrange(len(chosen))} if rng.random() < 0.5 else set()
    arguments = [name, *_NEVER_DONE.get(name, [])]
    for k, param in enumerate(chosen):
        if param.required and rng.random() < 0.02:
            continue
        for _ in range(rng.choice((1, 1, 2)) if getattr(param, "multiple", False) else 1):
            arguments += _write(param, name, rng, k in odd)
    return arguments


def _is_needed(command: str, param: click.Parameter) -> bool:
    is_date = param.name in ("reference", "at") and command not in _SIZED
    return param.required or isinstance(param, click.Argument) or is_date or _is_sized(command, param)


def _is_sized(command: str, param: click.Parameter) -> bool:
    return command in _SIZED and param.name in (*_SMALL, "recommenders")


def _write(param: click.Parameter, command: str, rng: Random, odd: bool) -> list[str]:
    if isinstance(param, click.Option) and param.is_flag:
        return [rng.choice(param.opts)]
    value = _draw(param, command, rng, odd)
    if isinstance(param, click.Argument):
        return ["--", value] if value.startswith("-") else [value]
    flag = rng.choice(param.opts)
    return (
        [f"{flag}={value}"]
        if flag.startswith("--") and (value.startswith("-") or rng.random() < 0.5)
        else [flag, value]
    )


def _draw(param: click.Parameter, command: str, rng: Random, odd: bool) -> str:
    kind, name = str(param.metavar or ""), str(param.name)
    if isinstance(param.type, click.Choice):
        return rng.choice(_ODD_TEXTS) if odd else str(rng.choice(list(param.type.choices)))
    if isinstance(param.type, click.Path):
        return rng.choice(_ODD_PATHS) if odd else _draw_path(name, kind, command, rng)
    if param.type.name in ("integer", "float"):
        sane = (_SMALL[name],) if _is_sized(command, param) else _NUMBERS
        return rng.choice(_ODD_NUMBERS if odd else sane)
    if name in ("user", "item", "time") and not odd:
        return name
    if odd:
        return rng.choice((*_ODD_TEXTS, *_ODD_NUMBERS))
    if _is_sized(command, param):
        return _SMALL.get(name, "popular")
    return rng.choice(_SANE.get(kind, _ODD_TEXTS))


def _draw_path(name: str, kind: str, command: str, rng: Random) -> str:
    if kind.startswith("[WORLD"):
        return rng.choice(("quiet", "world"))
    if kind == "DIR" and name != "world":
        return rng.choice(("out", "folder", "world"))
    for known, files in FILES.items():
        if known in (name, kind.rstrip(".")):
            return rng.choice(files)
    return rng.choice(_WRITTEN)
