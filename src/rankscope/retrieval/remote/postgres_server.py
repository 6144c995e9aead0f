"""A PostgreSQL server: connections to it, and its errors as sentences without a password."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from getpass import getuser
from itertools import zip_longest
from typing import Any

from rankscope.errors import InputError
from rankscope.retrieval.hiding import Hider
from rankscope.retrieval.protocol import fingerprint, time_limit
from rankscope.retrieval.registry import check_engine, engine
from rankscope.retrieval.remote.connections import Connections
from rankscope.retrieval.remote.postgres_options import PostgresOptions

_CONNECT_SECONDS = 10
_PORT = "5432"
_VARIABLES = {
    "host": "PGHOST",
    "hostaddr": "PGHOSTADDR",
    "port": "PGPORT",
    "dbname": "PGDATABASE",
    "user": "PGUSER",
    "service": "PGSERVICE",
}
"""What libpq looks at where the dsn does not say it."""

_DENIED = "42501"
_WRONG_LENGTH = re.compile(
    r"different (vector|halfvec|sparsevec) dimensions|expected \d+ dimensions"
)
"""What pgvector says of vectors that do not fit; its code says nothing more than bad data."""

_SPEC_AT_FAULT = (
    "25006",  # that nothing may be changed
    "28",  # who may come in
    "3D",  # which database
    "3F",  # which schema
    _DENIED,  # what one may read
    "42703",  # which column
    "42883",  # which function or operator
    "42P01",  # which table
)
"""Beginnings of the codes of errors that no other query would be spared."""


def _host(host: str) -> str:
    """Return a host as it is compared: a folder of a socket as it is, a name in small letters."""
    return host if host.startswith(("/", "@")) else host.lower()


def _own_name() -> str:
    """Return what the user of this process is called; '' if nobody knows."""
    try:
        return getuser()
    except (OSError, KeyError, ImportError):
        return ""


class PostgresError(Exception):
    """What the server could not do, in one sentence."""


class DeniedError(PostgresError):
    """What the role may not do."""


class LengthError(InputError):
    """Vectors of another length than those that are searched."""


class Link:
    """One connection, and how long a statement may take on it."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self._seconds: float | None = None

    def limit(self, seconds: float | None) -> None:
        """Let the server end statements that take longer; None: any time."""
        if seconds != self._seconds:
            milliseconds = 0 if seconds is None else max(1, round(seconds * 1000))
            self.set({"statement_timeout": str(milliseconds)})
            self._seconds = seconds

    def set(self, settings: Mapping[str, str], *, is_local: bool = False) -> None:
        """Change settings of the session, or of the transaction alone."""
        for name, value in settings.items():
            self.connection.execute("SELECT set_config(%s, %s, %s)", (name, value, is_local))

    def row(self, statement: str, parameters: Any = None) -> Any:
        """Return the first row of an answer; None if there is none."""
        return self.connection.execute(statement, parameters).fetchone()

    def close(self) -> None:
        """End the connection."""
        self.connection.close()


