"""Engine against oracle, one thread each, interleaved, best of several: data/benchmark.json."""

import argparse
import json
from pathlib import Path

OUT = Path(__file__).parents[1] / "data" / "benchmark.json"


def main():
    parser = argparse.ArgumentParser(prog="./run_all.sh bench", description=__doc__)
    quick = "fewer repetitions and no sweeps: about a minute (whole: five minutes)"
    parser.add_argument("--quick", action="store_true", help=quick)
    where = "where to write (default: data/benchmark.json)"
    parser.add_argument("--output", type=Path, default=OUT, help=where)
    arguments = parser.parse_args()
    from speed import report  # loads torch, which --help does not need

    text = json.dumps(report(arguments.quick), indent=2)
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(text + "\n")
    print(f"written: {arguments.output}")


if __name__ == "__main__":
    main()
