"""Stand-ins for search engines: each answers, in a thread, in its engine's documented shape.

They refuse what the engines refuse: another path or method, a missing key, a body with unknown
parts. What they find is real: words counted in texts, or the angle between vectors of letters.
"""

from __future__ import annotations

import json
import math
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

LETTERS = "abcdefghijklmnop"

DOCUMENTS: dict[str, dict[str, Any]] = {
    f"doc-{n}": {
        "title": title,
        "text": f"{title} {text}",
        "lang": lang,
    }
    for n, (title, text, lang) in enumerate(
        [
            ("leek soup", "slice the leek and boil it in a big pot with salt", "en"),
            ("apple pie", "bake the apples under a lid of dough", "en"),
            ("soup", "any soup needs a pot", "de"),
            ("bread", "flour and water and salt and time", "en"),
            ("leek", "a leek is an onion that grew up", "fr"),
            ("kale chips", "bake kale with oil and salt until it is crisp", "de"),
        ]
    )
}


def letters(texts: list[str]) -> list[list[float]]:
    """Embed texts by the letters they have."""
    return [[float(text.lower().count(letter)) for letter in LETTERS] for text in texts]


def many_letters(texts: list[str]) -> list[list[float]]:
    """Embed texts in a space of another size."""
    return [[*vector, 1.0] for vector in letters(texts)]


Hits = list[tuple[str, float]]


@dataclass
class Documents:
    """What a stand-in searches."""

    documents: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: DOCUMENTS)

    def texts(self) -> Iterator[tuple[str, str]]:
        for doc_id, fields in self.documents.items():
            yield doc_id, f"{fields.get('title', '')} {fields.get('text', '')}".lower()

    def by_words(self, query: str, lang: str | None = None) -> Hits:
        words = query.lower().split()
        hits = []
        for doc_id, text in self.texts():
            held = text.split()
            count = sum(held.count(word) for word in words)
            if count and lang in (None, self.documents[doc_id].get("lang")):
                hits.append((doc_id, round(count / (10 + len(held)), 9)))
        return sorted(hits, key=lambda hit: -hit[1])

    def by_vector(self, vector: list[float], lang: str | None = None) -> Hits:
        hits = []
        for doc_id, text in self.texts():
            own = letters([text])[0]
            lengths = math.hypot(*vector) * math.hypot(*own)
            if lengths and lang in (None, self.documents[doc_id].get("lang")):
                dot = sum(a * b for a, b in zip(vector, own, strict=True))
                hits.append((doc_id, round(dot / lengths, 9)))
        return sorted(hits, key=lambda hit: -hit[1])


@dataclass
class Asked:
    """A request as it arrived; the names of headers in lower case."""

    method: str
    path: str
    params: dict[str, list[str]]
    headers: Mapping[str, str]
    body: Any


class RefusedError(Exception):
    """What an engine does not answer: its status and what it says."""

    def __init__(self, status: int, data: Any) -> None:
        self.status, self.data = status, data
        super().__init__(str(status))


