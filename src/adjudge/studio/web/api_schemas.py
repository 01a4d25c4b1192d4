"""What programs send to the API and get from it: the pydantic models that its documentation is generated from."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Role = Literal["judge", "reviewer", "lead"]
Score = Annotated[float | None, Field(description="of the grading; null if it was not graded by this criterion")]
Seconds = Annotated[float, Field(description="seconds since 1970", examples=[1_760_000_000.5])]
Judge = Annotated[str, Field(description="name of the judge, or pseudonym", examples=["judge-7"])]
PersonId = Annotated[int, Field(description="number of the person", examples=[7])]


class Error(BaseModel):
    """Why a request was refused; some errors have further values, such as `retry_after` or `problems`."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={"examples": [{"error": "This token does not have the scope export.", "code": "scope"}]},
    )

    error: Annotated[str, Field(description="a sentence for people")]
    code: Annotated[str, Field(description="a word for programs, which stays the same within a version")]


class Page(BaseModel):
    """A page of rows, the oldest first."""

    next: Annotated[int, Field(description="`after` for the page that follows; keep it to continue later")]
    more: Annotated[bool, Field(description="whether the page that follows has rows now")]


class Judgment(BaseModel):
    """An accepted judgment. It never changes, except that it no longer counts if its judge is excluded."""

    id: int
    at: Seconds
    item: Annotated[int, Field(description="number of the pair of topic and document")]
    topic: str
    document: str
    person: PersonId
    judge: Judge
    relevance: Annotated[Literal[0, 1] | None, Field(description='null is "cannot tell"')]
    rank: Annotated[int | None, Field(description="within the set, 1 is best")]
    seconds: Annotated[float | None, Field(description="active time")]
    comment: str
    use: Annotated[str, Field(description="work, gold, monitoring or imported", examples=["work"])]
    assignment: Annotated[int | None, Field(description="null for imported judgments")]
    counts: Annotated[bool, Field(description="false while its judge is excluded")]


class Judgments(Page):
    """A page of judgments."""

    judgments: list[Judgment]


class Imported(BaseModel):
    """What became of a file of judgments. If there is a problem, nothing was imported."""

    taken: Annotated[int, Field(description="judgments that were added")]
    skipped: Annotated[int, Field(description="judgments that were there already")]
    judges: Annotated[list[str], Field(description="judges that are new")]
    problems: Annotated[list[str], Field(description="why rows cannot be imported, each with its line")]
    name: str
    unread: Annotated[list[str], Field(description="answers to prompts that could not be read")]
    hidden_gold: Annotated[
        dict[str, int] | None,
        Field(description="how many answers of a program were right on hidden gold, and of how many"),
    ]


class ItemLabel(BaseModel):
    """The label of an item in the consensus."""

    item: int
    topic: str
    document: str
    judgments: Annotated[int, Field(description="judgments that count")]
    label: Literal[0, 1]
    probability: Annotated[float, Field(ge=0, le=1, description="of the label")]
    relevance: Annotated[float, Field(ge=0, le=1, description="probability that the document is relevant")]
    grades: Annotated[list[float] | None, Field(description="probability of each grade, with the model graded")]


class ConsensusState(BaseModel):
    """Which consensus the labels come from."""

    model: str
    note: Annotated[str, Field(description="why another model was used than the settings ask for, or nothing")]
    at: Seconds
    judgments: Annotated[int, Field(description="judgments that it was fitted to")]


class ConsensusLabels(Page):
    """Labels of the judged ones among the next items; a page may have fewer rows than its limit, or none."""

    consensus: ConsensusState
    items: list[ItemLabel]


class Outcome(BaseModel):
    """One step in the end of an assignment."""

    outcome: Annotated[str, Field(description="passed, returned, approved, submitted, released or expired")]
    at: Seconds


class Assignment(BaseModel):
    """What one judge takes on at once."""

    id: int
    at: Seconds
    person: PersonId
    judge: Judge
    kind: Annotated[str, Field(description="work or qualification", examples=["work"])]
    outcome: Annotated[str | None, Field(description="the last one; null while the assignment is open")]
    outcomes: Annotated[list[Outcome], Field(description="all, the oldest first")]
    failed: Annotated[list[str], Field(description="criteria of the gate that were not reached")]
    binary: Score
    ndcg: Score
    fastest: Annotated[float | None, Field(description="active seconds of the fastest document")]


class Assignments(Page):
    """A page of assignments."""

    assignments: list[Assignment]


class Person(BaseModel):
    """A judge, reviewer or lead. Only judges have a standing that matters."""

    id: int
    at: Annotated[Seconds, Field(description="when they came, in seconds since 1970")]
    name: Judge
    role: Role
    standing: Annotated[str, Field(description="new, qualified, unqualified, paused or excluded", examples=["new"])]
    passed: Annotated[int, Field(description="assignments that passed")]
    returned: Annotated[int, Field(description="assignments that were returned")]


class People(Page):
    """A page of people."""

    people: list[Person]


class NewInvitation(BaseModel):
    """Whom to invite."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"role": "judge", "name": "ann", "days": 14}]}
    )

    role: Annotated[Literal["judge", "reviewer"], Field(description="leads are invited at the desk")] = "judge"
    name: Annotated[str, Field(max_length=100, description="a name that the form suggests")] = ""
    days: Annotated[int, Field(ge=1, le=365, description="for how many days the link is valid")] = 14


class InvitationLink(BaseModel):
    """An invitation; its link can be used once, and is not shown again."""

    id: int
    link: Annotated[str, Field(examples=["https://judge.example.org/join/Mg.abc"])]


class EventRow(BaseModel):
    """Something that happened; webhooks send the same."""

    id: Annotated[str, Field(description="the same whenever the event is sent again", examples=["evt_0f_judge"])]
    number: Annotated[int, Field(description="of the entry in the audit log")]
    type: Annotated[str, Field(examples=["assignment.returned"])]
    at: Seconds
    data: Annotated[dict[str, Any], Field(examples=[{"assignment": 3, "person": 7, "judge": "judge-7"}])]


class Events(Page):
    """A page of events; a page may have fewer rows than its limit, or none."""

    events: list[EventRow]


class Live(BaseModel):
    """The numbers of the overview at the desk."""

    model_config = ConfigDict(extra="allow")

    at: Seconds
    paused: bool
    judged: Annotated[int, Field(description="judgments that count")]
    needed: Annotated[int, Field(description="judgments in the end")]
    items: int
    settled: Annotated[int, Field(description="items that need no more judgments")]
    active: Annotated[int, Field(description="judges who answered in the last minutes")]
    out: Annotated[int, Field(description="open assignments")]
    topics: list[dict[str, Any]]
    pace: Annotated[dict[str, Any], Field(description="judgments per hour, and hours left")]
    gates: list[dict[str, Any]]
    consensus: Annotated[dict[str, Any] | None, Field(description="null before the first judgments")]
