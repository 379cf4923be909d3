"""Fixtures of the studio's tests."""

from __future__ import annotations

import pytest

from tests.studio.running import ADDRESS, TOKEN

testclient = pytest.importorskip(
    "starlette.testclient", reason="the studio needs starlette: pip install 'separatrix[studio]'"
)


@pytest.fixture
def studio(tmp_path):
    from separatrix.studio.server import Studio

    return Studio(tmp_path / "projects", TOKEN, max_upload=1)


@pytest.fixture
def stranger(studio):
    """A client without the cookie."""
    from separatrix.studio.server import make_app

    with testclient.TestClient(
        make_app(studio), base_url=ADDRESS, raise_server_exceptions=False
    ) as client:
        yield client


@pytest.fixture
def client(stranger):
    """The page: with the cookie, and an Origin."""
    assert stranger.get(f"/?token={TOKEN}", follow_redirects=False).status_code == 303
    stranger.headers["origin"] = ADDRESS
    return stranger


@pytest.fixture
def project(client):
    return client.post("/api/projects", json={"name": "flowers"}).json()["name"]
