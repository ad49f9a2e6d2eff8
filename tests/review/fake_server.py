"""A server that answers the review page with made-up cards: a stand-in, to see what the page makes of its answers."""

import json
import math
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import emea.report
import emea.review

PACKAGE = Path(emea.review.__file__).parents[1]
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
KINDS = {".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".html": "text/html"}
NAMES = [
    ("Arte moderno", "Modern art"),
    ("بغداد", "Baghdad بغداد"),
    ("ירושלים (עיר)", "Jerusalem ירושלים"),
    ("北京市", "北京"),
    ("Zürich", "Zurich"),
    ("Łódź Fabryczna", "Lodz Fabryczna railway station"),
    ("<script>window.hit = 1</script>", "<img src=x onerror='window.hit = 1'>"),
    ("Saint-Étienne-du-Rouvray et ses environs immédiats au dix-neuvième siècle", "Saint-Étienne-du-Rouvray"),
]


class Fake:
    """The state of a review of made-up links."""

    def __init__(self, count: int = 200) -> None:
        self.count, self.events, self.keys = count, [], {}
        self.down = False
        self.refuses = False
        self.served: list[str] = []
        self.lock = threading.Lock()

    def name(self, number: int, side: str = "source") -> str:
        hostile = side == "source" and number % len(NAMES) == 6
        return f"javascript:alert({number})" if hostile else f"http://{side}.example/resource/E{number}"

    def entity(self, number: int, side: str) -> dict[str, Any]:
        label = NAMES[number % len(NAMES)][side == "target"]
        other = "target" if side == "source" else "source"
        neighbours = [
            {
                "relation": f"http://{side}.example/{'capitalOf' if side == 'source' else 'P36'}",
                "name": self.name(number + step, side),
                "label": NAMES[(number + step) % len(NAMES)][side == "target"],
                "inverse": step == 2,
                "counterpart": self.name(number + step, other) if step < 3 + (side == "target") else None,
            }
            for step in range(1, 4 + 9 * (number % 2))
        ]
        values = [
            {"attribute": f"http://{side}.example/name", "value": label},
            {"attribute": f"http://{side}.example/population", "value": "1,234,567" if number % 3 else "1,230,000"},
            {"attribute": "http://source.example/foundedIn" if side == "source" else "P571", "value": "1291-08-01"},
            {
                "attribute": f"http://{side}.example/description",
                "value": "A large city in the north, on a river" if side == "source" else "A city in the north by the sea",
            },
        ]
        return {
            "name": self.name(number, side),
            "label": label,
            "types": ["http://x.example/City", "http://x.example/Place"][: 1 + (side == "target")],
            "values": values + ([{"attribute": "postal code", "value": "8001"}] if side == "source" else []),
            "neighbours": neighbours,
            "link": self.name(number, side) if self.name(number, side).startswith("http") else None,
        }

    def card(self, number: int) -> dict[str, Any]:
        hidden, unlinked = number % 5 == 4, number % 11 == 10
        confidence = 0.55 + 0.44 * ((number * 37) % 100) / 100
        targets = [number, number + 1, number + 2][:: -1 if hidden else 1]
        shares = [confidence, (1 - confidence) * 0.7, (1 - confidence) * 0.2]
        candidates = [
            {
                "target": self.entity(each, "target"),
                "confidence": None if hidden else share,
                "log_odds": None if hidden else math.log(share / (1 - share)),
            }
            for each, share in zip(targets, shares, strict=True)
        ]
        return {
            "source": self.entity(number, "source"),
            "proposed": None if unlinked else self.name(number, "target"),
            "candidates": candidates,
            "explanation": None if hidden or unlinked else self.explanation(number, confidence),
            "hidden": hidden,
            "sampled": 0.1 if hidden else None,
            "kind": "City",
            "decided": self.standing().get(self.name(number)),
        }

    def explanation(self, number: int, confidence: float) -> dict[str, Any]:
        odds = math.log(confidence / (1 - confidence))
        source, target = NAMES[number % len(NAMES)]
        part = {"text": f"both have the capital {source}", "log_odds": 2.0, "belief": 0.98}
        groups = [
            {"name": "encoder", "title": "Similar structure", "text": "cosine .81", "log_odds": 2.4, "parts": []},
            {"name": "paris", "title": "Equal neighbours", "text": "two neighbours are compared", "log_odds": 1.7,
             "parts": [part, {"text": "its neighbour Orly has no counterpart", "log_odds": -0.3}]},
            {"name": "none", "title": "May have no counterpart", "text": "", "log_odds": odds - 1.1, "parts": []},
        ]  # fmt: skip
        rival = {"target": self.name(number + 1, "target"), "target_label": "Another", "confidence": 0.03}
        return {
            "source": self.name(number), "target": self.name(number, "target"),
            "source_label": source, "target_label": target, "status": "link", "confidence": confidence,
            "log_odds": odds, "saturated": False, "base": -3.0, "groups": groups, "notes": [], "illustration": [],
            "runner_up": {**rival, "log_odds": -3.5, "base": -3.0, "groups": groups[:1]},
            "smallest_set": {"kind": "beliefs frozen", "parts": [part["text"]], "threshold": 0.5, "confidence": 0.41},
        }  # fmt: skip

    def standing(self) -> dict[str, dict[str, Any]]:
        undone = {event["undoes"] for event in self.events if event["kind"] == "undo"}
        return {e["source"]: e for e in self.events if e["kind"] == "decide" and e["step"] not in undone}

    def undecided(self, queue: str | None = None) -> list[int]:
        decided = self.standing()
        numbers = range(self.count) if queue != "unlinked" else range(10, self.count, 11)
        return [number for number in numbers if self.name(number) not in decided]

    def get(self, path: str, query: str) -> Any:
        if path == "/state":
            verdicts: dict[str, int] = {}
            for each in self.standing().values():
                verdicts[each["verdict"]] = verdicts.get(each["verdict"], 0) + 1
            titles = [("informative", "Most informative", "Doubtful links on which most other doubtful links depend"),
                      ("unlinked", "Unlinked", "Sources without a link, the likeliest to have one first"),
                      ("of_type", "A type", "Links of one type, the least sure first")]  # fmt: skip
            return {
                "run": "run", "graphs": ["ours.ttl", "theirs.ttl"], "who": "ana", "total": self.count,
                "decided": len(self.standing()), "by_verdict": verdicts,
                "queues": [{"name": name, "title": title, "about": about, "count": len(self.undecided(name))}
                           for name, title, about in titles],
                "types": ["City", "Place"], "relations": ["capitalOf"], "threshold": 0.5,
                "people": [{"who": "ana", "decided": len(self.standing())}, {"who": "בני", "decided": 12}],
                "can_run": True, "running": False,
            }  # fmt: skip
        if path == "/estimate":
            return {"precision": 0.923, "low": 0.88, "high": 0.957, "recall": 0.81, "recall_low": 0.74,
                    "recall_high": 0.87, "answered": 40, "more": 160,
                    "stop": {"yes": False, "why": "Precision is known to ± 3.9 points."}}  # fmt: skip
        if path == "/search":
            return [{"name": self.name(n, "target"), "label": NAMES[n % len(NAMES)][1]} for n in range(3)] * ("q=x" in query)
        return {"state": "none", "lines": [], "out": None}

    def post(self, path: str, body: dict[str, Any]) -> Any:
        if path == "/next":
            skip = set(body["skip"])
            left = [number for number in self.undecided(body["queue"]) if self.name(number) not in skip]
            return self.card(left[0]) if left else {"done": True, "why": "All cards of this queue are decided."}
        if path == "/card":
            return self.card(int(body["source"].rstrip(")").rpartition("E")[2].rpartition("(")[2]))
        if path == "/bulk/preview":
            heads = [self.card(number) for number in self.undecided()]
            samples = [{"source": c["source"], "target": c["candidates"][0]["target"], "confidence": 0.98} for c in heads[:20]]
            return {"count": len(heads), "expected_errors": 0.03 * len(heads), "samples": samples, "fingerprint": "x"}
        if path == "/run":
            return {"state": "running", "lines": ["reading", "round 1 of 3"], "out": "run-2"}
        if body["key"] in self.keys:
            return self.keys[body["key"]]
        step = len(self.events) + 1
        if path == "/undo":
            undone = {event["undoes"] for event in self.events if event["kind"] == "undo"}
            open_ = [e["step"] for e in self.events if e["kind"] == "decide" and e["step"] not in undone]
            if not open_:
                return {"nothing": True}
            self.events.append({"kind": "undo", "step": step, "undoes": open_[-1]})
            answer = {"step": step, "undone": [e for e in self.events if e["step"] == open_[-1] and e["kind"] == "decide"]}
        elif path == "/bulk":
            rows = [{"source": self.name(n), "target": self.name(n, "target"), "verdict": "yes"} for n in self.undecided()]
            self.events += [{"kind": "decide", "step": step, "undoes": None, **row} for row in rows]
            answer = {"step": step, "count": len(rows)}
        else:
            self.events.append({"kind": "decide", "step": step, "undoes": None, "who": "ana", **body})
            answer = {"step": step, "counts": {}}
        self.keys[body["key"]] = answer
        return answer


def handler(fake: Fake) -> type[BaseHTTPRequestHandler]:
    """What answers requests about a fake."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            fake.served.append(path)
            if path == "/" or path.startswith("/static/"):
                name = path.removeprefix("/static/") if path != "/" else "index.html"
                room = "report" if name.startswith("card.") else "review"
                file = PACKAGE / room / "static" / name
                self.reply(file.read_bytes(), KINDS[file.suffix])
            else:
                self.answer(lambda: fake.get(path, query))

        def do_POST(self) -> None:
            assert self.headers["X-Emea"] == "review"
            assert self.headers["Content-Type"] == "application/json"
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.answer(lambda: fake.post(self.path, body))

        def answer(self, make: Any) -> None:
            if fake.down:
                self.reply(b'{"error": "away"}', "application/json", 503)
            elif fake.refuses and self.path == "/decisions":
                self.reply(b'{"error": "found no such source"}', "application/json", 400)
            else:
                with fake.lock:
                    told = json.dumps(make()).encode()
                self.reply(told, "application/json")

        def reply(self, body: bytes, kind: str, status: int = 200) -> None:
            self.send_response(status)
            for name, value in {
                "Content-Type": f"{kind}; charset=utf-8",
                "Content-Length": str(len(body)),
                "Content-Security-Policy": POLICY,
                "X-Content-Type-Options": "nosniff",
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


class Server(ThreadingHTTPServer):
    """Serves a fake at a port of its own."""

    daemon_threads = True

    def __init__(self, fake: Fake) -> None:
        super().__init__(("127.0.0.1", 0), handler(fake))
        self.fake = fake
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"
