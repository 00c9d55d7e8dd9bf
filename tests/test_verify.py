"""Records altered on purpose are named, also where their checksum was computed again."""

import hashlib
import json
import re
import subprocess

import pytest

from pinnlib import RunSpec
from pinnlib.bundle import cli
from pinnlib.paths import RECORDS
from pinnlib.runs.store import Store, decode, encode
from pinnlib.runs.sweep import sweep
from pinnlib.runs.verify import verification_note, verify
from pinnlib.spec import key_of

TINY = {"steps": 3, "points": 20}
SPECS = [
    RunSpec(**TINY),
    RunSpec(**TINY, seed=1),
    RunSpec(model="baseline", **TINY),
    RunSpec(lr=1e30, **TINY),  # diverges
    RunSpec(system="quartic", k=2, form="shifted", **TINY),
    RunSpec(precision="float64", lbfgs=3, **TINY),
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("records")
    sweep(SPECS, folder, workers=1)
    return folder


@pytest.fixture
def store(trained, tmp_path):
    """A copy of the records, to alter."""
    for path in trained.glob("*.jsonl"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


def alter(folder, spec, change):
    """Change the record of a run and compute its checksum again."""
    for path in folder.glob("*.jsonl"):
        lines = []
        for line in path.read_text().splitlines(keepends=True):
            record = decode(line)
            if record["key"] == spec.key:
                change(record)
            lines.append(encode(record))
        path.write_text("".join(lines))


def test_untouched_records_pass(trained):
    found = verify(trained)
    assert found.failures == []
    assert found.recomputed == 4
    assert found.without_parameters == 2


def shift(name):
    """Change a metric by its last digit."""

    def change(record):
        record["metrics"][name] *= 1 + 2**-52

    return change


def make_diverged(record):
    """A finished run that poses as a diverged one."""
    metrics = dict.fromkeys(record["metrics"])
    record.update(status="diverged", parameters=None, metrics=metrics)


def rename(record, **settings):
    """Other settings, with the key that belongs to them."""
    record["spec"].update(settings)
    record["key"] = key_of(record["spec"])


@pytest.mark.parametrize(
    "spec, change, word",
    [
        (SPECS[0], shift("rel_l2_u"), "rel_l2_u"),
        (SPECS[0], shift("velocity0_theta"), "velocity0_theta"),
        (SPECS[4], shift("max_ae_x"), "max_ae_x"),
        (SPECS[5], shift("residual_mean"), "residual_mean"),
        (SPECS[0], lambda record: record["metrics"].pop("rel_l2_r"), "rel_l2_r"),
        (SPECS[0], lambda record: record.update(parameters=None), "no parameters"),
        (SPECS[0], lambda record: make_diverged(record), "history stays finite"),
        (SPECS[2], lambda record: record["metrics"].pop("max_ae_r"), "max_ae_r"),
        (SPECS[2], lambda record: record["metrics"].update(max_ae_u=1e-9), "max_ae_u"),
        (SPECS[2], lambda record: record["metrics"].update(max_ae_theta=1e-9), "max_ae_theta"),
        (SPECS[2], lambda record: record.update(nodes=None), "nodes"),
        (SPECS[0], lambda record: rename(record, seed=-4), "settings or key"),
        (SPECS[0], lambda record: rename(record, k=20.0), "settings or key"),
        (SPECS[0], lambda record: rename(record, gate="exp()"), "usual form"),
        (SPECS[1], lambda record: record.update(numerics=1), "numerics"),
        (SPECS[1], lambda record: record.update(parameters_sha256="0" * 16), "checksum"),
        (SPECS[1], lambda record: record["history"]["update"].__setitem__(-1, 2), "history"),
        (SPECS[2], lambda record: record["metrics"].update(rel_l2_u=0.01), "rel_l2_u"),
        (SPECS[2], lambda record: record["metrics"].update(residual_max=0.0), "largest"),
        (SPECS[3], lambda record: record["metrics"].update(rel_l2_u=0.01), "diverged"),
        (SPECS[2], lambda record: record["history"]["rms_r"].__setitem__(0, 9.0), "history"),
        (SPECS[0], lambda record: record["made"].pop("cpu"), "cpu"),
        (SPECS[0], lambda record: record["made"].update(torch=2), "made"),
    ],
)
def test_an_altered_record_is_named(store, spec, change, word):
    alter(store, spec, change)
    (failure,) = verify(store).failures
    assert re.match(r"[0-9a-f]{16}: |adaptive_exp_balanced\.jsonl:\d+: ", failure)
    assert word in failure


def test_the_parameters_of_another_run_are_noticed(store):
    other = Store(store).load()[SPECS[1].key]
    swapped = {name: other[name] for name in ("parameters", "parameters_sha256")}
    alter(store, SPECS[0], lambda record: record.update(swapped))
    (failure,) = verify(store).failures
    assert "do not follow from the parameters" in failure


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record.pop("history"),
        lambda record: record.update(metrics=[]),
        lambda record: record.update(status="fine"),
        lambda record: record.update(seconds="2"),
        lambda record: record["history"]["physics"].pop(),
        lambda record: record["history"].pop("update"),
        lambda record: record["history"].pop("physics"),
        lambda record: record["history"]["rms_r"].__setitem__(0, "9"),
        lambda record: record.update(metrics={}),
        lambda record: record["metrics"].update(rel_l2_u="0.1"),
    ],
)
def test_wrong_fields_are_as_good_as_damage(store, change):
    alter(store, SPECS[0], change)
    (failure,) = verify(store).failures
    assert "damaged" in failure
    with pytest.warns(UserWarning, match="damaged"):
        assert SPECS[0].key not in Store(store).load()
    assert sweep(SPECS, store, workers=1).trained == 1  # set aside and trained again
    assert verify(store).failures == []


