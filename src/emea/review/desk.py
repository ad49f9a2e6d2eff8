"""Where people sit and decide: what the page asks for and sends, checked, and what it is told."""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, Any

from emea.errors import InputError
from emea.review.board import WANTED, Board
from emea.review.bulk import Choice
from emea.review.cards import Reviewed, give_back
from emea.review.decision import Decision
from emea.review.decisions import Decisions
from emea.review.running import NextRun
from emea.verdicts import DATABASE, NONE, YES

if TYPE_CHECKING:
    from pathlib import Path

    from emea.evidence.prepared import Prepared
    from emea.runs.explaining import Explainer

Body = dict[str, Any]
LONGEST = {"key": 100, "source": 10_000, "target": 10_000, "comment": 5_000, "queue": 100, "value": 1_000}  # characters
MOST = 1_000  # sources to skip
RELATIONS = 100  # shown to choose from
HEAD_START = 2.0  # seconds for the page and its first card before anything large is read


class ChangedError(InputError):
    """Others have decided something since that this does not agree with."""


class Desk:
    """The run, the decisions on it and its cards."""

    def __init__(self, folder: Path, people: list[str]) -> None:
        self.folder, self.people = folder, people
        self.reviewed = Reviewed.open(folder)
        self.decisions = Decisions.open(folder / DATABASE)
        self.board = Board(self.reviewed, self.decisions)
        self.next_run = NextRun(folder)
        self._opened = threading.Event()
        self._deciding = threading.Lock()  # what is checked must hold until it is stored

    def load(self, prepared: Prepared | None = None, explainer: Explainer | None = None) -> None:
        """Read what takes long, in a thread."""

        def work() -> None:
            if prepared is None:
                self._opened.wait(HEAD_START)
            self.reviewed.load(prepared, explainer)
            self.board.rebuild()
            give_back()

        threading.Thread(target=work, daemon=True).start()

    def close(self) -> None:
        """Nothing more will be decided."""
        self.next_run.stop()
        self.decisions.close()

    def state(self, who: str) -> Body:
        """All that the page shows besides the card; to ask for it keeps the cards that are open."""
        self.board.renew(who)
        reviewed, counts = self.reviewed, self.decisions.counts()
        entities = reviewed.entities
        relations = [] if entities is None else entities[0].relations[:RELATIONS]
        done = {each["who"]: each["decided"] for each in counts["people"]}
        return {
            "run": self.folder.resolve().name,
            "graphs": list(reviewed.run.graphs),
            "who": who,
            "total": len(reviewed),
            "decided": counts["decided"],
            "by_verdict": counts["by_verdict"],
            "queues": self.board.queues(),
            "types": self.board.types(),
            "relations": [{"name": name, "count": count} for name, count in relations],
            "threshold": reviewed.run.settings.get("matching", {}).get("minimum"),
            "people": [{"who": name, "decided": done.get(name, 0)} for name in dict.fromkeys([*self.people, *done])],
            "can_run": bool({"source", "data", "example"} & set(reviewed.run.about)),
            "running": self.next_run.running,
            "loading": not reviewed.ready.is_set(),
            "notes": list(reviewed.notes),
        }

    def next(self, who: str, body: Body) -> Body:
        """The next card of a queue."""
        queue, given, skip = _text(body, "queue"), body.get("filter") or {}, body.get("skip") or []
        if not isinstance(given, dict):
            raise InputError(f"found the filter {given!r}, expected an object")
        if not isinstance(skip, list) or len(skip) > MOST or not all(isinstance(each, str) for each in skip):
            raise InputError(f"found another list of sources to skip, expected at most {MOST:,} names")
        value = _text({"value": given.get(WANTED.get(queue, ""))}, "value", needed=False)
        source = self.board.next(who, queue, value, skip)
        self._opened.set()
        if source is None:
            return {"done": True, "why": "No undecided card is left in this queue that nobody else has open."}
        return self._card(source)

    def card(self, who: str, body: Body) -> Body:  # noqa: ARG002 - as all of these
        """One card, decided or not."""
        source = _text(body, "source")
        if source not in self.reviewed.number:
            raise InputError(f"found the source '{source}', expected one that can be decided")
        return self._card(source)

    def decide(self, who: str, body: Body) -> Body:
        """Store a decision."""
        key = _text(body, "key")
        decision = self._decision(body)
        with self._deciding:
            if self.decisions.stored(key) is None and decision.verdict == YES and self.reviewed.exclusive:
                others = [each for each in self.decisions.confirmed(decision.target) if each != decision.source]
                if others:
                    fix = "expected a target with one source at most; decide that one again first"
                    raise ChangedError(f"found '{decision.target}' confirmed for '{others[0]}', {fix}")
            step = self.decisions.add([decision], key, who)
        return {"step": step, "counts": self.decisions.counts()}

    def undo(self, who: str, body: Body) -> Body:
        """Take back a person's last step."""
        step = self.decisions.undo(who, _text(body, "key"))
        if step is None:
            return {"nothing": True}
        told = [{"source": e.source, "target": e.target, "verdict": e.verdict} for e in self.decisions.of_step(step)]
        return {"step": step, "undone": told, "counts": self.decisions.counts()}

    def preview(self, who: str, body: Body) -> Body:  # noqa: ARG002
        """What accepting many would accept."""
        return Choice(self.board, body.get("filter")).preview()

    def bulk(self, who: str, body: Body) -> Body:
        """Accept many, if they are those that were shown."""
        key = _text(body, "key")
        with self._deciding:
            step = self.decisions.stored(key)
            if step is None:
                choice = Choice(self.board, body.get("filter"))
                if not choice.cards:
                    raise InputError("found no undecided link that matches, expected at least one")
                if body.get("fingerprint") != choice.fingerprint:
                    raise ChangedError("found other links than those of the preview, expected the same; look again")
                step = self.decisions.add(choice.decisions(), key, who)
        return {"step": step, "count": len(self.decisions.of_step(step))}

    def run(self, who: str, body: Body) -> Body:  # noqa: ARG002
        """Start the next run."""
        self.next_run.start()
        return self.next_run.told()

    def search(self, text: str, side: str) -> list[dict[str, str]]:
        """Entities by name or label."""
        if side not in {"source", "target"}:
            raise InputError(f"found the side '{side}', expected source or target")
        return self.reviewed.search(_text({"value": text}, "value", needed=False), int(side == "target"))

    def _card(self, source: str) -> Body:
        found = self.reviewed.card(source, self.board.looked_at(source), self.board.sampled(source))
        assert found is not None
        return found

    def _decision(self, body: Body) -> Decision:
        source, verdict = _text(body, "source"), _text(body, "verdict")
        target = "" if verdict == NONE else _text(body, "target", needed=False)
        if source not in self.reviewed.number:
            raise InputError(f"found the source '{source}', expected one that can be decided")
        if target and not self.reviewed.knows_target(target):
            raise InputError(f"found the target '{target}', expected an entity of the target graph")
        told = body.get("shown") or {}
        if not isinstance(told, dict):
            raise InputError(f"found {told!r} as what was shown, expected an object")
        proposed = self.reviewed.proposed(source)
        names = [each for each in told.get("candidates") or () if isinstance(each, str)][:20]
        shown = {"queue": str(told.get("queue", ""))[:100], "candidates": names, "hidden": bool(told.get("hidden"))}
        if proposed is not None and (target == proposed[0] or verdict == NONE):
            shown["confidence"] = proposed[1]  # the tool's own, whether it was hidden or not
        sampled = self.board.sampled(source)
        return Decision(source, target, verdict, _text(body, "comment", needed=False), sampled, shown)


def _text(body: Body, name: str, *, needed: bool = True) -> str:
    """A text of a request; what cannot be written to a file is refused."""
    found = body.get(name)
    if found is None and not needed:
        return ""
    most = LONGEST.get(name, math.inf)
    if not isinstance(found, str) or len(found) > most or (needed and not found):
        raise InputError(f"found {str(found)[:60]!r} as {name}, expected a text")
    if "\x00" in found or any("\ud800" <= letter <= "\udfff" for letter in found):
        raise InputError(f"found unreadable characters in {name}, expected a text")
    return found
