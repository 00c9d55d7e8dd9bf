"""Records altered on purpose are named, also where their checksum was computed again."""

import json
import subprocess

import pytest

from pinnlib import RunSpec
from pinnlib.bundle import cli
from pinnlib.runs.store import Store, decode, encode
from pinnlib.runs.sweep import sweep
from pinnlib.runs.verify import verify

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


@pytest.mark.parametrize(
    "spec, change, word",
    [
        (SPECS[0], shift("rel_l2_u"), "rel_l2_u"),
        (SPECS[0], shift("velocity0_theta"), "velocity0_theta"),
        (SPECS[4], shift("max_ae_x"), "max_ae_x"),
        (SPECS[5], shift("residual_mean"), "residual_mean"),
        (SPECS[0], lambda record: record["metrics"].pop("rel_l2_r"), "rel_l2_r"),
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
    assert failure.startswith(spec.key)
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
    assert last.endswith("1 failures")


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
