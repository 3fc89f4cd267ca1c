"""Hypothesis profiles: `fast` by default, `thorough` with HYPOTHESIS_PROFILE=thorough; `--update` rewrites fixtures."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("fast", max_examples=40, deadline=None, derandomize=True, suppress_health_check=_SLOW)
settings.register_profile("thorough", max_examples=2000, deadline=None, suppress_health_check=_SLOW)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite fixtures/*/expected.json; read the diff")
