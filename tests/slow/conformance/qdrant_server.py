"""A server of the shape of Qdrant's REST API, for the requests that its client makes.

It runs in a thread of this process and keeps points in dicts. Like Qdrant it wants its key, refuses
vectors of another length, searches a part of the points unless the search is exact (the more the
larger hnsw_ef is), and compares rounded vectors where they are quantised. It can be told to be
busy, to fail, and to go away.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np

Answer = tuple[int, Any]


class QdrantServer(ThreadingHTTPServer):
    """The collections, what was asked, and what the next requests are answered with."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, port: int = 0, collections: dict[str, Any] | None = None) -> None:
        super().__init__(("127.0.0.1", port), _Requests)
        self.collections: dict[str, dict[str, Any]] = {} if collections is None else collections
        self.key: str | None = None
        self.asked: list[tuple[str, str, Any]] = []
        self.next_answers: list[tuple[int, dict[str, str]]] = []
        """For each of the next requests about points, a state and headers instead of an answer."""
        self.slow_to_index = 0
        """How often a collection is still being indexed when it is asked."""
        self.alone = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Requests(BaseHTTPRequestHandler):
    server: QdrantServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def _handle(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        path = unquote(urlsplit(self.path).path)
        server = self.server
        headers: dict[str, str] = {}
        data: Any
        with server.alone:
            server.asked.append((self.command, path, body))
            given = self.headers.get("api-key")
            if server.key is not None and given != server.key:
                status, data = 401, f"Invalid API key or JWT: {given}"
            elif "/points" in path and server.next_answers:
                status, headers = server.next_answers.pop(0)
                data = {"status": {"error": f"the server is unwell, and was sent {given}"}}
            else:
                status, result = self._answer(self.command, path.strip("/").split("/"), body)
                is_fine = status == 200
                data = {
                    "result": result,
                    "status": "ok" if is_fine else {"error": result},
                    "time": 0.0,
                }
                if path == "/":
                    data = result
        content = json.dumps(data).encode() if not isinstance(data, str) else data.encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_PUT = do_POST = do_PATCH = do_DELETE = _handle  # noqa: N815

    def _answer(self, method: str, parts: list[str], body: Any) -> Answer:
        collections = self.server.collections
        match (method, *parts):
            case ("GET", ""):
                return 200, {"title": "qdrant - vector search engine", "version": "1.15.4"}
            case ("GET", "collections"):
                return 200, {"collections": [{"name": name} for name in collections]}
            case ("GET", "collections", name, "exists"):
                return 200, {"exists": name in collections}
            case ("PUT", "collections", name):
                if name in collections:
                    return 409, f"Wrong input: Collection `{name}` already exists!"
                collections[name] = {"config": body, "points": {}, "indexes": {}}
                return 200, True
        if len(parts) < 2 or parts[1] not in collections:
            return 404, f"Not found: Collection `{parts[-1]}` doesn't exist!"
        return self._of_collection(method, parts, body)

    def _of_collection(self, method: str, parts: list[str], body: Any) -> Answer:
        collections = self.server.collections
        collection = collections[parts[1]]
        match (method, *parts[2:]):
            case ("GET",):
                return 200, self._described(collection)
            case ("DELETE",):
                del collections[parts[1]]
                return 200, True
            case ("PUT", "index"):
                collection["indexes"][body["field_name"]] = body["field_schema"]
                return 200, {"operation_id": 1, "status": "completed"}
            case ("PUT", "points"):
                return _upserted(collection, body["points"])
            case ("POST", "points", "count"):
                return 200, {"count": len(collection["points"])}
            case ("POST", "points", "query"):
                return _queried(collection, body)
        return 404, f"Not found: {method} {'/'.join(parts)}"

    def _described(self, collection: dict[str, Any]) -> dict[str, Any]:
        is_busy, self.server.slow_to_index = (
            self.server.slow_to_index > 0,
            max(self.server.slow_to_index - 1, 0),
        )
        config = collection["config"]
        return {
            "status": "yellow" if is_busy else "green",
            "optimizer_status": "ok",
            "indexed_vectors_count": len(collection["points"]),
            "points_count": len(collection["points"]),
            "segments_count": 2,
            "config": {
                "params": {"vectors": config["vectors"]},
                "hnsw_config": {
                    "m": 16,
                    "ef_construct": 100,
                    "full_scan_threshold": 10000,
                    **{
                        name: value
                        for name, value in (config.get("hnsw_config") or {}).items()
                        if value is not None
                    },
                },
                "optimizer_config": {
                    "deleted_threshold": 0.2,
                    "vacuum_min_vector_number": 1000,
                    "default_segment_number": 0,
                    "indexing_threshold": 10000,
                    "flush_interval_sec": 5,
                },
                "wal_config": {"wal_capacity_mb": 32, "wal_segments_ahead": 0},
            },
            "payload_schema": {
                name: {"data_type": "keyword", "points": 0} for name in collection["indexes"]
            },
        }


def _upserted(collection: dict[str, Any], points: list[dict[str, Any]]) -> Answer:
    size = collection["config"]["vectors"]["size"]
    for point in points:
        if point["vector"] and len(point["vector"]) != size:
            got = len(point["vector"])
            return 400, f"Wrong input: Vector dimension error: expected dim: {size}, got {got}"
    collection["points"].update({point["id"]: point for point in points})
    return 200, {"operation_id": 1, "status": "completed"}


def _shown(point: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
    wanted = body.get("with_payload")
    payload = point.get("payload") or {}
    if isinstance(wanted, list):
        payload = {name: value for name, value in payload.items() if name in wanted}
    return {"id": point["id"], "payload": payload if wanted else None, "version": 0}


def _queried(collection: dict[str, Any], body: dict[str, Any]) -> Answer:
    config = collection["config"]
    query = np.array(body["query"]["nearest"], np.float32)
    if len(query) != config["vectors"]["size"]:
        size = config["vectors"]["size"]
        return 400, f"Wrong input: Vector dimension error: expected dim: {size}, got {len(query)}"
    params = body.get("params") or {}
    points = [point for point in collection["points"].values() if point["vector"]]
    if not params.get("exact"):
        ef = max(params.get("hnsw_ef") or 100, body["limit"])
        points = [point for point in points if point["id"] * 2654435761 % len(points) < 2 * ef]
    points = [point for point in points if _passes(point, body.get("filter"))]
    if not points:
        return 200, {"points": []}
    matrix: Any = np.array([point["vector"] for point in points], np.float32)
    rescored = (params.get("quantization") or {}).get("rescore")
    if config.get("quantization_config") and not params.get("exact") and not rescored:
        matrix = np.round(matrix * 4) / 4
    scores = (matrix * query).sum(axis=1)
    order = np.argsort(scores, kind="stable")[::-1][: body["limit"]]  # equal scores: any order
    return 200, {
        "points": [{**_shown(points[at], body), "score": float(scores[at])} for at in order]
    }


def _passes(point: dict[str, Any], condition: dict[str, Any] | None) -> bool:
    if not condition:
        return True
    if "key" in condition:
        value = point["payload"].get(condition["key"])
        values = value if isinstance(value, list) else [value]
        match = condition["match"]
        wanted = match["any"] if "any" in match else [match["value"]]
        return any(type(have) is type(want) and have == want for have in values for want in wanted)
    must, should = condition.get("must") or [], condition.get("should") or []
    return all(_passes(point, inner) for inner in must) and (
        not should or any(_passes(point, inner) for inner in should)
    )


@contextmanager
def qdrant_server(
    port: int = 0, collections: dict[str, Any] | None = None
) -> Iterator[QdrantServer]:
    """Run a server, for a while; given the collections of another, it is that one again."""
    with QdrantServer(port, collections) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
