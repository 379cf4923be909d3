"""Who may ask the studio, what it answers, and what it refuses in words."""

from __future__ import annotations

import json

import numpy as np
import pytest

from separatrix.studio.server import MAX_BODY, ROUTES
from tests.studio.running import ADDRESS, TOKEN, flowers, wait_for


def put(client, project, name, content):
    return client.put(f"/api/projects/{project}/files/{name}", content=content)


# Who may ask ----------------------------------------------------------------------------------


def test_without_the_token_nothing_is_answered(stranger):
    for method, path, _ in ROUTES:
        filled = path.replace("{project}", "x").replace("{job:int}", "1").replace("{wish}", "stop")
        filled = filled.replace("{path:path}", "f").replace("{name}", "app.js")
        answer = stranger.request(method, filled, headers={"origin": ADDRESS})
        assert answer.status_code == 403
        assert "token is missing" in answer.json()["error"]


def test_a_wrong_token_opens_nothing(stranger):
    assert stranger.get("/?token=guessed").status_code == 403
    stranger.cookies.set("separatrix", "guessed")
    assert stranger.get("/api/state").status_code == 403


def test_the_token_becomes_a_cookie_that_other_sites_cannot_send(stranger):
    answer = stranger.get(f"/?token={TOKEN}", follow_redirects=False)
    cookie = answer.headers["set-cookie"].lower()
    assert answer.headers["location"] == "/"
    assert "httponly" in cookie
    assert "samesite=strict" in cookie


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "127.0.0.1:9", "localhost:1"]
)
def test_another_host_is_refused(client, host):
    answer = client.get("/api/state", headers={"host": host})
    assert answer.status_code == 403
    assert "this machine only" in answer.json()["error"]


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:9", ""])
def test_another_origin_is_refused(client, origin):
    answer = client.post("/api/projects", json={"name": "x"}, headers={"origin": origin})
    assert answer.status_code == 403
    assert client.get("/api/state").json()["projects"] == []


def test_a_change_must_say_which_page_it_comes_from(client):
    del client.headers["origin"]
    assert client.post("/api/projects", json={"name": "x"}).status_code == 403


def test_pages_may_run_scripts_of_this_server_only(client):
    headers = client.get("/").headers
    assert "script-src 'self'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


def test_the_page_has_no_script_of_its_own(client):
    page = client.get("/").text
    assert '<script type="module" src=' in page
    assert page.count("<script") == 1
    assert " on" not in page.split("<body>")[1].replace(" one", "")


def test_pages_of_users_are_shown_without_the_cookie(client, project):
    put(client, project, "page.html", b"<script>fetch('/api/state')</script>")
    answer = client.get(f"/api/projects/{project}/files/page.html")
    assert answer.headers["content-security-policy"].startswith("sandbox allow-scripts")
    assert "allow-same-origin" not in answer.headers["content-security-policy"]


# Projects and files ---------------------------------------------------------------------------


def test_a_project_is_made_once_by_each_name(client):
    names = [client.post("/api/projects", json={"name": "a b"}).json()["name"] for _ in range(2)]
    assert names == ["a b", "a b-2"]
    assert set(client.get("/api/state").json()["projects"]) == set(names)


@pytest.mark.parametrize(
    "name", ["", ".", "..", ".hidden", "a/b", "a\\b", "-x", " x", "x\n", "x\0", "C:x", "n" * 121]
)
def test_names_that_lead_elsewhere_are_refused(client, name):
    answer = client.post("/api/projects", json={"name": name})
    assert answer.status_code == 400
    assert "no name for a file" in answer.json()["error"]


@pytest.mark.parametrize(
    "path",
    ["../x", "..%2Fx", "%2e%2e%2fx", "a/../../x", "/etc/passwd", "%2Fetc%2Fpasswd", "a%00b",
     "separatrix.toml", "jobs/1/exit", ".bashrc", "..%5Cx"],
)  # fmt: skip
def test_path_tricks_are_refused(client, project, tmp_path, path):
    before = sorted(p for p in tmp_path.rglob("*"))
    assert put(client, project, path, b"x").status_code in (400, 403, 404, 405)
    assert client.get(f"/api/projects/{project}/files/{path}").status_code in (400, 404)
    assert sorted(p for p in tmp_path.rglob("*")) == before