def test_a_line_with_a_right_checksum_that_is_no_json_is_damaged(store):
    rest = "garbage}"
    line = f'{{"checksum": "{hashlib.sha256(rest.encode()).hexdigest()[:16]}", {rest}\n'
    with (store / "adaptive_exp_balanced.jsonl").open("a") as file:
        file.write(line)
    (failure,) = verify(store).failures
    assert "damaged" in failure


def test_notebooks_say_whether_their_records_passed(trained, tmp_path):
    folder = tmp_path / "records"
    folder.mkdir()
    for path in trained.glob("*.jsonl"):
        (folder / path.name).write_bytes(path.read_bytes())
    assert "not verified" in verification_note(folder)
    assert cli.main(["verify", "--records", str(folder)]) == 0
    note = verification_note(folder)
    assert "all passed ./run_all.sh verify (4 recomputed from their parameters, 2 without" in note
    alter(folder, SPECS[0], shift("rel_l2_u"))
    assert "not verified" in verification_note(folder)
    assert cli.main(["verify", "--records", str(folder)]) == 1
    assert "not verified" in verification_note(folder)


def test_the_records_of_the_repository_are_those_that_were_verified():
    assert "all passed" in verification_note(RECORDS)


def test_it_says_with_which_commit_it_compared(store, committed):
    assert re.search(r"0 failures; compared with commit \w{7}", str(verify(committed)))


def test_it_says_if_there_is_no_commit_to_compare_with(store):
    assert str(verify(store)).endswith(
        "0 failures; not compared with a commit: git has none of this folder"
    )


def test_wrong_settings_are_named(store):
    alter(store, SPECS[0], lambda record: record["spec"].update(seed=7))
    (failure,) = verify(store).failures
    assert "key" in failure


def test_the_command_fails_and_prints_a_line_per_failure(store, capsys):
    assert cli.main(["verify", "--records", str(store)]) == 0
    alter(store, SPECS[0], shift("rel_l2_u"))
    assert cli.main(["verify", "--records", str(store)]) == 1
    first, last = capsys.readouterr().out.splitlines()[-2:]
    assert first.startswith(SPECS[0].key)
    assert "1 failures; " in last


SAMPLE = 10  # every tenth record of the repository; `./run_all.sh verify` checks all of them


@pytest.mark.slow
def test_a_tenth_of_the_records_of_the_repository_passes():
    found = verify(every=SAMPLE)
    assert found.failures == []
    assert found.recomputed > 1000
    assert found.without_parameters > 10


def git(folder, *arguments):
    name = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", *name, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def committed(store):
    """The records in a repository of their own."""
    git(store, "init", "-q")
    git(store, "add", ".")
    git(store, "commit", "-qm", "all")
    assert verify(store).failures == []
    return store


@pytest.mark.parametrize(
    "spec, change, word",
    [
        (SPECS[0], lambda record: record["made"].update(cpu="another"), "made"),
        (SPECS[0], lambda record: record["history"]["physics"].__setitem__(-1, 9.0), "history"),
        (SPECS[2], lambda record: record.update(seconds=0.0), "seconds"),
        (SPECS[2], lambda record: record["metrics"].update(residual_p95=0.0), "metrics"),
        (SPECS[2], lambda record: record.update(parameters_sha256="0" * 16), "parameters_sha256"),
    ],
)
def test_what_cannot_be_computed_is_compared_with_the_last_commit(committed, spec, change, word):
    alter(committed, spec, change)
    (failure,) = verify(committed).failures
    assert failure == f"{spec.key}: not as in the last commit: {word}"


def test_a_record_that_was_committed_and_is_gone_is_named(committed):
    (committed / "baseline_exp_balanced.jsonl").unlink()
    (failure,) = verify(committed).failures
    assert failure == f"{SPECS[2].key}: in the last commit, and gone now"


def test_new_records_and_another_order_are_no_failure(committed):
    path = committed / "adaptive_exp_balanced.jsonl"
    path.write_text("".join(reversed(path.read_text().splitlines(keepends=True))))
    sweep(RunSpec(seed=2, **TINY), committed, workers=1)
    assert verify(committed).failures == []


def test_a_checksum_alone_is_no_proof(store):
    """The fault that `verify` is for: an altered record is loaded like any other."""
    alter(store, SPECS[0], lambda record: record["metrics"].update(rel_l2_u=0.0))
    assert Store(store).load()[SPECS[0].key]["metrics"]["rel_l2_u"] == 0.0
    assert json.dumps(verify(store).failures).count(SPECS[0].key) == 1
