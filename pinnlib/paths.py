"""Where things live, from the repository root."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = ROOT / "notebooks"
PUBLISHED = ROOT / "data" / "published"  # the paper's own values
REFERENCES = ROOT / "data" / "reference"  # reference solutions and their checksums
RECORDS = ROOT / "data" / "records"
RUNS_CSV = ROOT / "data" / "runs.csv"