def test_a_link_out_of_the_project_is_not_followed(client, project, studio, tmp_path):
    (tmp_path / "secret.csv").write_text("x")
    folder = studio.projects.find(project)
    (folder / "link.csv").symlink_to(tmp_path / "secret.csv")
    assert client.get(f"/api/projects/{project}/files/link.csv").status_code == 400
    assert put(client, project, "link.csv", b"y").status_code == 400
    assert (tmp_path / "secret.csv").read_text() == "x"


def test_a_file_comes_back_as_it_was(client, project):
    content = bytes(range(256)) * 100
    assert put(client, project, "ö rows.bin", content).json() == {
        "name": "ö rows.bin",
        "size": len(content),
    }
    answer = client.get(f"/api/projects/{project}/files/ö rows.bin")
    assert answer.content == content
    assert answer.headers["content-disposition"].startswith("attachment")


def test_a_file_that_is_too_large_is_refused_and_leaves_nothing(client, project, studio):
    answer = put(client, project, "big.csv", b"1" * 1_000_001)
    assert answer.status_code == 400
    assert "may have 1 MB" in answer.json()["error"]

    def stream():  # without a length that is said first
        for _ in range(11):
            yield b"1" * 100_000

    assert put(client, project, "big.csv", stream()).status_code == 400
    kept = {p.name for p in studio.projects.find(project).iterdir()}
    assert kept == {"separatrix.toml", "studio.json"}
    assert studio.uploading == 0


def test_settings_are_options_of_the_commands(client, project, studio):
    settings = {"target": 'a "k"\n', "ignore": ["é", "\x7f"], "transposed": True, "gone": None}
    answer = client.put(f"/api/projects/{project}/settings", json=settings)
    expected = {name: value for name, value in settings.items() if value is not None}
    assert answer.json() == expected
    assert client.get(f"/api/projects/{project}").json()["settings"] == expected
    answer = client.put(f"/api/projects/{project}/settings", json={"a": {}})
    assert answer.status_code == 400


def test_a_settings_file_that_is_no_toml_is_said(client, project, studio):
    (studio.projects.find(project) / "separatrix.toml").write_text("= 3")
    assert "cannot be read" in client.get(f"/api/projects/{project}").json()["error"]


# Tables ---------------------------------------------------------------------------------------

VISITS = """patient;width;kind;plate
p1;1,5;A;1
p1;1,7;a ;1
p2;;B;1
p2;0,6;B;1
p3;1,6;A;1
p3;1,6;A;1
"""


def look(client, project, source, **options):
    wish = {"source": source, "options": options}
    return client.post(f"/api/projects/{project}/look", json=wish).json()


def test_a_table_is_looked_at_with_its_faults_and_what_mends_them(client, project):
    put(client, project, "visits.csv", VISITS.encode())
    seen = look(client, project, "visits.csv")
    assert (seen["target"], seen["rows"]) == ("kind", 6)
    assert seen["reading"]["sep"] == ";"
    assert seen["reading"]["decimal"] == ","
    assert seen["head"][0] == ["p1", "1.5", "A", "1"]
    assert seen["head"][2][1] is None
    fixes = [problem.get("fix") or problem.get("clean") for problem in seen["problems"]]
    assert {"group": "patient"} in fixes
    assert {"missing": "median"} in fixes
    assert {"ignore": ["plate"]} in fixes
    assert "labels" in fixes
    assert "copies" in fixes


def test_a_fault_is_mended_in_a_copy(client, project, studio):
    put(client, project, "visits.csv", VISITS.encode())
    options = look(client, project, "visits.csv")["reading"]
    wish = {"source": "visits.csv", "options": options}
    for what, rows, classes in (("labels", 6, ["A", "B"]), ("copies", 5, ["A", "B", "a"])):
        answer = client.post(f"/api/projects/{project}/clean", json={**wish, "what": what}).json()
        seen = look(client, project, answer["name"], target="kind")
        assert seen["rows"] == rows
        assert sorted(one["name"] for one in seen["classes"]) == classes
    assert (studio.projects.find(project) / "visits.csv").read_text() == VISITS
    answer = client.post(f"/api/projects/{project}/clean", json={**wish, "what": "all"})
    assert answer.status_code == 400


