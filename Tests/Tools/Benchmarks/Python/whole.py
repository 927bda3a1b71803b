"""whole PROGRAM: what an advertisement and a notification cost the whole machine, with the real bluetoothd.

In a guest of Scripts/with-bluez whose processor takes a nanosecond for each instruction (-i), counting programs in C,
Python and Swift (`PROGRAM count`) receive what the peer sends. The processor time of the counting program, of the bus and
of bluetoothd is taken between two markers that the program has seen. Prints a line for each program and kind:

    whole KIND NAME ALL PROGRAM BUS BLUETOOTHD

The numbers are thousands of instructions for one advertisement or notification.
"""

import asyncio
import os
import select
import socket
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
DEVICES, RATE, ADVERTISEMENTS = 100, 1_000, 5_000
VALUES, VALUE_RATE, VALUE_LENGTH = 2_000, 200, 20
OUTPUT = "6e400003-b5a3-f393-e0a9-e50e24dcca9e"
MARKER = "ffffffff"
# Seconds, which are the guest's.
SETTLING, LIMIT = 2, 60
# How often a marker is sent that the program does not see, and the part of the advertisements that bluetoothd may merge.
MARKERS, MERGED = 5, 0.05


# --- the peer ---


def peer(*words):
    """The answer to a command of the peer."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect("/run/peer.sock")
        connection.sendall(" ".join(map(str, words)).encode() + b"\n")
        answer = connection.makefile().readline().strip()
    if answer.startswith("error"):
        raise RuntimeError(f"{' '.join(map(str, words))}: {answer}")
    return answer


def is_scanning():
    """Whether the adapter receives what the crowd sends."""
    before = peer("crowd", "sent")
    time.sleep(0.1)
    return peer("crowd", "sent") != before


def is_subscribed():
    return peer("subscribers") != "0"


def until(state, is_on, process=None):
    """Waits for a state of the peer, unless the process ends."""
    end = time.monotonic() + LIMIT
    while state() != is_on:
        if time.monotonic() > end or (process and process.poll() is not None):
            raise RuntimeError(f"{state.__name__} does not become {is_on}")
        time.sleep(0.05)


# --- processes ---


def find(name):
    """The number of the only process with that name."""
    found = [path.parent.name for path in Path("/proc").glob("[0-9]*/comm") if path.read_text().strip() == name]
    if len(found) != 1:
        raise RuntimeError(f"{len(found)} processes are called {name}")
    return int(found[0])


def used(process):
    """The processor time of a process, with threads that have ended, in nanoseconds."""
    # The clock of a process, as clock_getcpuclockid(3) makes it.
    return time.clock_gettime_ns(~process << 3 | 2)


class Counting:
    """A program that counts, for a `with`; the state in which it counts, and the words that send its marker."""

    def __init__(self, command, state, *marker):
        self.command, self.state, self.marker = command, state, marker
        self.processes = {"bus": find("dbus-daemon"), "bluetoothd": find("bluetoothd")}

    def __enter__(self):
        until(self.state, False)
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True)
        self.processes = {"program": self.process.pid, **self.processes}
        return self

    def __exit__(self, *_):
        # bluetoothd ends what it has begun for it.
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def mark(self):
        """The program's count when it sees a marker, and the processor times then."""
        for _ in range(MARKERS):
            peer(*self.marker)
            # (bluetoothd may merge one with the device's next advertisement.)
            if not select.select([self.process.stdout], [], [], SETTLING)[0]:
                continue
            line = self.process.stdout.readline()
            if line:
                return int(line), {name: used(process) for name, process in self.processes.items()}
            break
        raise RuntimeError(f"{self.command} does not see a marker")

    def measure(self, kind, name, send, may_merge=0):
        """Prints what one of those costs that `send` causes to be sent.

        It returns the number that was sent so far. A part of them may be merged.
        """
        until(self.state, True, self.process)
        time.sleep(SETTLING)
        first, before = self.mark()
        start = send(0)
        end = send(1)
        last, after = self.mark()
        sent = end - start
        if not (1 - may_merge) * sent <= last - first <= (1 + may_merge / 5) * sent:
            raise RuntimeError(f"{name} has counted {last - first} of {sent}")
        costs = {part: (after[part] - before[part]) / sent / 1000 for part in ("program", "bus", "bluetoothd")}
        if costs["program"] <= 0:
            raise RuntimeError(f"{name} has taken no time")
        numbers = [sum(costs.values()), *costs.values()]
        print("whole", kind, name, *(f"{number:.3f}" for number in numbers), flush=True)


# --- what is sent ---


def advertise(step):
    """How many advertisements have been sent, at once or after those of a measurement."""
    time.sleep(step * ADVERTISEMENTS / RATE)
    return int(peer("crowd", "sent"))


def notify(step):
    if step:
        peer("burst", VALUES, VALUE_LENGTH, VALUE_RATE)
    return step * VALUES


async def connect():
    """Connects to the peer's strap, and returns the path of the characteristic that it notifies."""
    from dbus_fast import BusType
    from dbus_fast.aio import MessageBus

    bus = await MessageBus(bus_type=BusType.SYSTEM).connect()

    async def interface(path, name):
        return bus.get_proxy_object("org.bluez", path, await bus.introspect("org.bluez", path)).get_interface(name)

    async def find_path(name, key, value):
        """The object whose property has that value, once there is one."""
        objects = await interface("/", "org.freedesktop.DBus.ObjectManager")
        while True:
            for path, interfaces in (await objects.call_get_managed_objects()).items():
                if key in interfaces.get(name, {}) and interfaces[name][key].value == value:
                    return path
            await asyncio.sleep(0.2)

    async with asyncio.timeout(LIMIT):
        adapter = await interface("/org/bluez/hci0", "org.bluez.Adapter1")
        await adapter.call_start_discovery()
        path = await find_path("org.bluez.Device1", "Address", "F0:F1:F2:F3:F4:F5")
        await adapter.call_stop_discovery()
        await (await interface(path, "org.bluez.Device1")).call_connect()
        path = await find_path("org.bluez.GattCharacteristic1", "UUID", OUTPUT)
    bus.disconnect()
    return path


def inside(program, libdbus):
    python = [sys.executable, str(Path(__file__).with_name("count-bleak.py"))]
    peer("crowd", DEVICES, RATE)
    kind = "advertisements"
    for name, command in {
        "libdbus": [libdbus, "advertisements"],
        "bleak": [*python, "advertisements"],
        "scope": [program, "count", "advertisements"],
        "kernel": [program, "count", "kernel"],
    }.items():
        with Counting(command, is_scanning, "crowd", "mark") as counting:
            counting.measure(kind, name, advertise, MERGED)
    # The kernel goes on for 10 s with what was killed.
    until(is_scanning, False)
    peer("crowd", "off")
    path = asyncio.run(connect())
    for kind in ("notifications", "socket"):
        for name, command in {
            "libdbus": [libdbus, kind, path],
            "bleak": [*python, kind, OUTPUT],
            "scope": [program, "count", kind, OUTPUT],
        }.items():
            with Counting(command, is_subscribed, "notify", MARKER) as counting:
                counting.measure(kind, name, notify)


def main():
    if sys.argv[1] == "--inside":
        return inside(*sys.argv[2:])
    program = sys.argv[1]
    # (The harness runs its programs where those of C are.)
    command = [ROOT / "Scripts/with-bluez", "-i", "-t", "800", sys.executable, __file__, "--inside"]
    os.execv(command[0], [*map(str, command), program, str(Path("count-libdbus").absolute())])


sys.exit(main())
