"""How long `import kesler` takes beyond NumPy, SciPy and scikit-learn: median of fresh processes.

Those parts of the dependencies that Kesler imports are imported first and not counted.
"""

import statistics
import subprocess
import sys

LIMIT = 0.3
RUNS = 9

LIST_DEPENDENCIES = """
import sys, kesler
roots = ("numpy", "scipy", "sklearn")
print(*(m for m in sys.modules if m.split(".")[0] in roots))
"""

TIME_IMPORT = """
import importlib, sys, time
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except ImportError:  # an entry of sys.modules need not be a module one can import
        pass
start = time.perf_counter()
import kesler
print(time.perf_counter() - start)
"""


def run(code: str, *arguments: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    ).stdout


def main() -> None:
    dependencies = run(LIST_DEPENDENCIES).split()
    seconds = statistics.median(float(run(TIME_IMPORT, *dependencies)) for _ in range(RUNS))
    print(f"import kesler: {seconds:.3f} s beyond its dependencies (limit {LIMIT} s)")
    sys.exit(seconds > LIMIT)


if __name__ == "__main__":
    main()