@pytest.mark.parametrize(
    ("content", "source"),
    [(b"", "x.csv"), (b"\0\1\2", "x.csv"), (b"a", "x.xyz"), (b"a,b", "none")],
)
def test_what_is_no_table_is_said(client, project, content, source):
    put(client, project, "x.csv", content)
    answer = client.post(f"/api/projects/{project}/look", json={"source": source})
    assert answer.status_code == 400
    assert answer.json()["error"]


# Commands -------------------------------------------------------------------------------------


def test_a_command_is_shown_as_shell_and_python(client):
    wish = {"command": "fit", "arguments": ["my rows.csv"], "options": {"target": "kind"}}
    answer = client.post("/api/command", json=wish).json()
    assert answer["shell"] == "separatrix fit --target=kind 'my rows.csv'"
    assert "X.pop('kind')" in answer["python"]
    compile(answer["python"], "shown", "exec")


@pytest.mark.parametrize(
    ("wish", "word"),
    [
        ({"command": "rm", "arguments": []}, "no command"),
        ({"command": "studio", "arguments": []}, "no command"),
        ({"command": "fit", "arguments": ["x"], "options": {"nothing": 1}}, "no option"),
        ({"command": "fit", "arguments": [], "options": {"output": "../x"}}, "not a file in"),
        ({"command": "fit", "arguments": [], "options": {"output": "/x"}}, "not a file in"),
        (
            {"command": "compare", "arguments": ["x"], "options": {"report": "~/x"}},
            "not a file in",
        ),
        ({"command": "fit", "arguments": [1]}, "Arguments are text"),
        ({"arguments": []}, "needs 'command'"),
        ({"command": "fit", "arguments": ["a\0b"]}, "NUL"),
    ],
)
def test_what_cannot_be_run_is_refused(client, project, studio, wish, word):
    answer = client.post(f"/api/projects/{project}/jobs", json=wish)
    assert answer.status_code == 400
    assert word in answer.json()["error"]
    assert not (studio.projects.find(project) / "jobs").exists()


def test_an_argument_that_looks_like_an_option_is_an_argument(client, project):
    wish = {"command": "fit", "arguments": ["--help"], "options": {"output": "x.model"}}
    job = client.post(f"/api/projects/{project}/jobs", json=wish).json()
    whole = wait_for(lambda: ended(client, project, job))
    assert whole["status"] == "failed"
    assert "--help" in whole["messages"]


def ended(client, project, job):
    whole = client.get(f"/api/projects/{project}/jobs/{job['number']}").json()
    return whole if whole["status"] != "running" else None


def test_a_model_is_fitted_tried_and_taken_away(client, project):
    put(client, project, "flowers.csv", flowers().encode())
    wish = {"command": "fit", "arguments": ["flowers.csv"],
            "options": {"target": "kind", "output": "my.model", "json": True}}  # fmt: skip
    job = client.post(f"/api/projects/{project}/jobs", json=wish).json()
    whole = wait_for(lambda: ended(client, project, job))
    assert whole["status"] == "done", whole["messages"]
    assert whole["result"]["rows"] == 40
    model = client.get(f"/api/projects/{project}/models/my.model").json()
    assert model["classes"] == ["a", "b", "c"]
    assert sorted(model["names"]) == ["depth", "length", "width"]
    rows = [{"width": 4, "length": 0, "depth": 0}, {"width": 0, "length": 4, "depth": 0}]
    answer = client.post(
        f"/api/projects/{project}/predict", json={"model": "my.model", "rows": rows}
    )
    assert [row["prediction"] for row in answer.json()["rows"]] == ["a", "b"]
    shares = answer.json()["rows"][0]["probabilities"]
    assert sum(shares.values()) == pytest.approx(1)
    far = [{"width": 1e6, "length": 0, "depth": 0}]
    answer = client.post(
        f"/api/projects/{project}/predict", json={"model": "my.model", "rows": far}
    )
    assert answer.json()["rows"][0]["unlike"] is True


