"""The name of a file or a folder on the command line."""

from __future__ import annotations

from typing import Any

import click

from unskew.errors import InputError


class _FileName(click.Path):
    """A name, for tab completion; whether it can be used is said where it is opened."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "" and isinstance(param, click.Option):  # which would be the folder that one is in
            raise InputError(f"{max(param.opts, key=len)} is empty", remedy="is a shell variable unset?")
        return super().convert(value, param, ctx)


FILE = _FileName(readable=False)
