"""Potato, for comparison with the studio: installed in a separate environment, run as its documentation describes.

``python -m studies.benchmarks.studio_potato`` measures it alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from studies.benchmarks.claim import say
from studies.benchmarks.studio_campaign import peak_mb, process_tree
from studies.benchmarks.studio_client import Line, Watch, run

PACKAGES = ("potato-annotation==2.12.1", "gunicorn==27.0.0")
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "adjudge-benchmarks" / "potato"
# One worker and eight threads as in its Docker image; more workers are refused, because its state is in one process.
SERVER = ("--workers", "1", "--threads", "8", "--timeout", "120")
CONFIG = """\
annotation_task_name: Relevance
task_dir: .
output_annotation_dir: annotation_output
data_files: [items.jsonl]
item_properties:
  id_key: id
  text_key: text
annotation_schemes:
  - annotation_type: radio
    name: relevance
    description: Is it relevant?
    labels: [relevant, irrelevant]
require_password: false
assignment_strategy: random
num_annotators_per_item: {judgments}
secret_key: 0123456789abcdef0123456789abcdef
"""


def environment() -> Path | None:
    """Return the interpreter of the environment with Potato, created if missing; None if it cannot be installed."""
    python = CACHE / "bin" / "python"
    if not (CACHE / "installed").exists():
        say(f"installing {' '.join(PACKAGES)} in {CACHE} (once, some 500 MB)")
        pip = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", *PACKAGES]
        for command in ([sys.executable, "-m", "venv", "--clear", str(CACHE)], pip):
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                say(f"Potato is left out, it cannot be installed: {done.stderr.strip().splitlines()[-1:]}")
                return None
        (CACHE / "installed").touch()
    return python


def write_task(folder: Path, items: int, judgments: int, cap: int | None) -> None:
    """Write a task of Potato: its settings, and texts of 100 words."""
    rng = random.Random(0)
    words = [f"{rng.choice('bdfgklmnprst')}{rng.choice('aeiou')}{n}" for n in range(500)]
    more = f"max_annotations_per_user: {cap}\n" if cap else ""
    (folder / "config.yaml").write_text(CONFIG.format(judgments=judgments) + more)
    with (folder / "items.jsonl").open("w") as file:
        for item in range(items):
            print(json.dumps({"id": f"i{item}", "text": " ".join(rng.choices(words, k=100))}), file=file)


@contextlib.contextmanager
def served(python: Path, folder: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """Run the server of Potato while the context is open."""
    command = [str(python), "-m", "gunicorn", *SERVER, "-b", f"127.0.0.1:{port}"]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            [*command, "potato.flask_server:create_app('config.yaml')"], cwd=folder, stdout=log, stderr=log
        )
        try:
            for _ in range(600):
                time.sleep(0.2)
                with contextlib.suppress(OSError):
                    if urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).status == 200:
                        break
                if server.poll() is not None:
                    raise RuntimeError(f"Potato did not start: {(folder / 'log').read_text()[-500:]}")
            yield server
        finally:
            server.terminate()
            server.wait(30)


async def judge(name: str, port: int, watch: Watch, acknowledged: list[tuple[str, str]], problems: list[str]) -> None:
    """Sign in, then do what its page does: save the answer, ask for the next item, load its page."""
    line = Line(port)
    reply = await line.post(
        "/auth", f"email={name}&pass=".encode(), b"Content-Type: application/x-www-form-urlencoded\r\n"
    )
    headers = b"Cookie: " + reply.header(b"set-cookie").split(b";")[0] + b"\r\n"
    as_json = headers + b"Content-Type: application/json\r\nX-Potato-Navigation: 1\r\n"
    page = await line.get("/annotate", headers)
    while not watch.over():
        mark = page.body.find(b'id="instance_id"')
        if page.status != 200 or mark < 0:
            problems.append(f"{page.status} {page.body[:200]!r}")
            return
        item = page.body[page.body.index(b'value="', mark) + 7 :].split(b'"', 1)[0].decode()
        body = {"instance_id": item, "annotations": {"relevance:relevant": "relevant"}, "span_annotations": []}
        saved = await watch.timed(
            "submit", lambda body=body: line.post("/updateinstance", json.dumps(body).encode(), as_json)
        )
        if saved.status == 200 and json.loads(saved.body).get("status") != "error":
            acknowledged.append((name, item))
        else:
            problems.append(f"{saved.status} {saved.body[:200]!r}")
        body = b'{"action": "next_instance"}'

        async def next_page(body: bytes = body) -> Any:
            moved = await line.post("/annotate", body, as_json)
            return await line.get("/annotate", headers) if moved.status == 200 else moved

        page = await watch.timed("next", next_page)
    line.close()


async def load(port: int, judges: int, warm: float, seconds: float) -> dict[str, Any]:
    """Let judges work without delay."""
    begin = time.perf_counter() + warm
    watch, acknowledged, problems = Watch(begin, begin + seconds), [], []
    clock = asyncio.create_task(watch.clocked())
    await asyncio.gather(*(judge(f"judge{n}", port, watch, acknowledged, problems) for n in range(judges)))
    await clock
    return {**watch.summary(), "acknowledged": acknowledged, "problems": problems[:5]}


def stored(folder: Path) -> set[tuple[str, str]]:
    """Return the stored pairs of judge and item."""
    pairs = set()
    for file in (folder / "annotation_output").glob("*/user_state.json"):
        state = json.loads(file.read_text())
        pairs |= {(state["user_id"], item) for item, labels in state["instance_id_to_label_to_value"].items() if labels}
    return pairs


def measure(
    judges: int = 20,
    items: int = 100_000,
    judgments: int = 3,
    cap: int | None = 500,
    warm: float = 10.0,
    seconds: float = 30.0,
) -> dict[str, Any] | None:
    """Return the requests per second of Potato, and how many acknowledged answers are not stored."""
    python = environment()
    if python is None:
        return None
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_task(folder, items, judgments, cap)
        began = time.perf_counter()
        with served(python, folder, 8467) as server:
            start = time.perf_counter() - began
            result = run(load(8467, judges, warm, seconds))
            memory = sum(peak_mb(pid) for pid in process_tree(server.pid))
        acknowledged, stored_pairs = result.pop("acknowledged"), stored(folder)
        return {
            **result,
            "start": start,
            "memory": memory,
            "acknowledged": len(acknowledged),
            "lost": len(set(acknowledged) - stored_pairs),
        }


if __name__ == "__main__":
    cap = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    print(json.dumps(measure(cap=cap or None), indent=1))