@pytest.mark.parametrize(
    "rows", [[], [3], [{"width": 1}], [{"width": "x", "length": 0, "depth": 0}]]
)
def test_rows_that_cannot_be_tried_are_refused(client, project, rows):
    test_a_model_is_fitted_tried_and_taken_away(client, project)
    wish = {"model": "my.model", "rows": rows}
    assert client.post(f"/api/projects/{project}/predict", json=wish).status_code == 400


def test_a_file_that_is_no_model_is_refused(client, project):
    put(client, project, "bad.model", b"no model")
    answer = client.get(f"/api/projects/{project}/models/bad.model")
    assert answer.status_code == 400
    assert "bad.model" in answer.json()["error"]


def test_events_end_with_the_state_of_the_command(client, project):
    put(client, project, "flowers.csv", flowers().encode())
    wish = {"command": "compare", "arguments": ["flowers.csv"],
            "options": {"methods": ["FisherDiscriminant,LDA"], "splits": 2,
                        "results": "folds.jsonl", "json": True}}  # fmt: skip
    job = client.post(f"/api/projects/{project}/jobs", json=wish).json()
    with client.stream("GET", f"/api/projects/{project}/jobs/{job['number']}/events") as stream:
        news = [json.loads(line[6:]) for line in stream.iter_lines() if line.startswith("data: ")]
    assert news[-1]["status"] == "done"
    assert {method["name"] for method in news[-1]["board"]} == {"FisherDiscriminant", "LDA"}
    assert all(method["splits"] == 2 for method in news[-1]["board"])


def test_rows_are_placed_for_a_first_picture(client, project):
    put(client, project, "flowers.csv", flowers().encode())
    wish = {"source": "flowers.csv", "options": {"target": "kind"}}
    points = client.post(f"/api/projects/{project}/points", json=wish).json()
    assert len(points["x"]) == len(points["y"]) == len(points["codes"]) == 20
    assert points["classes"] == ["a", "b", "c"]


def test_few_rows_make_no_picture(client, project):
    put(client, project, "few.csv", flowers(6).encode())
    wish = {"source": "few.csv", "options": {"target": "kind"}}
    answer = client.post(f"/api/projects/{project}/points", json=wish)
    assert "four rows" in answer.json()["error"]


# Nothing ends in a fault ----------------------------------------------------------------------


@pytest.mark.parametrize("body", [b"", b"[", b"[]", b"3", b'{"a":' * 100_000, b"\xff\xfe"])
def test_bodies_that_are_no_object_are_refused(client, project, body):
    for path in ("/api/projects", "/api/command", f"/api/projects/{project}/look"):
        answer = client.post(path, content=body)
        assert answer.status_code == 400
        assert answer.json()["error"]


def test_a_body_that_is_too_large_is_refused(client):
    answer = client.post("/api/projects", content=b" " * (MAX_BODY + 1))
    assert answer.status_code == 400


def test_no_request_of_any_shape_is_a_fault_of_the_server(client, project):
    rng = np.random.default_rng(0)
    values = ["", "x", "../x", 0, -1, 1e308, None, True, [], ["a"], {}, {"a": 1}, "\0", "😀" * 50,
              "fit", "flowers.csv", "<script>"]  # fmt: skip
    names = ["name", "command", "arguments", "options", "source", "model", "rows", "target"]
    for method, path, _ in ROUTES * 12:
        body = {names[i]: values[rng.integers(len(values))] for i in rng.integers(8, size=4)}
        filled = path.replace("{project}", str(rng.choice([project, "nobody", "%2e%2e"])))
        filled = filled.replace("{job:int}", str(rng.integers(3)))
        filled = filled.replace("{wish}", str(rng.choice(["stop", "resume", "dance"])))
        filled = filled.replace("{path:path}", str(rng.choice(["x.csv", "a/b", "%00", "a.model"])))
        filled = filled.replace("{name}", str(rng.choice(["app.js", "none", "%2e%2e"])))
        answer = client.request(method, filled, json=body)
        assert answer.status_code < 500, (method, filled, body, answer.text)
