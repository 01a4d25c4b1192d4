"""The judge's page as one script."""

import re
import shutil
import subprocess

import pytest

from adjudge.studio.web.bundle import ENTRY, FOREVER, MODULES, bundle, judge_script


def modules(folder, **sources):
    """Write modules to a folder."""
    for name, source in sources.items():
        (folder / f"{name}.js").write_text(source)
    return folder


def run(script):
    """Return what a script prints, where Node is installed."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs Node")
    return subprocess.run([node, "-e", script], check=True, capture_output=True, text=True).stdout


def test_modules_come_after_those_they_import(tmp_path):
    """Each once, whatever its exports are and by which names they are imported."""
    folder = modules(
        tmp_path,
        main='import { add as plus, One } from "./sums.js";\nimport * as words from "./words.js";\n'
        "console.log(plus(1, new One().value), words.hello);\n",
        sums='/** Sums. */\nimport { hello } from "./words.js";\n\nexport const add = (a, b) => a + b + hello.length;\n'
        "export class One {\n  value = 1;\n}\n",
        words='const hidden = "hi"; // not exported\nexport const hello = hidden;\n',
    )
    text = bundle(folder, "main")
    assert re.findall(r"^const (module_\w+)", text, re.M) == ["module_words", "module_sums", "module_main"]
    assert "Sums." not in text
    assert run(text) == "4 hi\n"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ('import words from "./words.js";\n', "'import words from \"./words.js\";' is not bundled"),
        ("export default 1;\n", "'export default 1;' is not bundled"),
        ('const load = () => import("./words.js");\n', "is not bundled"),
        ('import { a } from "./main.js";\n', "main.js: imports itself, by main"),
    ],
)
def test_what_cannot_be_bundled_is_an_error(tmp_path, source, message):
    """With the module and the line."""
    with pytest.raises(ValueError, match=re.escape(message)):
        bundle(modules(tmp_path, main=source, words="export const a = 1;\n"), "main")


def test_the_script_of_the_page_has_all_modules():
    """A module that nothing imports would be dead; the name of the file changes with its content."""
    script = judge_script()
    assert {path.stem for path in MODULES.glob("*.js")} == set(re.findall(r"^const module_(\w+)", script.text, re.M))
    assert script.text == bundle(MODULES, ENTRY)
    assert re.fullmatch(r"judge/[0-9a-f]{16}\.js", script.path)


def test_the_script_is_kept_by_browsers(site):
    """It is compressed, and kept for ever under its name; there is no other script of this kind."""
    site = site()

    async def way():
        async with site.client(site.made.person("ann")) as client:
            path = f"/static/{judge_script().path}"
            assert path in (await client.get("/judge")).text
            answer = await client.get(path)
            assert answer.text == judge_script().text
            assert answer.headers["content-type"].startswith("text/javascript")
            assert (answer.headers["cache-control"], answer.headers["content-encoding"]) == (FOREVER, "gzip")
            assert (await client.get("/static/judge/0123456789abcdef.js")).status_code == 404
            assert (await client.post(path)).status_code in (403, 405)

    site.run(way())
