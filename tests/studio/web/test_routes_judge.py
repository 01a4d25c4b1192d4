"""What the judge's page asks for, and what it gets when it asks for something else."""

import pytest

from adjudge.studio.access import DEFAULT_RATES

FREE = "[qualification]\nrequired = false\n"


@pytest.fixture
def place(file_site):
    """Return a studio with two judges."""
    place = file_site()
    place.ann, place.bob = place.made.person("ann"), place.made.person("bob")
    return place


def taken(place, person):
    """Return the assignment that somebody takes."""
    return place.ask("POST", "/api/assignment", person, json={}).json()


def answer(key, **more):
    """Return an answer as a page sends it."""
    return {"key": key, "slot": 0, "relevance": 1, "told": True, "rank": 1, "seconds": 3.0, "comment": "", **more}


def saved(place, person, token, *answers):
    """Return what is said of answers to a set."""
    return place.ask("POST", "/api/answers", person, json={"set": token, "answers": list(answers)})


def test_an_answer_that_is_sent_twice_is_saved_once(place):
    """A page that did not hear the acknowledgement sends again; the later state holds."""
    token = taken(place, place.ann)["set"]["token"]
    for _ in range(2):
        assert saved(place, place.ann, token, answer("a")).json()["saved"] == ["a"]
    assert saved(place, place.ann, token, answer("b", relevance=0)).json()["saved"] == ["b"]
    now = place.ask("GET", "/api/state", place.ann).json()["assignment"]["set"]["documents"][0]
    assert (now["relevance"], now["rank"]) == (0, 1)


def test_nobody_answers_for_another(place):
    """Bob has no access to ann's set, assignment or review."""
    stored = taken(place, place.ann)
    token = stored["set"]["token"]
    for path, body in (
        ("/api/answers", {"set": token, "answers": [answer("a")]}),
        ("/api/finish", {"set": token, "answers": [answer("a")]}),
        ("/api/release", {"assignment": stored["token"]}),
        ("/api/submit", {"assignment": stored["token"]}),
    ):
        assert place.ask("POST", path, place.bob, json=body).status_code in (403, 404, 410), path
    assert place.ask("GET", f"/api/review/{stored['token']}", place.bob).status_code in (403, 404, 410)
    assert place.ask("GET", "/api/state", place.ann).json()["assignment"]["token"] == stored["token"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"slot": 100},
        {"slot": -1},
        {"slot": "0"},
        {"relevance": 2},
        {"rank": 0},
        {"seconds": -1},
        {"seconds": 1e9},
        {"comment": "x" * 2_001},
        {"key": ""},
        {"grade": 1},
    ],
)
def test_an_answer_is_what_it_should_be_or_nothing(place, wrong):
    """What is out of bounds is refused with its place, and nothing of the request is saved."""
    token = taken(place, place.ann)["set"]["token"]
    refused = saved(place, place.ann, token, answer("right", slot=1), answer("a") | wrong)
    assert refused.status_code == 422
    assert refused.json()["error"].startswith("answers.1.")
    documents = place.ask("GET", "/api/state", place.ann).json()["assignment"]["set"]["documents"]
    assert [document["told"] for document in documents] == [False] * len(documents)


def test_who_gives_up_can_begin_anew(place):
    """What was given up is over, and another assignment is to be had."""
    stored = taken(place, place.ann)
    assert place.ask("POST", "/api/release", place.ann, json={"assignment": stored["token"]}).status_code == 200
    assert saved(place, place.ann, stored["set"]["token"], answer("late")).status_code == 410
    assert taken(place, place.ann)["token"] != stored["token"]


def test_invented_addresses_of_documents_are_not_remembered(place):
    """They may be as long as a header: what is counted are tokens that exist."""
    for n in range(3):
        assert place.ask("GET", f"/documents/{n}{'x' * 10_000}/0").status_code == 404
    assert len(place.studio.limits) == 0


def test_a_document_is_shown_at_a_rate(place):
    """One set's documents are not asked for endlessly; another's are not held up by that."""
    ours, theirs = (taken(place, who)["set"]["documents"][0]["url"] for who in (place.ann, place.bob))

    async def way():
        async with place.client() as client:
            return [(await client.get(ours)).status_code for _ in range(DEFAULT_RATES["document"][0] + 1)]

    *displayed, last = place.run(way())
    assert (set(displayed), last) == ({200}, 429)
    assert place.ask("GET", theirs).status_code == 200


def test_an_endless_search_is_cut(place):
    """Words to find are as long as words, not as long as a book."""
    url = taken(place, place.ann)["set"]["documents"][0]["url"]
    assert place.ask("GET", f"{url}/matches", params={"find": "x" * 5_000}).json() == {"matches": 0}


def test_requests_of_a_person_are_limited(file_site):
    """So many in a minute; then they wait, and others do not."""
    one = file_site(f"{FREE}[limits]\nrequests_per_minute = 60\n")
    ann, bob = one.made.person("ann"), one.made.person("bob")
    statuses = [one.ask("GET", "/api/state", ann).status_code for _ in range(61)]
    assert statuses == [200] * 60 + [429]
    assert one.ask("GET", "/api/state", bob).status_code == 200
    one.made.time[0] += 1
    assert one.ask("GET", "/api/state", ann).status_code == 200


def test_bytes_of_a_judge_are_limited(file_site):
    """A judge who sends long comments without end has to wait."""
    one = file_site(f"{FREE}[limits]\nmegabytes_per_hour = 2\n")
    ann = one.made.person("ann")
    token = one.ask("POST", "/api/assignment", ann, json={}).json()["set"]["token"]

    def flood(n):
        row = {"slot": 0, "relevance": 1, "told": True, "rank": 1, "seconds": 9.0, "comment": "x" * 2_000}
        return one.ask("POST", "/api/answers", ann, json={"set": token, "answers": [{"key": f"k{n}", **row}] * 100})

    answers = [flood(n) for n in range(12)]  # 0.2 MB each
    assert [answer.status_code for answer in answers[:5]] == [200] * 5
    assert [answer.status_code for answer in answers if answer.status_code != 200] == [429] * 3  # 2 MB are 9 requests
    assert int(answers[-1].headers["retry-after"]) > 60
    one.made.time[0] += 3_600
    assert flood(12).status_code == 200