class Server:
    """Connections to a server, several at a time.

    ``settings`` are those of each session that is opened.
    """

    def __init__(self, options: PostgresOptions) -> None:
        check_engine(
            "psycopg", package="psycopg[binary]", needed_for="the system postgres", extra="postgres"
        )
        self._options = options
        self.settings: dict[str, str] = {}
        self._connections = Connections(self._connect)

    @property
    def psycopg(self) -> Any:
        """The package that speaks to the server."""
        return engine(
            "psycopg", package="psycopg[binary]", needed_for="the system postgres", extra="postgres"
        )

    def close(self) -> None:
        """Close all connections."""
        self._connections.close()

    def _dsn(self) -> dict[str, Any]:
        given = self._options.dsn
        if given is None:
            return {}
        conninfo = engine(
            "psycopg.conninfo",
            package="psycopg[binary]",
            needed_for="the system postgres",
            extra="postgres",
        )
        try:
            parts: dict[str, Any] = conninfo.conninfo_to_dict(given.get_secret_value())
        except self.psycopg.Error:  # its message would show a part of it
            raise InputError(
                "the dsn of postgres cannot be read; expected "
                "postgresql://user:password@host:port/database or host=HOST dbname=NAME user=NAME"
            ) from None
        return parts

    def place(self) -> str:
        """Return a hash of which database is asked, by hosts, ports and name, as libpq finds them.

        Neither the password nor who connects is in it, but where no database is named: it is then
        called as the user is.
        """
        parts = self._dsn()

        def setting(name: str) -> str:
            return str(parts.get(name) or os.environ.get(_VARIABLES[name]) or "")

        names = ("host", "hostaddr", "port")
        hosts, addresses, ports = (setting(name).split(",") for name in names)
        if len(ports) == 1:
            ports *= max(len(hosts), len(addresses))  # one port is that of all hosts
        servers = [
            [address or _host(host), port or _PORT]
            for host, address, port in zip_longest(hosts, addresses, ports, fillvalue="")
        ]
        database = setting("dbname") or setting("user") or _own_name()
        return fingerprint([servers, database, setting("service")])

    def _connect(self) -> Link:
        parts = self._dsn()
        if "connect_timeout" not in parts and "PGCONNECT_TIMEOUT" not in os.environ:
            parts["connect_timeout"] = _CONNECT_SECONDS
        parts.setdefault("application_name", "rankscope")
        connection = self.psycopg.connect(
            **{**parts, "client_encoding": "utf8"}, autocommit=True, prepare_threshold=None
        )
        link = Link(connection)
        try:
            link.set(self.settings)
        except BaseException:
            connection.close()
            raise
        return link

    @contextmanager
    def asked(self) -> Iterator[Link]:
        """Hand out a connection for a query.

        Raises:
            InputError: no query could be answered: wrong credentials, no such table.
            PostgresError: this query could not be answered.
        """
        try:
            with self._connections.taken() as link:
                link.limit(time_limit())
                yield link
        except self.psycopg.Error as error:
            code = getattr(error, "sqlstate", None) or ""
            text = self.reason(error)
            if _WRONG_LENGTH.search(text):
                raise LengthError(f"postgres cannot answer: {text}") from None
            if code.startswith(_SPEC_AT_FAULT):
                raise InputError(f"postgres cannot answer: {text}") from None
            raise PostgresError(text) from None

    @contextmanager
    def changed(self) -> Iterator[Link]:
        """Hand out a connection in a transaction; what fails changes nothing.

        Raises:
            PostgresError: it was not changed; a DeniedError where the role may not.
            LengthError: a vector is longer or shorter than it has to be.
        """
        try:
            with self._connections.taken() as link, link.connection.transaction():
                link.limit(None)
                yield link
        except self.psycopg.Error as error:
            text = self.reason(error)
            if _WRONG_LENGTH.search(text):
                raise LengthError(text) from None
            denied = getattr(error, "sqlstate", None) == _DENIED
            raise (DeniedError if denied else PostgresError)(text) from None

    def reach(self) -> None:
        """Make sure that the server can be asked.

        Raises:
            InputError: it cannot, and why.
        """
        try:
            with self._connections.taken() as link:
                link.row("SELECT 1")
        except self.psycopg.Error as error:
            raise InputError(
                f"postgres cannot be reached: {self.reason(error)}; check the dsn, and that the "
                "server is running"
            ) from None

    def reason(self, error: Exception) -> str:
        """Return what an error says as one sentence, without passwords."""
        primary = getattr(getattr(error, "diag", None), "message_primary", None)
        lines = [line.strip() for line in (primary or str(error)).splitlines()]
        text = " ".join(line for line in lines if line and not line.endswith("?")).rstrip(".")
        if len(text) > 300:
            text = f"{text[:299]}…"
        secrets = [*self._options.secrets(), os.environ.get("PGPASSWORD", "")]
        return Hider(dict.fromkeys(filter(None, secrets), "…")).hide(text) or type(error).__name__
