"""The API for programs: every route as its OpenAPI document says, with generated requests."""

import io
import itertools
import json
import re
from pathlib import Path

import jsonschema
import pytest
from openapi_spec_validator import validate

from adjudge.studio.desk.decisions import new_api_token
from adjudge.studio.desk.exports import EXPORTS
from adjudge.studio.refresh_consensus import refresh
from adjudge.studio.web.routes_api import MOST, document

DOCUMENT = document()
OPERATIONS = [
    (method.upper(), path, found) for path, item in DOCUMENT["paths"].items() for method, found in item.items()
]
ODD = [
    "",
    " ",
    "-1",
    "0",
    "1",
    "1e3",
    "1.5",
    "2147483647",
    "2147483648",
    "9" * 30,
    "true",
    "ann",
    "ä\u0000",
    "'--",
    "%",
]
BODIES = [
    b"",
    b"{}",
    b"[]",
    b"null",
    b'{"role": "lead"}',
    b'{"days": 1e9}',
    b"topic,document,judge,label\n",
    b"\xff\x00",
]


def ask(place, token, method, path, **more):
    """Return the answer to a program."""
    return place.ask(method, path, headers={"Authorization": f"Bearer {token}"}, **more)


def check_answer(answer, operation):
    """Check that a status is documented, and that its JSON has the documented shape."""
    documented = operation["responses"]
    assert str(answer.status_code) in documented, (answer.status_code, answer.text[:300])
    content = documented[str(answer.status_code)]["content"]
    if "application/json" in content and "$ref" in content["application/json"]["schema"]:
        schema = {**content["application/json"]["schema"], "components": DOCUMENT["components"]}
        jsonschema.Draft202012Validator(schema).validate(answer.json())


@pytest.fixture
def place(file_site):
    """Return a studio with work, and a token of each scope."""
    made = file_site()
    lead, ann, bob = made.made.person("lea", "lead"), made.made.person("ann"), made.made.person("bob")
    made.made.through(ann)
    made.made.through(bob, right=False)
    made.tokens = {scope: made.made.do(new_api_token, lead, scope, scope) for scope in ("read", "export", "import")}
    made.tokens["invite"] = made.made.do(new_api_token, lead, "intake", "invite")
    return made


def test_the_document_is_valid_and_complete():
    """OpenAPI 3.1; each operation needs a token with one scope, and documents every error in one shape."""
    validate(DOCUMENT)
    assert DOCUMENT["openapi"].startswith("3.1")
    assert len(OPERATIONS) == 9
    for method, path, operation in OPERATIONS:
        assert path.startswith("/api/v1/")
        assert operation["summary"], (method, path)
        assert operation["description"], (method, path)
        ((_, (scope,)),) = operation["security"][0].items()
        assert scope in ("read", "export", "import", "invite")
        for code in (400, 401, 403, 404, 409, 413, 422, 429, 503):
            shape = operation["responses"][str(code)]["content"]["application/json"]["schema"]
            assert shape == {"$ref": "#/components/schemas/Error"}


def test_examples_have_the_documented_shape():
    """Those of whole bodies."""
    for name, schema in DOCUMENT["components"]["schemas"].items():
        for example in schema.get("examples", ()):
            whole = {"$ref": f"#/components/schemas/{name}", "components": DOCUMENT["components"]}
            jsonschema.Draft202012Validator(whole).validate(example)


def test_the_document_is_for_everybody(place):
    """It is served without a token, and names nothing of the campaign."""
    answer = place.ask("GET", "/api/openapi.json")
    assert answer.json() == {**DOCUMENT, "servers": [{"url": "/"}]}
    assert "Crowd" not in answer.text


def test_every_route_needs_its_scope(place):
    """401 without a token, and 403 with a token of the other scopes, in the documented shape."""
    for method, path, operation in OPERATIONS:
        path = path.replace("{name}", "judgments")
        answer = place.ask(method, path)
        assert answer.status_code == 401
        check_answer(answer, operation)
        (needed,) = operation["security"][0]["token"]
        for scope, token in place.tokens.items():
            answer = ask(place, token, method, path, content=b"{}")
            assert (answer.status_code == 403) == (scope != needed), (scope, path, answer.text)
            check_answer(answer, operation)


