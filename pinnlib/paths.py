"""Where things live, from the repository root."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "data"
RECORDS = DATA / "records"
RUNS_CSV = DATA / "runs.csv"
