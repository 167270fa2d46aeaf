"""One step on a log of some size, in a process of its own: reading, opening, fitting or evaluating."""

from __future__ import annotations

from typing import Any

import unskew as us
from benchmarks.frame.worker_side import serve
from benchmarks.speed.reading_job import REFERENCE

_kept: dict[str, Any] = {}


def do(request: dict[str, str]) -> Any:
    """Do a step, get ready for one, or tell what the log holds and whether its weights are as they should be."""
    step, source, saved = request["step"], request["source"], request["saved"]
    if request["do"] == "prepare":
        _take(step, request["example"], request["saved_example"])
        _kept.clear()
        if step in ("fit", "evaluate"):
            _kept["log"] = us.Log.load(saved)
        return None
    if request["do"] == "save":
        us.read_log(source).save(saved)
        return None
    if request["do"] == "tell":
        weights = _kept.get("weights")
        return {"pairs": len(_kept["log"]), "fitted": weights is None or weights.status in ("solved", "certified")}
    return _take(step, source, saved)


def _take(step: str, source: str, saved: str) -> None:
    if step == "read":
        _kept["log"] = us.read_log(source)
    elif step == "open":
        _kept["log"] = us.Log.load(saved)
    else:
        log = _kept.get("log") or us.Log.load(saved)
        now = log.at(log.last)
        if step == "fit":
            _kept["weights"] = us.fit_weights(now, log.at(REFERENCE))
        else:
            _kept["score"] = us.evaluate("popular", now)


if __name__ == "__main__":
    serve(do)
