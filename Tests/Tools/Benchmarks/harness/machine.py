"""The machine and the versions of a measurement, one item a line."""

import os
import platform
import re
import resource
import subprocess
from pathlib import Path

MEASURED = ("bleak", "bluez-peripheral", "bthome-ble", "dbus-fast")


def output(*command: str) -> str:
    """The output of a command; nothing if it fails or is missing."""
    try:
        return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout.strip()
    except OSError:
        return ""


def first(pattern: str, text: str) -> str:
    found = re.search(pattern, text, re.M)
    return found.group(1) if found else "?"


def used() -> float:
    """The time for which processors of this machine were in use since its start, by whatever, in seconds."""
    user, nice, system, _, _, *rest = map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9])
    return (user + nice + system + sum(rest)) / os.sysconf("SC_CLK_TCK")


def own() -> float:
    """The part of it that this process used, and those that it has started and that have ended."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(sum(resource.getrusage(kind)[:2]) for kind in kinds)


def describe(sources: Path, python: Path) -> dict[str, str]:
    system = platform.freedesktop_os_release()["PRETTY_NAME"]
    requirements = (sources / "Python/requirements.txt").read_text("utf-8")
    version = output(str(python), "-c", "import platform; print(platform.python_version())")
    libraries = [f"{name} {first(rf'^{name}==(.*)$', requirements)}" for name in MEASURED]
    return {
        "processor": f"{first(r'^model name[^:]*: *(.*)$', Path('/proc/cpuinfo').read_text())}, "
        f"{len(os.sched_getaffinity(0))} processors in use",
        "system": f"{system}, Linux {first(r'^([0-9.]*[0-9])', platform.release())} {platform.machine()}",
        "libraries": f"libdbus {output('pkg-config', '--modversion', 'dbus-1')}, "
        f"GLib {output('pkg-config', '--modversion', 'gio-2.0')}, "
        f"dbus-daemon {first(r'Daemon (.*)$', output('dbus-daemon', '--version'))}",
        "Python": ", ".join([version, *libraries]),
        "Swift": f"{first(r'Swift version ([0-9.]*[0-9])', output('swift', '--version'))}, release build",
    }