class StandIn(ThreadingHTTPServer):
    """A server in a thread; subclasses say how an engine answers."""

    daemon_threads = True
    request_queue_size = 128
    name = ""
    index = "food"
    key = ("Authorization", "")

    def __init__(self, documents: Documents | None = None, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Requests)
        self.documents = documents or Documents()
        self.asked: list[Asked] = []
        self.busy: list[tuple[int, dict[str, str]]] = []
        """For each of the next searches, a status and headers to answer with instead."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def is_search(self, asked: Asked) -> bool:
        """Tell whether a request is a search, rather than a question about the engine."""
        return "search" in asked.path or "query" in asked.path or asked.path.endswith("graphql")

    def searches(self) -> list[Asked]:
        return [asked for asked in self.asked if self.is_search(asked)]

    def written(self, data: Any) -> bytes:
        return b"" if data is None else json.dumps(data).encode()

    def no_key(self) -> RefusedError:
        return RefusedError(401, {"error": {"reason": "missing authentication credentials"}})

    def answer(self, asked: Asked) -> Any:
        raise NotImplementedError

    def checked(self, asked: Asked) -> Any:
        name, value = self.key
        if value and asked.headers.get(name.lower()) != value:
            raise self.no_key()
        if asked.method == "POST" and asked.headers.get("content-type") != "application/json":
            raise RefusedError(415, {"error": "Content-Type header is not supported"})
        return self.answer(asked)


class _Requests(BaseHTTPRequestHandler):
    server: StandIn
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # headers and body in one packet

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self._respond("GET")

    def do_POST(self) -> None:
        self._respond("POST")

    def _respond(self, method: str) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        content = self.rfile.read(length)
        parts = urlsplit(self.path)
        asked = Asked(
            method,
            unquote(parts.path),
            parse_qs(parts.query, keep_blank_values=True),
            {name.lower(): value for name, value in self.headers.items()},
            json.loads(content) if content else None,
        )
        self.server.asked.append(asked)
        if self.server.busy and self.server.is_search(asked):
            status, headers = self.server.busy.pop(0)
            self._send(status, {"message": "busy"}, headers)
            return
        try:
            self._send(200, self.server.checked(asked))
        except RefusedError as error:
            self._send(error.status, error.data)
        except (KeyError, TypeError, ValueError, AssertionError) as error:
            self._send(400, {"message": f"malformed request: {error!r}"})

    def _send(self, status: int, data: Any, headers: Mapping[str, str] | None = None) -> None:
        content = self.server.written(data)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)


def take(table: Any, required: set[str], optional: set[str] = frozenset()) -> dict[str, Any]:  # type: ignore[assignment]
    """Return a part of a body; refuse one with other keys than those documented."""
    assert isinstance(table, dict), f"expected an object, got {table!r}"
    missing, unknown = required - table.keys(), table.keys() - required - optional
    assert not missing, f"missing {sorted(missing)}"
    assert not unknown, f"unknown {sorted(unknown)}"
    return table


def whole(value: Any) -> int:
    assert type(value) is int, f"expected a whole number, got {value!r}"
    return value


class Elasticsearch(StandIn):
    name = "elasticsearch"
    key = ("Authorization", "ApiKey hush-elastic")

    def no_key(self) -> RefusedError:
        cause = {"type": "security_exception", "reason": "unable to authenticate with API key"}
        return RefusedError(401, {"error": {"root_cause": [cause], **cause}, "status": 401})

    def answer(self, asked: Asked) -> Any:
        if (asked.method, asked.path) == ("GET", "/"):
            return {"name": "node-1", "version": {"number": "9.1.0"}, "tagline": "You Know"}
        index, _, what = asked.path.removeprefix("/").partition("/")
        if index != self.index:
            reason = {"type": "index_not_found_exception", "reason": f"no such index [{index}]"}
            raise RefusedError(404, {"error": {"root_cause": [reason], **reason}, "status": 404})
        if (asked.method, what) == ("GET", "_count"):
            return {"count": len(self.documents.documents), "_shards": {"total": 1, "failed": 0}}
        if (asked.method, what) == ("GET", "_settings"):
            return {self.index: {"settings": {"index": {"number_of_shards": "1"}}}}
        if (asked.method, what) != ("POST", "_search"):
            raise RefusedError(405, {"error": f"Incorrect HTTP method for uri [{asked.path}]"})
        hits = self.hits(asked.body)[: whole(asked.body["size"])]
        return {
            "took": 1,
            "timed_out": False,
            "_shards": {"total": 1, "successful": 1, "skipped": 0, "failed": 0},
            "hits": {
                "total": {"value": len(self.hits(asked.body)), "relation": "eq"},
                "max_score": hits[0][1] if hits else None,
                "hits": [{"_index": index, "_id": id_, "_score": score} for id_, score in hits],
            },
        }

    def hits(self, body: Any) -> Hits:
        take(body, {"size", "_source"}, {"query", "knn"})
        if "knn" in body:
            knn = take(body["knn"], {"field", "query_vector", "k"}, {"num_candidates", "filter"})
            assert knn["field"] == "vector"
            lang = self.term(knn["filter"]) if "filter" in knn else None
            found = self.near(knn["query_vector"], lang)[: whole(knn["k"])]
            return [(doc_id, (1 + cosine) / 2) for doc_id, cosine in found]
        clauses = take(take(body["query"], {"bool"})["bool"], {"must"}, {"filter"})
        [must] = clauses["must"]
        match = take(must["multi_match"], {"query", "fields"})
        assert match["fields"] == ["title", "text"]
        lang = self.term(clauses["filter"]) if "filter" in clauses else None
        return self.documents.by_words(match["query"], lang)

    def term(self, clause: Any) -> str:
        clause = clause[0] if isinstance(clause, list) else clause
        return str(take(take(clause, {"term"})["term"], {"lang"})["lang"])

    def near(self, vector: list[float], lang: str | None) -> Hits:
        if len(vector) != len(LETTERS):
            reason = (
                f"the query vector has a different dimension [{len(vector)}] than the index "
                f"vectors [{len(LETTERS)}]"
            )
            cause = {"type": "query_shard_exception", "reason": reason}
            error = {
                "root_cause": [cause],
                "type": "search_phase_execution_exception",
                "reason": "all shards failed",
            }
            raise RefusedError(400, {"error": error, "status": 400})
        return self.documents.by_vector(vector, lang)


class OpenSearch(Elasticsearch):
    name = "opensearch"
    key = ("Authorization", "Basic hush-opensearch")

    def hits(self, body: Any) -> Hits:
        take(body, {"size", "_source", "query"})
        if "knn" not in body["query"]:
            return super().hits(body)
        knn = take(take(body["query"], {"knn"})["knn"], {"vector"})["vector"]
        take(knn, {"vector", "k"}, {"filter"})
        assert not isinstance(knn.get("filter"), list), "[knn] filter must be a query"
        lang = self.term(knn["filter"]) if "filter" in knn else None
        near = self.near(knn["vector"], lang)[: whole(knn["k"])]
        return [(doc_id, 1 / (2 - cosine)) for doc_id, cosine in near]


class Solr(StandIn):
    name = "solr"
    key = ("Authorization", "Basic hush-solr")

    def answer(self, asked: Asked) -> Any:
        if asked.path == "/solr/admin/info/system":
            return {"responseHeader": {"status": 0}, "lucene": {"solr-spec-version": "9.8.0"}}
        match = re.fullmatch(r"/solr/([^/]+)/(select|query|schema)", asked.path)
        if match is None or match[1] != self.index:
            raise RefusedError(404, None)
        if match[2] == "schema":
            return {"responseHeader": {"status": 0}, "schema": {"name": "food", "uniqueKey": "id"}}
        if match[2] == "query":
            assert asked.method == "POST"
            return self.neighbours(asked.body)
        params = {name: values[0] for name, values in asked.params.items()}
        if params == {"q": "*:*", "rows": "0", "wt": "json"}:
            return self.response([], len(self.documents.documents))
        take(params, {"q", "defType", "qf", "fl", "rows", "wt"}, {"fq"})
        assert (params["defType"], params["qf"], params["fl"]) == (
            *("edismax", "title text", "id,score"),
        )
        hits = self.documents.by_words(params["q"], self.lang(asked.params.get("fq")))
        return self.response(hits[: int(params["rows"])], len(hits))

    def neighbours(self, body: Any) -> Any:
        take(body, {"query", "fields", "limit"}, {"filter"})
        match = re.fullmatch(r"\{!knn f=vector topK=(\d+)\}(\[.*\])", body["query"])
        assert match
        vector = json.loads(match[2])
        if len(vector) != len(LETTERS):
            text = (
                f"incorrect vector dimension. The vector value has size {len(vector)} while it is "
                f"expected a vector with size {len(LETTERS)}"
            )
            raise RefusedError(
                400,
                {"responseHeader": {"status": 400}, "error": {"msg": text, "code": 400}},
            )
        near = self.documents.by_vector(vector, self.lang(body.get("filter")))[: int(match[1])]
        hits = [(doc_id, (1 + cosine) / 2) for doc_id, cosine in near]
        return self.response(hits[: whole(body["limit"])], len(hits))

    def lang(self, filters: list[str] | None) -> str | None:
        if not filters:
            return None
        match = re.fullmatch(r"\{!term f=lang\}(.*)", filters[0], re.DOTALL)
        assert match, f"org.apache.solr.search.SyntaxError: Cannot parse {filters[0]!r}"
        return match[1]

    def response(self, hits: Hits, total: int) -> Any:
        docs = [{"id": doc_id, "score": score} for doc_id, score in hits]
        return {
            "responseHeader": {"status": 0, "QTime": 1},
            "response": {"numFound": total, "start": 0, "numFoundExact": True, "docs": docs},
        }


class Vespa(StandIn):
    name = "vespa"
    key = ("Authorization", "Bearer hush-vespa")

    def answer(self, asked: Asked) -> Any:
        if asked.path == "/state/v1/version":
            return {"version": "8.500.1"}
        if (asked.method, asked.path) != ("POST", "/search/"):
            raise RefusedError(404, None)
        match = re.fullmatch(r"select \* from (\w+) where (.*)", asked.body["yql"], re.DOTALL)
        assert match
        if match[1] != self.index:
            self.illegal(f"Could not resolve source ref '{match[1]}'.")
        hits = self.hits(asked.body, match[2])
        offset = asked.body.get("offset", 0)
        shown = hits[offset : offset + min(whole(asked.body["hits"]), 400)]
        root: dict[str, Any] = {
            "id": "toplevel",
            "relevance": 1.0,
            "fields": {"totalCount": len(hits)},
            "coverage": {"coverage": 100, "documents": 6, "full": True, "nodes": 1},
        }
        if shown:  # without hits, there are no children
            root["children"] = [
                {"id": f"id:kitchen:{self.index}::{doc_id}", "relevance": score, "source": "food"}
                for doc_id, score in shown
            ]
        return {"root": root}

    def hits(self, body: Any, where: str) -> Hits:
        if where == "true":
            return [(doc_id, 0.0) for doc_id in self.documents.documents]
        lang, where = self.lang(where)
        if where == "userInput(@text)":
            take(body, {"yql", "text", "hits", "timeout"}, {"offset", "ranking"})
            return self.documents.by_words(body["text"], lang)
        match = re.fullmatch(r"\{targetHits: (\d+)\}nearestNeighbor\(vector, q\)", where)
        if match is None:
            self.illegal(f"Could not parse {where}")
        take(body, {"yql", "input.query(q)", "hits", "timeout"}, {"ranking"})
        vector = body["input.query(q)"]
        if len(vector) != len(LETTERS):
            self.illegal(f"Could not set 'input.query(q)': expected {len(LETTERS)} values")
        return self.documents.by_vector(vector, lang)

    def lang(self, where: str) -> tuple[str | None, str]:
        match = re.fullmatch(r'(.*) and lang contains ("(?:[^"\\]|\\.)*")', where, re.DOTALL)
        return (json.loads(match[2]), match[1]) if match else (None, where)

    def illegal(self, message: str) -> None:
        problem = {"code": 3, "summary": "Illegal query", "message": message}
        raise RefusedError(400, {"root": {"errors": [problem]}})


_STRING = r'"(?:[^"\\]|\\.)*"'


class Weaviate(StandIn):
    name = "weaviate"
    index = "Food"
    key = ("Authorization", "Bearer hush-weaviate")
    WHERE = rf'(?:, where: \{{path: \["lang"\], operator: Equal, valueText: ({_STRING})\}})?'
    BM25 = re.compile(
        rf"\{{ Get \{{ (\w+)\(bm25: \{{query: ({_STRING}), properties: (\[[^\]]*\])\}}, limit: "
        rf"(\d+){WHERE}\) \{{ doc_id _additional \{{ score \}} \}} \}} \}}"
    )
    NEAR = re.compile(
        rf"\{{ Get \{{ (\w+)\(nearVector: \{{vector: (\[[^\]]*\])\}}, limit: (\d+){WHERE}\) "
        r"\{ doc_id _additional \{ distance \} \} \} \}"
    )

    def no_key(self) -> RefusedError:
        return RefusedError(401, {"code": 401, "message": "anonymous access not enabled"})

    def answer(self, asked: Asked) -> Any:
        if asked.path == "/v1/meta":
            return {"hostname": "http://[::]:8080", "version": "1.40.3", "modules": {}}
        if asked.path == f"/v1/schema/{self.index}":
            return {"class": self.index, "vectorIndexType": "hnsw", "moduleConfig": {"apiKey": "x"}}
        if asked.path.startswith("/v1/search/"):
            return self.rest(asked)
        if (asked.method, asked.path) != ("POST", "/v1/graphql"):
            raise RefusedError(404, {"code": 404, "message": f"path {asked.path} was not found"})
        return self.graphql(take(asked.body, {"query"})["query"])

    def rest(self, asked: Asked) -> Any:
        if asked.path != f"/v1/search/{self.index}/bm25":
            raise RefusedError(404, {"error": [{"message": "collection not found"}]})
        known = {"query", "queryProperties", "limit", "returnProperties", "returnMetadata"}
        body = take(asked.body, known, {"where"})
        assert isinstance(body["query"], str)
        lang = None
        if "where" in body:
            where = take(body["where"], {"path", "operator", "valueText"})
            assert (where["path"], where["operator"]) == (["lang"], "Equal")
            lang = where["valueText"]
        hits = self.documents.by_words(body["query"], lang)[: whole(body["limit"])]
        results = [
            {"id": "0-0", "properties": {"doc_id": doc_id}, "metadata": {"score": score}}
            for doc_id, score in hits
        ]
        return {"results": results, "tookMs": 8}

    def graphql(self, query: str) -> Any:
        if query == f"{{ Aggregate {{ {self.index} {{ meta {{ count }} }} }} }}":
            count = len(self.documents.documents)
            return {"data": {"Aggregate": {self.index: [{"meta": {"count": count}}]}}}
        if match := self.BM25.fullmatch(query):
            lang = json.loads(match[5]) if match[5] else None
            words = self.documents.by_words(json.loads(match[2]), lang)
            hits: list[tuple[str, Any]] = [(doc_id, str(score)) for doc_id, score in words]
            limit, kind = int(match[4]), "score"  # which is a text
        elif match := self.NEAR.fullmatch(query):
            vector = json.loads(match[2])
            if len(vector) != len(LETTERS):
                return self.problem(
                    "explorer: get class: vector search: vector lengths don't match: "
                    f"{len(LETTERS)} vs {len(vector)}"
                )
            lang = json.loads(match[4]) if match[4] else None
            near = self.documents.by_vector(vector, lang)
            hits = [(doc_id, 1 - cosine) for doc_id, cosine in near]
            limit, kind = int(match[3]), "distance"
        else:
            return self.problem("Syntax Error GraphQL request (1:1) Unexpected Name")
        if match[1] != self.index:
            return self.problem(f'Cannot query field "{match[1]}" on type "GetObjectsObj".')
        found = [{"doc_id": doc_id, "_additional": {kind: score}} for doc_id, score in hits[:limit]]
        return {"data": {"Get": {self.index: found}}}

    def problem(self, message: str) -> Any:
        return {"data": None, "errors": [{"locations": [], "message": message, "path": None}]}


class Meilisearch(StandIn):
    name = "meilisearch"
    key = ("Authorization", "Bearer hush-meili")

    def no_key(self) -> RefusedError:
        return RefusedError(403, self.problem("The provided API key is invalid.", "auth"))

    def problem(self, message: str, kind: str = "invalid_request") -> Any:
        return {"message": message, "code": kind, "type": kind, "link": "https://docs"}

    def answer(self, asked: Asked) -> Any:
        if asked.path == "/version":
            return {"commitSha": "x", "commitDate": "x", "pkgVersion": "1.20.0"}
        match = re.fullmatch(r"/indexes/([^/]+)/(search|stats|settings)", asked.path)
        if match is None or match[1] != self.index:
            name = match[1] if match else "?"
            raise RefusedError(404, self.problem(f"Index `{name}` not found."))
        if match[2] == "stats":
            return {"numberOfDocuments": len(self.documents.documents), "isIndexing": False}
        if match[2] == "settings":
            return {"filterableAttributes": ["lang"], "rankingRules": ["words"]}
        body = asked.body
        shared = {"limit", "attributesToRetrieve", "showRankingScore"}
        assert asked.method == "POST"
        assert body["showRankingScore"] is True
        lang = self.lang(body.get("filter"))
        if "vector" in body:
            take(body, {*shared, "vector", "hybrid"}, {"filter"})
            take(body["hybrid"], {"embedder", "semanticRatio"})
            if len(body["vector"]) != len(LETTERS):
                text = (
                    f"Invalid vector dimensions: expected: `{len(LETTERS)}`, found: "
                    f"`{len(body['vector'])}`."
                )
                raise RefusedError(400, self.problem(text))
            hits = [
                (doc_id, (1 + cosine) / 2)
                for doc_id, cosine in self.documents.by_vector(body["vector"], lang)
            ]
        else:
            take(body, {*shared, "q"}, {"filter", "attributesToSearchOn"})
            hits = self.documents.by_words(body["q"], lang)
        found = [
            {"id": doc_id, "_rankingScore": score} for doc_id, score in hits[: whole(body["limit"])]
        ]
        return {"hits": found, "estimatedTotalHits": len(hits), "processingTimeMs": 1}

    def lang(self, filters: list[str] | None) -> str | None:
        if filters is None:
            return None
        match = re.fullmatch(rf"lang = ({_STRING})", filters[0])
        if match is None:
            raise RefusedError(400, self.problem("Was expecting an operation at `lang`"))
        return str(json.loads(match[1]))


class Typesense(StandIn):
    name = "typesense"
    key = ("X-TYPESENSE-API-KEY", "hush-typesense")
    largest_page = 250

    def no_key(self) -> RefusedError:
        text = "Forbidden - a valid `x-typesense-api-key` header must be sent."
        return RefusedError(401, {"message": text})

    def answer(self, asked: Asked) -> Any:
        if asked.path == "/debug":
            return {"state": 1, "version": "29.0"}
        if (asked.method, asked.path) == ("POST", "/multi_search"):
            [search] = take(asked.body, {"searches"})["searches"]
            return {"results": [self.near(search)]}
        if asked.path == f"/collections/{self.index}":
            return {"name": self.index, "num_documents": len(self.documents.documents)}
        if asked.path != f"/collections/{self.index}/documents/search":
            raise RefusedError(404, {"message": "Not Found"})
        params = {name: values[0] for name, values in asked.params.items()}
        take(params, {"q", "query_by", "include_fields", "per_page", "page"}, {"filter_by"})
        assert asked.method == "GET"
        hits = self.documents.by_words(params["q"], self.lang(params.get("filter_by")))
        found = [
            {"document": {"id": doc_id}, "text_match": 578730123365711993 + at}
            for at, (doc_id, _) in enumerate(hits)
        ]
        return self.page(found, int(params["per_page"]), int(params["page"]))

    def near(self, search: Any) -> Any:
        known = {"collection", "q", "vector_query", "include_fields", "per_page", "page"}
        take(search, known, {"filter_by"})
        if search["collection"] != self.index:
            return {"code": 404, "error": "Not found."}
        match = re.fullmatch(r"vector:\((\[[^\]]*\])\)", search["vector_query"])
        assert match
        vector = json.loads(match[1])
        if len(vector) != len(LETTERS):
            text = f"Field `vector` must have {len(LETTERS)} dimensions."
            return {"code": 400, "error": text}
        hits = self.documents.by_vector(vector, self.lang(search.get("filter_by")))
        found = [
            {"document": {"id": doc_id}, "vector_distance": 1 - cosine} for doc_id, cosine in hits
        ]
        return self.page(found, whole(search["per_page"]), whole(search["page"]))

    def page(self, found: list[Any], size: int, number: int) -> Any:
        if size > self.largest_page:
            raise RefusedError(
                422, {"message": f"Only upto {self.largest_page} hits can be fetched per page."}
            )
        shown = found[(number - 1) * size : number * size]
        return {"found": len(found), "hits": shown, "out_of": 6, "page": number}

    def lang(self, text: str | None) -> str | None:
        if text is None:
            return None
        match = re.fullmatch(r"lang:=`([^`]*)`", text)
        assert match, f"Could not parse the filter query: {text}"
        return match[1]


class AzureAiSearch(StandIn):
    name = "azure-ai-search"
    key = ("api-key", "hush-azure")

    def no_key(self) -> RefusedError:
        return RefusedError(403, None)

    def answer(self, asked: Asked) -> Any:
        assert asked.params == {"api-version": ["2024-07-01"]}, "api-version is required"
        match = re.fullmatch(r"/indexes/([^/]+)(/docs/search|/docs/\$count|)", asked.path)
        if match is None or match[1] != self.index:
            text = f"The index '{match[1] if match else ''}' for service 's' was not found."
            raise RefusedError(404, {"error": {"code": "", "message": text}})
        if match[2] == "/docs/$count":
            return len(self.documents.documents)
        if not match[2]:
            return {"name": self.index, "fields": [], "encryptionKey": None}
        assert asked.method == "POST"
        body = asked.body
        lang = self.lang(body.get("filter"))
        if "vectorQueries" in body:
            take(body, {"vectorQueries", "select", "top"}, {"filter"})
            [near] = body["vectorQueries"]
            take(near, {"kind", "vector", "fields", "k"})
            if len(near["vector"]) != len(LETTERS):
                text = (
                    "The vector query's 'vector' has a dimension of "
                    f"{len(near['vector'])}, but the field expects {len(LETTERS)}."
                )
                raise RefusedError(400, {"error": {"code": "InvalidVectorQuery", "message": text}})
            hits = [
                (doc_id, 1 / (2 - cosine))
                for doc_id, cosine in self.documents.by_vector(near["vector"], lang)
            ]
            shown = hits[: whole(body["top"])]
        else:
            take(body, {"search", "select", "count", "top", "skip"}, {"filter", "searchFields"})
            hits = self.documents.by_words(body["search"], lang)
            skip = whole(body["skip"])
            shown = hits[skip : skip + min(whole(body["top"]), 1000)]
        value = [{"@search.score": score, "id": doc_id} for doc_id, score in shown]
        return {"@odata.context": "https://s", "@odata.count": len(hits), "value": value}

    def lang(self, text: str | None) -> str | None:
        if text is None:
            return None
        match = re.fullmatch(r"lang eq '((?:[^']|'')*)'", text)
        assert match, f"Invalid expression: {text}"
        return match[1].replace("''", "'")


STAND_INS: dict[str, type[StandIn]] = {
    kind.name: kind
    for kind in (
        *(Elasticsearch, OpenSearch, Solr, Vespa, Weaviate),
        *(Meilisearch, Typesense, AzureAiSearch),
    )
}


@contextmanager
def running(server: StandIn) -> Iterator[StandIn]:
    """Let a stand-in answer, for a while."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Shared(Elasticsearch):
    """Holds an index for each corpus, and asks for no key."""

    key = ("Authorization", "")

    def __init__(self) -> None:
        super().__init__()
        self.indexes: dict[str, Documents] = {}

    def answer(self, asked: Asked) -> Any:
        engine = Elasticsearch.__new__(Elasticsearch)
        name = asked.path.split("/")[1]
        engine.index = name if name in self.indexes else ""
        engine.documents = self.indexes.get(name, Documents({}))
        return engine.answer(asked)


_SHARED: list[_Shared] = []


def served(index: str, documents: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the address of an Elasticsearch that has these documents, as long as tests run."""
    if not _SHARED:
        _SHARED.append(_Shared())
        threading.Thread(target=_SHARED[0].serve_forever, daemon=True).start()
    _SHARED[0].indexes[index] = Documents(documents)
    return _SHARED[0].url


def options_of(server: StandIn, **options: Any) -> dict[str, Any]:
    """Return a spec of the system http for the recipe of a stand-in."""
    name, value = server.key
    table: dict[str, Any] = {
        "recipe": server.name,
        "url": server.url,
        "index": server.index,
        "headers": {name: value},
        "snapshot": "monday",
    }
    return {"http": {**table, **options}}
