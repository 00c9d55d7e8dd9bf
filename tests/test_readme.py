"""What the README shows is what happens."""

import contextlib
import io
import json
import re
from pathlib import Path

from pinnlib import numerics
from pinnlib.paths import ROOT

README = (ROOT / "README.md").read_text()


def test_the_five_lines_print_what_the_readme_says():
    code = re.search(r"## Five lines\n+```python\n(.*?)```", README, re.S)[1]
    shown = re.search(r"```text\n(.*?)```", README, re.S)[1]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})
    told = re.compile(r"-?\d+\.\d+")
    assert told.sub("#", printed.getvalue()).split() == told.sub("#", shown).split()
    on_file = json.loads(Path(__file__).with_name("numerics.json").read_text())
    if any(line["fingerprint"] == numerics.fingerprint() for line in on_file):  # on such a machine, to the last digit
        assert printed.getvalue() == shown


def test_the_readme_opens_with_the_two_commands():
    assert re.search(r"^./run_all.sh +#.*\n./run_all.sh test", README[:600], re.M)