@pytest.mark.parametrize(("method", "path", "operation"), OPERATIONS, ids=[path for _, path, _ in OPERATIONS])
def test_odd_requests_have_documented_answers(place, method, path, operation):
    """Each parameter with each odd value, alone and with another, and odd bodies; nothing is a fault."""
    token = place.tokens[operation["security"][0]["token"][0]]
    names = [parameter["name"] for parameter in operation.get("parameters", ()) if parameter["in"] == "query"]
    queries = [{}, *({name: value} for name in [*names, "unknown"] for value in ODD)]
    queries += [
        dict(zip(names, values, strict=False)) for values in itertools.islice(itertools.permutations(ODD), 0, 40)
    ]
    values = ODD if "{name}" in path else [""]
    codes = set()
    for query in queries:
        for value in values[: 3 if query else None]:
            target = path.replace("{name}", value.strip("/% \0") or "judgments")
            answer = ask(place, token, method, target, params=query, content=BODIES[0] if method == "GET" else b"{}")
            codes.add(answer.status_code)
            check_answer(answer, operation)
    for body in BODIES if method == "POST" else ():
        check_answer(ask(place, token, method, path, content=body), operation)
    assert codes & {200, 201, 404, 422}


def test_a_pipeline_follows_judgments(place):
    """Pages of two have everything once; later, only what is new."""
    token, after, ids = place.tokens["export"], 0, []
    for _ in range(99):
        page = ask(place, token, "GET", "/api/v1/judgments", params={"after": after, "limit": 7}).json()
        ids += [row["id"] for row in page["judgments"]]
        after = page["next"]
        if not page["more"]:
            break
    assert ids == list(range(1, 31))
    rows = "topic,document,judge,label\nt1,d1-1,machine,1\n"
    sent = ask(place, place.tokens["import"], "POST", "/api/v1/judgments", content=rows)
    assert (sent.status_code, sent.json()["taken"], sent.json()["judges"]) == (200, 1, ["machine"])
    (new,) = ask(place, token, "GET", "/api/v1/judgments", params={"after": after}).json()["judgments"]
    assert (new["judge"], new["use"], new["relevance"]) == ("machine", "imported", 1)
    again = ask(place, place.tokens["import"], "POST", "/api/v1/judgments", content=rows).json()
    assert (again["taken"], again["skipped"]) == (0, 1)
    bad = ask(place, place.tokens["import"], "POST", "/api/v1/judgments", content=rows.replace("d1-1", "d99"))
    assert bad.json()["problems"] == ["line 2: topic 't1' with document 'd99' is not in this campaign"]


def test_the_pipeline_of_the_docs_reads_everything(place, monkeypatch):
    """As the page on programs has it; asked again with the last id, it reads nothing."""
    text = (Path(__file__).parents[3] / "docs" / "how-to" / "programs.md").read_text()
    names = {}
    exec(re.search(r"<!-- follow -->\n```python\n(.*?)```", text, re.DOTALL)[1], names)

    def urlopen(request, timeout):
        path = request.full_url.removeprefix("http://studio")
        return io.BytesIO(place.ask("GET", path, headers=dict(request.header_items())).content)

    monkeypatch.setattr("urllib.request.urlopen", urlopen)
    rows = list(names["follow"]("http://studio", place.tokens["export"]))
    assert [row["id"] for row in rows] == list(range(1, 31))
    assert list(names["follow"]("http://studio", place.tokens["export"], 30)) == []


def test_the_last_full_page_is_the_last(place):
    """Its ``more`` is false, so nobody has to ask for an empty page."""
    token = place.tokens["export"]
    for path, rows in (("judgments", 30), ("assignments", 2), ("people", 3)):
        page = ask(place, token, "GET", f"/api/v1/{path}", params={"limit": rows}).json()
        assert (len(page[path]), page["next"], page["more"]) == (rows, rows, False), path
        page = ask(place, token, "GET", f"/api/v1/{path}", params={"limit": rows - 1}).json()
        assert (len(page[path]), page["next"], page["more"]) == (rows - 1, rows - 1, True), path


def test_a_body_that_is_no_json_object_is_named(place):
    """Also one that is sent as another type, and one that is no text at all."""
    token, sent = place.tokens["invite"], {"Content-Type": "application/json"}
    answer = ask(place, token, "POST", "/api/v1/invitations", content=b'{"role": "judge"}')
    assert (answer.status_code, answer.json()["code"]) == (422, "malformed")
    expected = "body: Input should be a JSON object, sent with Content-Type: application/json"
    assert answer.json()["error"] == expected
    headers = {"Authorization": f"Bearer {token}", **sent}
    answer = place.ask("POST", "/api/v1/invitations", headers=headers, content=b"\r\xff\x04")
    assert (answer.status_code, answer.json()["code"]) == (400, "malformed")
    check_answer(answer, DOCUMENT["paths"]["/api/v1/invitations"]["post"])


def test_another_host_is_a_documented_answer(place):
    """For links, which begin with the address that the studio was started with."""
    place.studio.hosts = ("judge.example.org",)
    answer = ask(place, place.tokens["invite"], "POST", "/api/v1/invitations", json={})
    assert answer.status_code == 421
    check_answer(answer, DOCUMENT["paths"]["/api/v1/invitations"]["post"])


