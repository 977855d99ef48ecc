"""Items to choose from: by pack, topic, language and words, all at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import Depends, Query

from api.routes import items as item_routes
from api.web.i18n import LANGUAGES
from api.web.page import Ctx
from grader.packs import covers

#: Stands for the items that belong to no pack.
OWN = "-"


def all_items(ctx: Ctx) -> list[dict[str, Any]]:
    """Every item that the person may see, with ``pack``: its pack's id, or `OWN`."""
    packs = {slug: cover.manifest.id for cover in covers() for slug in cover.items}
    found: list[dict[str, Any]] = []
    cursor = None
    while True:
        page = ctx.call(item_routes.list_items, ctx.me, ctx.svc, cursor=cursor, limit=500)
        found += [{**one, "pack": packs.get(one["id"], OWN)} for one in page["data"]]
        cursor = page["next"]
        if cursor is None:
            return found


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody looks for; an empty text asks for nothing.

    Attributes:
        pack: A pack's id, or `OWN`.
        tag: A topic.
        language: Language of the items.
        q: Words of the question, or an item's id.
    """

    pack: str = ""
    tag: str = ""
    language: str = ""
    q: str = ""

    def fits(self, item: Mapping[str, Any]) -> bool:
        """Whether an item is looked for."""
        needle = self.q.casefold().strip()
        return (
            self.pack in ("", item["pack"])
            and (not self.tag or self.tag in item["tags"])
            and self.language in ("", item["language"])
            and (needle in item["prompt"].casefold() or needle in item["id"])
        )

    def query(self, **changes: str) -> str:
        """The wish with changes as the query of an address, with its question mark; empty if nothing is wished."""
        values = {one.name: changes.get(one.name, getattr(self, one.name)) for one in fields(self)}
        text = urlencode({name: value for name, value in values.items() if value})
        return f"?{text}" if text else ""


@dataclass(frozen=True, slots=True)
class Option:
    """One thing to choose: its value, what it is called, how many items it has, and the wish that chooses it."""

    value: str
    name: str
    count: int
    query: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """Items that fit a wish, and what else could be wished.

    Attributes:
        wish: The wish.
        items: What fits, items in the reader's language first.
        total: Number of items there are.
        packs: Packs, the items of no pack last; empty where there is nothing to choose.
        tags: Topics of the pack and language that are chosen, the most frequent first.
        languages: Languages of the pack that is chosen; empty where there is nothing to choose.
    """

    wish: Wish
    items: Sequence[Mapping[str, Any]]
    total: int
    packs: Sequence[Option] = field(default=())
    tags: Sequence[Option] = field(default=())
    languages: Sequence[Option] = field(default=())


def wish(
    pack: Annotated[str, Query(max_length=80)] = "",
    tag: Annotated[str, Query(max_length=80)] = "",
    language: Annotated[str, Query(max_length=2)] = "",
    q: Annotated[str, Query(max_length=100)] = "",
) -> Wish:
    """The wish of an address."""
    return Wish(pack, tag, language, q)


Wished = Annotated[Wish, Depends(wish)]


def choice(ctx: Ctx, found: Sequence[Mapping[str, Any]], wished: Wish) -> Choice:
    """What fits a wish, and what else there is to choose."""
    in_pack = [one for one in found if wished.pack in ("", one["pack"])]
    in_language = [one for one in in_pack if wished.language in ("", one["language"])]
    shown = sorted((one for one in found if wished.fits(one)), key=lambda one: one["language"] != ctx.lang)
    return Choice(
        wish=wished,
        items=shown,
        total=len(found),
        packs=_packs(ctx, found, wished),
        tags=_tags(in_language, wished),
        languages=_languages(in_pack, wished),
    )


def _kept(wished: Wish, among: Sequence[Mapping[str, Any]], **changes: str) -> str:
    """The changed wish; topic and language are kept only where items are left."""
    tag = wished.tag if any(wished.tag in one["tags"] for one in among) else ""
    language = wished.language if any(one["language"] == wished.language for one in among) else ""
    return wished.query(**{"tag": tag, "language": language, **changes})


def _packs(ctx: Ctx, found: Sequence[Mapping[str, Any]], wished: Wish) -> list[Option]:
    named = {cover.manifest.id: (cover.manifest.title, cover.manifest.language) for cover in covers()}
    counts = Counter(one["pack"] for one in found)
    if len(counts) < 2:
        return []
    made = []
    for pack in sorted(counts, key=lambda one: (one == OWN, named.get(one, ("", ""))[0].casefold())):
        title, language = named.get(pack, (ctx.t("Own questions"), ""))
        among = [one for one in found if one["pack"] == pack]
        made.append(Option(pack, title, counts[pack], _kept(wished, among, pack=pack), language))
    return made


def _tags(found: Sequence[Mapping[str, Any]], wished: Wish) -> list[Option]:
    counts = Counter(tag for one in found for tag in one["tags"])
    ordered = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return [Option(tag, tag.replace("-", " "), count, wished.query(tag=tag)) for tag, count in ordered]


def _languages(found: Sequence[Mapping[str, Any]], wished: Wish) -> list[Option]:
    counts = Counter(one["language"] for one in found)
    if len(counts) < 2:
        return []
    made = []
    for code in sorted(counts):
        among = [one for one in found if one["language"] == code]
        query = _kept(wished, among, language=code)
        made.append(Option(code, LANGUAGES.get(code, code), counts[code], query, code))
    return made
