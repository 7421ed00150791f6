"""Make every figure of README.md again; what is kept of runs is not made a second time.

python benchmarks/readme.py    some hours on two cores: one for each seed, most of it for MiniLM
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.lib import results

COMMANDS = (
    "accuracy/shipped.py",  # on development mentions, whose models are linked with below
    "accuracy/shipped.py --on test",
    "speed/speed.py command_speed",
    "pages.py",
)

if __name__ == "__main__":
    results.parser(__doc__).parse_args()
    for command in COMMANDS:
        script, *options = shlex.split(command)
        print(f"python benchmarks/{command}", flush=True)
        found = subprocess.run([sys.executable, results.ROOT / "benchmarks" / script, *options])
        if found.returncode:
            sys.exit(found.returncode)  # the script has said why
