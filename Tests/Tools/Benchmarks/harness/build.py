"""build PRODUCT...: the cost of the first debug build of a program that depends on these products, and on nothing else.

A product of another package is URL@VERSION:PRODUCT. The sources of the dependencies are there before the clock starts:
how long they take to fetch is the network's matter. It prints microseconds of processor time and of time.
"""

import re
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]


def dependency(product: str) -> tuple[str, str, str]:
    """A product's package as a declaration, the package's name, and the product's name."""
    found = re.fullmatch(r"(.+)@([0-9.]+):(\w+)", product)
    if found is None:
        return f'.package(name: "swift-ble", path: "{ROOT}")', "swift-ble", product
    url, version, name = found.groups()
    return f'.package(url: "{url}", exact: "{version}")', url.rsplit("/", 1)[1], name


def main() -> int:
    parts = [dependency(product) for product in sys.argv[1:]]
    place = Path.cwd() / "build" / "-".join(name for _, _, name in parts)
    shutil.rmtree(place, ignore_errors=True)
    (place / "Sources/Program").mkdir(parents=True)
    packages = ", ".join(sorted({package for package, _, _ in parts}))
    products = ", ".join(f'.product(name: "{name}", package: "{package}")' for _, package, name in parts)
    (place / "Package.swift").write_text(
        "// swift-tools-version: 6.2\nimport PackageDescription\n\nlet package = Package(\n"
        f'    name: "Program", platforms: [.macOS(.v15)], dependencies: [{packages}],\n'
        f'    targets: [.executableTarget(name: "Program", dependencies: [{products}])])\n', "utf-8")
    imports = "".join(f"import {name}\n" for _, _, name in parts)
    (place / "Sources/Program/main.swift").write_text(f'{imports}\nprint("built")\n', "utf-8")
    swift = ["swift", "--package-path", str(place)]
    subprocess.run([swift[0], "package", *swift[1:], "resolve"], check=True, stdout=sys.stderr)

    def used() -> float:
        return sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])

    cpu, wall = used(), time.monotonic()
    subprocess.run([swift[0], "build", *swift[1:]], check=True, stdout=sys.stderr)
    cpu, wall = used() - cpu, time.monotonic() - wall
    output = subprocess.run([place / ".build/debug/Program"], capture_output=True, text=True, check=True).stdout
    print(1, "complete" if output == "built\n" else "incomplete", f"{cpu * 1e6:.0f} {wall * 1e6:.0f}")
    shutil.rmtree(place)
    return 0


sys.exit(main())