def test_exports_have_a_documented_type(place):
    """Each of them."""
    documented = DOCUMENT["paths"]["/api/v1/exports/{name}"]["get"]["responses"]["200"]["content"]
    refresh(place.made.folder)
    for name in EXPORTS:
        answer = ask(place, place.tokens["export"], "GET", f"/api/v1/exports/{name}")
        assert answer.status_code == 200, (name, answer.text)
        assert answer.headers["content-type"].partition(";")[0] in documented


def test_labels_come_with_their_probabilities(place):
    """In pages by items, with the state of the consensus; without one, 409."""
    token, after, rows = place.tokens["export"], 0, []
    refused = ask(place, token, "GET", "/api/v1/consensus")
    assert (refused.status_code, refused.json()["code"]) == (409, "consensus")
    refresh(place.made.folder)
    for _ in range(99):
        page = ask(place, token, "GET", "/api/v1/consensus", params={"after": after, "limit": 40}).json()
        rows += page["items"]
        after = page["next"]
        if not page["more"]:
            break
    assert len(rows) == 30
    assert page["consensus"]["judgments"] == 30
    assert page["consensus"]["note"] is not None
    assert all(0 <= row["relevance"] <= 1 for row in rows)


def test_assignments_and_people_are_read(place):
    """With verdicts and standings; pseudonyms replace all names."""
    token = place.tokens["export"]
    rows = ask(place, token, "GET", "/api/v1/assignments", params={"state": "ended"}).json()["assignments"]
    assert [(row["judge"], row["outcome"]) for row in rows] == [("ann", "passed"), ("bob", "returned")]
    people = ask(place, token, "GET", "/api/v1/people").json()["people"]
    assert [(row["name"], row["role"], row["returned"]) for row in people][2] == ("bob", "judge", 1)
    for path in ("assignments", "people", "judgments"):
        text = ask(place, token, "GET", f"/api/v1/{path}", params={"pseudonyms": True}).text
        assert "judge-2" in text
        assert not re.search('"(ann|bob|lea)"', text)


def test_a_program_invites_judges_and_no_lead(place):
    """The link works; the audit log names the token."""
    token = place.tokens["invite"]
    answer = ask(place, token, "POST", "/api/v1/invitations", json={"role": "judge", "name": "cleo", "days": 2})
    assert answer.status_code == 201
    assert place.ask("GET", re.sub("^https?://[^/]+", "", answer.json()["link"])).status_code == 200
    assert ask(place, token, "POST", "/api/v1/invitations", json={"role": "lead"}).status_code == 422
    assert ask(place, token, "POST", "/api/v1/invitations", json={"name": "Ann"}).json()["code"] == "name"
    lead = next(person.id for person in place.studio.ledger.people.values() if person.role == "lead")
    assert "API token intake" in place.ask("GET", "/desk/audit", lead).text


def test_events_and_numbers_are_read(place):
    """With a token for reading; the last page says where to continue."""
    token = place.tokens["read"]
    page = ask(place, token, "GET", "/api/v1/events").json()
    assert [event["type"] for event in page["events"]] == ["assignment.passed", "assignment.returned"]
    assert page["more"] is False
    assert ask(place, token, "GET", "/api/v1/events", params={"after": page["next"]}).json()["events"] == []
    live = ask(place, token, "GET", "/api/v1/live").json()
    assert (live["judged"] > 0, live["paused"]) == (True, False)


def test_exports_are_those_of_the_desk(place):
    """The whole file; an unknown name is 404 with the names that there are."""
    token = place.tokens["export"]
    lines = ask(place, token, "GET", "/api/v1/exports/judgments").text.splitlines()
    assert (len(lines), lines[0].split(",")[0]) == (31, "topic")
    assert "expected one of judgments" in ask(place, token, "GET", "/api/v1/exports/nothing").json()["error"]


def test_errors_have_one_shape(place):
    """Also for what no route answers, and for a body that is too large."""
    token = place.tokens["export"]
    answers = [
        ask(place, token, "GET", "/api/v1/nothing"),
        ask(place, token, "DELETE", "/api/v1/people"),
        ask(place, token, "POST", "/api/v1/invitations", content=b"x" * 1_100_000),
        ask(place, token, "GET", "/api/v1/people", params={"limit": MOST + 1}),
    ]
    assert [answer.status_code for answer in answers] == [404, 405, 413, 422]
    for answer in answers:
        jsonschema.validate(answer.json(), DOCUMENT["components"]["schemas"]["Error"])
    assert answers[-1].json()["error"] == "query.limit: Input should be less than or equal to 1000"
    assert json.loads(answers[0].text)["code"] == "http"
