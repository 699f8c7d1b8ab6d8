"""What people change from the console; every change is an entry of the decision log.

An entry says who, what, why, and how it was before and after.
"""

import uuid
from datetime import UTC, datetime
from typing import Any

from realloc.base.errors import ConfigError, ReallocError
from realloc.console.roles import ADMIN, Member
from realloc.console.screen import Visit
from realloc.console.source import ConsoleSource
from realloc.storage.ledger.entry import Entry

FORBIDDEN = 403
MOST_COMMENT = 500  # characters


class NotAllowed(ReallocError):
    """Raised for a change that needs another role."""


def need_role(member: Member, role: str) -> None:
    """Refuse a change by somebody who may only look."""
    if not member.may(role):
        raise NotAllowed(
            f"Expected the role {role} for this, got {member.role}. Start the console with "
            f"`--role {role} --token-file …` and log in with a token of that role."
        )


def note(
    source: ConsoleSource,
    kind: str,
    member: Member,
    *,
    what: str,
    why: str,
    before: Any,
    after: Any,
    run: str = "",
) -> Entry:
    """Add an entry to the decision log that says who changed what."""
    now = datetime.now(UTC)
    identity = f"{kind}-{now:%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:8]}"
    entry = Entry(
        run=identity,
        kind=kind,
        made=now.isoformat(timespec="seconds"),
        version=source.freshness().version,
        model=None,
        schema={},
        settings={},
        source={
            "who": member.name,
            "role": member.role,
            "what": what,
            "why": why,
            "of_run": run,
            "before": before,
            "after": after,
        },
    )
    return source.ledger.append(entry, [])


def read_reason(visit: Visit) -> str:
    """Why somebody changes something; one line."""
    text = " ".join(visit.text("comment").split())[:MOST_COMMENT]
    if not text:
        raise ConfigError("Expected a reason for this change, got none. Write one.")
    return text


def roll_back(visit: Visit) -> str:
    """Make a version with the model of an earlier one."""
    need_role(visit.member, ADMIN)
    reason = read_reason(visit)
    text = visit.text("to")
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise ConfigError(f"Expected the number of a version, got {text[:20]!r}.")
    before = visit.source.freshness().version
    restored = visit.source.store.rollback(int(text))
    note(
        visit.source,
        "rollback",
        visit.member,
        what=f"version {restored.number} repeats the model of version {text}",
        why=reason,
        before={"version": before},
        after={"version": restored.number, "restores": restored.restores},
    )
    return "/versions"
