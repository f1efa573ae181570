"""The tests run against a real service, which `npm test` starts (test/client/python.test.ts). It says where in the environment."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from agent_session_service import Client


@dataclass(frozen=True)
class Harness:
    """What the test harness has started. `proxy` stands before the service, and has the faults that a test asks for."""

    service: str
    proxy: str
    key: str
    cases: str
    control: str
    server_id: str

    # The process of the harness runs the service too: on a busy machine it answers late. The test itself has a limit.
    _timeout = httpx.Timeout(None)

    def faults(self, *faults: dict[str, Any]) -> None:
        """The next requests to the proxy meet these."""
        httpx.post(f"{self.control}/faults", json=list(faults), timeout=self._timeout).raise_for_status()

    def requests(self) -> list[dict[str, Any]]:
        """What came to the proxy since `faults` was called."""
        seen: list[dict[str, Any]] = httpx.get(f"{self.control}/requests", timeout=self._timeout).json()
        return seen

    def open_gate(self) -> None:
        """Lets the model go on that waits before its last word."""
        httpx.post(f"{self.control}/gate", timeout=self._timeout).raise_for_status()

    def new_key(self, **fields: Any) -> str:
        """A session token."""
        answer = httpx.post(f"{self.control}/token", json=fields, timeout=self._timeout)
        return answer.raise_for_status().text


@pytest.fixture(scope="session")
def harness() -> Harness:
    names = ("SERVICE", "PROXY", "KEY", "CASES", "CONTROL", "SERVER_ID")
    missing = [name for name in names if f"TEST_{name}" not in os.environ]
    if missing:
        pytest.exit("The service is not running: `npx mocha test/client/python.test.ts` starts it, and then these tests", 2)
    return Harness(*(os.environ[f"TEST_{name}"] for name in names))


@pytest.fixture
def client(harness: Harness) -> Iterator[Client]:
    with Client(harness.service, harness.key) as client:
        yield client


@pytest.fixture
def session(client: Client) -> str:
    return client.create_session(model_id="scripted").id
