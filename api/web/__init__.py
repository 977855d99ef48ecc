"""Pages for people: server-rendered, on the same handlers as the API."""

from __future__ import annotations

from api.web.install import install

__all__ = ["install"]
