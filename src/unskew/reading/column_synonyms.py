"""What columns are often called: words for a user, an item and what else a log or a table of lists has.

A log never takes a column by such a name but suggests it; a table of lists takes it, and says so.
"""

from __future__ import annotations

_PEOPLE = ("member", "customer", "client", "visitor", "account")
_THINGS = ("product", "article", "movie", "book", "song", "track")

OF_A_LOG = {
    "user": (*_PEOPLE, "uid", "session", "household", "person", "reviewer", "buyer", "subscriber"),
    "item": (
        *_THINGS,
        *("sku", "iid", "skill", "content", "stockcode", "asin", "isbn", "film", "game", "artist", "video"),
        *("recipe", "business", "venue", "hotel", "listing", "course"),
    ),
    "time": ("date", "datetime", "timestamp", "ts", "day", "created", "added", "when", "at"),
    "removed": ("removed", "left", "end", "until", "deleted"),
    "exposed": ("exposed", "exposure", "recommended", "shown", "campaign"),
}
"""Words of which one stands in the name of a column."""

ENDINGS = ("id", "ids", "no", "nr", "num", "number", "code", "key")
"""What may follow such a word without a break: itemid."""

OF_OTHERS = frozenset(
    (
        *(
            "invoice",
            "order",
            "transaction",
            "basket",
            "receipt",
            "event",
            "type",
            "action",
            "behavior",
            "behaviour",
        ),
        *("rating", "score", "stars", "price", "amount", "quantity", "qty", "count", "value", "total", "discount"),
        *(
            "country",
            "city",
            "region",
            "state",
            "age",
            "gender",
            "category",
            "brand",
            "device",
            "channel",
            "store",
        ),
        *("description", "name", "title", "text", "review", "url", "index", "row", "unnamed"),
        *("year", "month", "week", "weekday", "day", "hour", "minute", "second", "date", "time"),
    )
)
"""Words for what is neither a user nor an item: such a column is guessed last."""

OF_A_TABLE = {
    "user": (*(word + end for word in ("user", *_PEOPLE) for end in ("", "id")), "uid"),
    "item": (*(word + end for word in ("item", *_THINGS) for end in ("", "id")), "sku", "iid"),
    "items": ("items", "itemids", "recommendations"),
    "rank": ("rank", "position", "pos", "place"),
    "score": ("score", "prediction"),
    "held_out": ("heldout",),
    "date": ("date", "validfrom", "day"),
}
"""Whole names, in small letters and without what is neither letter nor digit."""
