"""The measurements of Scripts/benchmark, as data: rows of programs that do the same, in one or several modes, and aims.

A command is the name of a program of C or Python, or `Benchmarks` for the Swift one, with arguments. {size} stands for
the mode's size, {count} and so on for its values. A program prints one line:

    COUNT complete|incomplete CPU WALL [NUMBER...]

CPU and WALL are microseconds for one of COUNT. A program with a `line` prints numbers after these words instead.
Several programs can have the same command, which then prints a line for each and runs once in a round.
"""

import math
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Mode:
    """The way in which all programs of a row are run."""

    key: str
    title: str = ""
    values: dict[str, int | str] = field(default_factory=dict)
    # Other values for some names with --quick.
    quick: dict[str, int | str] = field(default_factory=dict)
    # The number of devices, scans or peripherals, if the modes differ in it.
    size: int = 0
    # Not run: the additional cost of one mode against another, divided by the difference of their sizes. Both are keys,
    # the smaller first.
    between: tuple[str, str] | None = None
    # Whether the difference is between total costs, not between the costs of one of COUNT.
    is_of_totals: bool = False
    # Not in the table, because only such differences are shown.
    is_hidden: bool = False

    def filled(self, quick: bool = False) -> dict[str, int | str]:
        """The values for a command."""
        return {"size": self.size, **self.values, **(self.quick if quick else {})}


@dataclass(frozen=True)
class Program:
    key: str
    title: str
    command: str
    # A sentence for the page about the program.
    about: str = ""
    # The words with which its line begins.
    line: str = ""
    # Whether the numbers are totals. This matters only for differences of totals.
    has_totals: bool = False


@dataclass(frozen=True)
class Number:
    """One of the numbers of a program's line."""

    key: str
    unit: str
    # The index of the number: from 0 in a `line`; otherwise, CPU is 0 and WALL 1.
    index: int = 0
    # The factor that converts the number to the unit.
    scale: float = 1
    title: str = ""


@dataclass(frozen=True)
class Aim:
    """A program's number is to be at most `factor` times another. Without a reference, it is to be at most `factor`.

    The reference differs in the named items: program, mode or number. An item without a name is the row's first one for
    the program, and the program's own for the reference.
    """

    program: str
    factor: float
    reference: str = ""
    mode: str = ""
    reference_mode: str = ""
    number: str = ""
    reference_number: str = ""
    # The comparison, if the reference's name is not enough.
    text: str = ""

    @property
    def is_relative(self) -> bool:
        return bool(self.reference or self.reference_mode or self.reference_number)


@dataclass(frozen=True)
class Row:
    name: str
    title: str
    # The unit of a figure, in words.
    intro: str
    programs: tuple[Program, ...]
    # The heading of the first column.
    head: str = "receiver"
    modes: tuple[Mode, ...] = (Mode("only"),)
    # The fake bluetoothd; without one, there is no bus.
    fake: str = ""
    numbers: tuple[Number, ...] = (Number("cpu", "µs"),)
    # Programs that the others are compared with, and the words for that.
    compare: dict[str, str] = field(default_factory=dict)
    aims: tuple[Aim, ...] = ()
    # More for the page. {MODE_NAME} stands for a value of a mode.
    text: str = ""
    # Whether an incomplete run is a result, as with scans, which keep a bounded number of events.
    may_lose: bool = False
    is_quick: bool = True
    # The maximum number of rounds, for what takes minutes.
    rounds: int | None = None
    # The axis below a chart of the figures by size, and the figure's name.
    chart: tuple[str, str] | None = None
    # Whether the numbers are latencies, with a chart for each mode that has a line for each program.
    has_latency_charts: bool = False

    def __post_init__(self):
        for aim in self.aims:
            for key in (aim.program, aim.reference or aim.program):
                self.program(key)
            for key in (aim.mode, aim.reference_mode):
                self.mode(key)
            for key in (aim.number, aim.reference_number):
                self.number(key)
            assert math.isfinite(aim.factor) and aim.factor > 0

    def program(self, key: str) -> Program:
        return next(program for program in self.programs if program.key == key)

    def mode(self, key: str = "") -> Mode:
        """The mode of that key, or the first that is shown."""
        return next(mode for mode in self.modes if (mode.key == key if key else not mode.is_hidden))

    def number(self, key: str = "") -> Number:
        return next(number for number in self.numbers if not key or number.key == key)

    @property
    def shown_modes(self) -> list[Mode]:
        return [mode for mode in self.modes if not mode.is_hidden]


def paces(flood: int, paced: int, quick_flood: int, quick_paced: int = 500) -> tuple[Mode, ...]:
    """As fast as possible, and a thousand a second."""
    return (
        Mode("flood", "flood", {"count": flood, "rate": 0}, {"count": quick_flood}),
        Mode("paced", "1 kHz", {"count": paced, "rate": 1000}, {"count": quick_paced}),
    )


# Of the whole machine: thousands of instructions.
PARTS = tuple(
    Number(key, "k", index, title=title)
    for index, (key, title) in enumerate(
        (("all", "all"), ("program", "program"), ("bus", "bus"), ("bluetoothd", "bluetoothd")))
)
HEART_RATE = "0000180d-0000-1000-8000-00805f9b34fb"
NANOSECONDS = (Number("cpu", "ns"),)
# What parts of the events do not exceed.
LATENCIES = (
    Number("p50", "µs", 2, title="half"),
    Number("p99", "µs", 3, title="99 %"),
    Number("p999", "µs", 4, title="99.9 %"),
)
SCOPE, STREAM, OVER_GDBUS = "Swift, `withCentral`", "Swift, global executor", "Swift, over GDBus"
LIBDBUS, GDBUS, BLEAK = "C, libdbus", "C, GDBus", "Python, bleak"
AIOESPHOMEAPI = "Python, aioesphomeapi"
BY_LIBDBUS = {"libdbus": "libdbus"}
# The products that are libraries, as in Package.swift.
PRODUCTS = (
    "BLE", "BLEAssignedNumbers", "BLEBTHome", "BLEBeacons", "BLEBlueZ", "BLEDefinitions", "BLEESPHome", "BLEFakeBlueZ",
    "BLEFeatures", "BLEFirmware", "BLEObservation", "BLEProfiles", "BLEProxy", "BLERecording", "BLESimulation",
    "BLETransfers",
)

ROWS = (
    Row(
        "notification",
        "Notifications",
        "The cost of one notification: CPU time per value, from the bus to the user's code.",
        (
            Program(
                "libdbus", LIBDBUS, "receive-libdbus",
                "a filter and `dbus_connection_read_write_dispatch`, the minimum for any client that listens with "
                "libdbus."),
            Program("gdbus", GDBUS, "receive-gdbus", "`g_dbus_connection_signal_subscribe` and a main loop."),
            Program("bleak", BLEAK, "receive-bleak.py", "`BleakClient.start_notify`."),
            Program(
                "session", "Swift, bus session alone", "Benchmarks session",
                "the module `DBus`, decoding in its callback. No backend, central or stream."),
            Program(
                "stream", STREAM, "Benchmarks stream",
                "`peripheral.notifications(…)` of a `Central()`, read on the global executor. Each time the reader "
                "has caught up, waking it takes a hop to another thread."),
            Program(
                "scope", SCOPE, "Benchmarks scope",
                "the same in `withCentral`, as the README shows it, read on the delivering thread."),
            Program(
                "over-gdbus", OVER_GDBUS, "Benchmarks gdbus",
                "the same with `BlueZConnection(transport: .gdbus)`: GDBus carries the messages."),
        ),
        modes=paces(100_000, 5_000, 20_000),
        fake="fake-bluez {count} {rate}",
        compare={**BY_LIBDBUS, "bleak": "bleak"},
        aims=(
            Aim("scope", 1.0, "libdbus", "flood"),
            Aim("scope", 0.9, "bleak", "flood"),
            Aim("scope", 0.8, "bleak", "paced"),
        ),
        text="""
            The sender is `fake-bluez`: an `org.bluez` with one connected peripheral. After StartNotify, it sends
            PropertiesChanged signals with a 20-byte value that contains a counter, and a marker at the end. *Flood* is
            {flood_count} values, sent as fast as the bus accepts them; *1 kHz* is {paced_count} values on an absolute
            schedule of one per millisecond. In a flood, the bus is the bottleneck, not the receiver.
            """,
    ),
    Row(
        "latency",
        "The latency of notifications",
        "The time from the moment when a value is sent until the user's code has it, in µs: what half, 99 % and 99.9 % "
        "of the values do not exceed.",
        (
            Program("libdbus", LIBDBUS, "receive-libdbus latency"),
            Program("bleak", BLEAK, "receive-bleak.py latency"),
            Program("stream", STREAM, "Benchmarks latency stream"),
            Program("scope", SCOPE, "Benchmarks latency scope"),
        ),
        modes=tuple(
            Mode(str(rate), f"{rate:,}/s", {"count": count, "rate": rate})
            for rate, count in ((100, 1_000), (1_000, 5_000), (10_000, 50_000))
        ),
        fake="fake-bluez {count} {rate}",
        numbers=LATENCIES,
        aims=tuple(
            Aim("scope", factor, reference, mode, number="p99")
            for mode in ("100", "1000", "10000")
            for reference, factor in (("libdbus", 1.5), ("bleak", 0.5))
        ),
        text="""
            The programs and the sender are those of the section on notifications. The sender writes the time into each
            value, and the receiver reads the same clock. Between them are the sender's message, the bus, and the
            receiver's wake-up. The numbers of values are {100_count}, {1000_count} and {10000_count}.
            """,
        has_latency_charts=True,
        is_quick=False,
    ),
    Row(
        "scan",
        "Scanning",
        "The cost of one change of an advertising device: CPU time per change, from the bus to the user's code, with "
        "{all_size} devices in range and a total of {all_rate} changes per second.",
        (
            Program(
                "libdbus", LIBDBUS, "scan-libdbus {size}",
                "a filter that reads RSSI and manufacturer data from each signal. It stores nothing about devices."),
            Program("bleak", BLEAK, "scan-bleak.py {size}", "`BleakScanner` with a detection callback."),
            Program("bleak-matching", "bleak, one in ten", f"scan-bleak.py {{size}} {HEART_RATE}"),
            Program(
                "stream", STREAM, "Benchmarks scan stream {size}",
                "`central.discoveryEvents(duplicates: true)` of a `Central()`, read on the global executor."),
            Program("scope", SCOPE, "Benchmarks scan scope {size}", "the same in `withCentral`."),
            Program("matching", "Swift, one in ten", "Benchmarks scan matching {size}"),
        ),
        head="receiver of a scan",
        modes=(Mode("all", "", {"count": 50_000, "rate": 10_000}, {"count": 5_000}, size=1000),),
        fake="fake-scan {count} {rate} {size}",
        compare={**BY_LIBDBUS, "bleak": "bleak"},
        aims=(
            Aim("scope", 1.3, "libdbus"),
            Aim("scope", 0.5, "bleak"),
            Aim("matching", 1.3, "libdbus"),
            Aim("matching", 0.5, "bleak-matching"),
        ),
        text="""
            The sender is `fake-scan`, an `org.bluez` whose devices advertise names, services and manufacturer data.
            StartDiscovery makes it announce each device with InterfacesAdded, and then send {all_count} changes on an
            absolute schedule. The devices take turns. Every change has an RSSI, and one in four has new manufacturer
            data as well. Only the changes are measured.

            In a complete round, the receiver got every change; the figures are those of the complete rounds. A scan in
            Swift keeps the newest 1024 unread events, which is about 100 ms of them here, and drops older ones. Each
            receiver checks the device, RSSI and data of each change.

            The cost depends on how many changes arrive together. In C and in bleak, that is left to chance: on an idle
            machine, each arrives alone and wakes the receiver. A scan in Swift tolerates that events come 5 ms late, so
            that about fifty are read at once.

            *One in ten* is the same as the line before, but filters for a service that one device in ten advertises,
            with `matching:` in Swift and `service_uuids` in bleak. The bus still carries the changes of all devices, as
            it does when another program scans without a filter. The figure is per change on the bus.
            """,
        may_lose=True,
    ),
    Row(
        "devices",
        "Scanning: how many devices",
        "The cost of one change by the number of devices in range, at the same total of {1000_rate} changes per "
        "second.",
        (Program("scope", SCOPE, "Benchmarks scan scope {size}"),),
        modes=tuple(
            Mode(str(size), f"{size:,} devices", {"count": 50_000, "rate": 10_000}, {"count": 4_000}, size=size)
            for size in (50, 1000, 2000)
        ),
        fake="fake-scan {count} {rate} {size}",
        may_lose=True,
        chart=("devices in range", "µs per change"),
        text="If the cost does not depend on the number of devices, the ratio is 1.",
    ),
    Row(
        "gateway",
        "A BTHome gateway",
        "The cost of one report of a BTHome sensor: CPU time per report, from the bus to decoded values, with "
        "{all_size} sensors in range and a total of {all_rate} reports per second.",
        (
            Program(
                "bleak", "Python, bthome-ble", "gateway-bleak.py {size}",
                "a `BleakScanner` whose detection callback hands each report to bthome-ble, the decoder of Home "
                "Assistant, in the way that program does."),
            Program("scope", SCOPE, "Benchmarks gateway {size}", "a scan in `withCentral`, decoded with `BLEBTHome`."),
        ),
        head="gateway",
        modes=(Mode("all", "", {"count": 25_000, "rate": 5_000}, {"count": 2_500}, size=1000),),
        fake="fake-scan {count} {rate} {size} bthome",
        compare={"bleak": "Python"},
        aims=(Aim("scope", 0.3, "bleak"),),
        text="""
            The sender is `fake-scan`. Every change of a device has an RSSI and a report of BTHome v2, not encrypted,
            with battery, temperature and humidity. Each receiver checks every value.
            """,
        may_lose=True,
    ),
    Row(
        "broker",
        "A gateway to a broker",
        "The CPU time of a gateway as a whole program, in percent of a core, and its resident memory, with {all_size} "
        "BTHome sensors in range and a total of {all_pace} reports per second, on a mosquitto of its own.",
        (
            Program(
                "theengs", "Theengs Gateway", "gateway-program.py theengs {size}",
                "TheengsGateway 1.8 (PyPI), which publishes each report, here without its values: its decoder does "
                "not know these sensors."),
            Program(
                "ble", "`ble gateway`", "gateway-program.py ble {size}",
                "decodes each report, and publishes the values of a sensor at most once a second."),
        ),
        head="gateway",
        modes=(Mode("all", "", {"count": 900_000, "pace": 10_000}, size=1000),),
        fake="fake-scan {count} {pace} {size} bthome",
        numbers=(Number("cpu", "%", 0, 1, "CPU"), Number("memory", "MB", 1, 1e-6, "memory")),
        compare={"theengs": "Theengs"},
        aims=(Aim("ble", 0.1, "theengs", number="cpu"),),
        text="""
            The sender is `fake-scan`. Each gateway is measured for 20 s, from the time on when most sensors are on the
            broker.
            """,
        is_quick=False,
    ),
    Row(
        "socket",
        "Notifications through a socket",
        "The cost of one notification that comes through the socket of AcquireNotify: CPU time per value.",
        (
            Program("c", "C", "receive-socket", "AcquireNotify with libdbus, then `recv` and `poll` on the socket."),
            Program("bleak", BLEAK, "receive-socket-bleak.py", "`BleakClient.start_notify`, through the socket."),
            Program(
                "stream", STREAM, "Benchmarks socket stream",
                "`notifications(…, delivery: .socket)` of a `Central()`."),
            Program("scope", SCOPE, "Benchmarks socket scope", "the same in `withCentral`."),
        ),
        modes=paces(100_000, 5_000, 20_000),
        fake="fake-sockets {count} {rate}",
        compare={"c": "C", "bleak": "bleak"},
        aims=(
            Aim("scope", 1.3, "c", "flood"),
            Aim("scope", 0.35, "bleak", "flood"),
            Aim("scope", 0.8, "bleak", "paced"),
        ),
        text="The sender is `fake-sockets`: as `fake-bluez`, but each value is a packet of 20 bytes in a socket.",
    ),
    Row(
        "proxy",
        "Notifications through a proxy",
        "The cost of one notification that comes from a Bluetooth proxy of ESPHome, encrypted: CPU time per value, "
        "from the connection of the proxy to the user's code.",
        (
            Program(
                "aioesphomeapi", AIOESPHOMEAPI, "receive-aioesphomeapi.py values",
                "aioesphomeapi 46.23 (PyPI), with `bluetooth_gatt_start_notify`."),
            Program(
                "stream", STREAM, "Benchmarks proxy stream values 0",
                "`peripheral.notifications(…)` of a `Central(backend: .esphome(…))`."),
            Program("scope", SCOPE, "Benchmarks proxy scope values 0", "the same in `withCentral`."),
        ),
        modes=paces(100_000, 5_000, 20_000),
        fake="fake-proxy.py values {count} {rate}",
        compare={"aioesphomeapi": "aioesphomeapi"},
        aims=(Aim("scope", 0.2, "aioesphomeapi", "flood"), Aim("scope", 0.2, "aioesphomeapi", "paced")),
        text="""
            The sender is `fake-proxy`, whose frames are ready before the first is sent. Each has a value of 20 bytes.
            """,
        is_quick=False,
    ),
    Row(
        "proxyscan",
        "Scanning through a proxy",
        "The cost of one advertisement that comes from a Bluetooth proxy of ESPHome, encrypted: CPU time per "
        "advertisement, from the connection of the proxy to the user's code, with 1,000 devices in range.",
        (
            Program(
                "raw", AIOESPHOMEAPI, "receive-aioesphomeapi.py raw",
                "aioesphomeapi 46.23 (PyPI), with `subscribe_bluetooth_le_raw_advertisements`. The program gets the "
                "bytes of each advertisement, and does not decode them."),
            Program(
                "decoded", "aioesphomeapi, decoded", "receive-aioesphomeapi.py decoded",
                "the same, with `parse_advertisement_data_bytes` of bluetooth-data-tools, as in Home Assistant. It "
                "keeps nothing about the devices."),
            Program(
                "stream", STREAM, "Benchmarks proxy stream advertisements 1000",
                "`central.discoveryEvents(duplicates: true)` of a `Central(backend: .esphome(…))`."),
            Program("scope", SCOPE, "Benchmarks proxy scope advertisements 1000", "the same in `withCentral`."),
        ),
        head="receiver of a scan",
        modes=(
            Mode("flood", "flood", {"count": 200_000, "rate": 0}, {"count": 20_000}),
            Mode("paced", "10 kHz", {"count": 50_000, "rate": 10_000}, {"count": 5_000}),
        ),
        fake="fake-proxy.py advertisements {count} {rate}",
        compare={"raw": "aioesphomeapi", "decoded": "decoded"},
        aims=tuple(
            Aim("scope", 0.2, reference, mode) for mode in ("flood", "paced") for reference in ("raw", "decoded")),
        text="""
            The sender is `fake-proxy`, which sends raw advertisements, 16 in a message as firmware does. Each has five
            structures in 45 bytes, and one in four has new manufacturer data. All receivers check the device, RSSI and
            data of each. Scans in Swift also keep what each device advertises, and tell when it is gone.
            """,
        is_quick=False,
    ),
    Row(
        "proxyserver",
        "This machine as a proxy",
        "The cost of one notification, and of one change of an advertising device, in a program that offers its radio "
        "as a proxy: CPU time per value, from the bus to an encrypted connection.",
        (
            Program(
                "central", SCOPE, "Benchmarks {alone}", "no proxy: the central alone, as in the sections above."),
            Program(
                "server", "`ProxyServer`", "served.py Benchmarks {kind} {size}",
                "the same central with a `ProxyServer`, which has one client, encrypted."),
        ),
        head="program",
        modes=(
            Mode(
                "values", "a value", {
                    "alone": "scope", "kind": "values", "fake": "fake-bluez 25000 5000"},
                {"fake": "fake-bluez 2500 5000"}),
            Mode(
                "changes", "a change", {
                    "alone": "scan scope 1000", "kind": "advertisements", "fake": "fake-scan 50000 10000 1000"},
                {"fake": "fake-scan 5000 10000 1000"}, size=1000),
        ),
        fake="{fake}",
        compare={"central": "central"},
        text="""
            The senders are those of the sections on notifications, here with 5,000 values a second, and scanning. The
            client is another process, which checks all values, and whose time does not count.
            """,
        may_lose=True,
        is_quick=False,
    ),
    Row(
        "choice",
        "Several radios",
        "The cost of one advertisement that a radio receives, on the simulated radio: CPU time, up to the user's loop.",
        (
            Program("backend", "no choice", "Benchmarks choice", "`Central(backend:)`.", line="choice 0 {size}"),
            Program("one", "one radio", "Benchmarks choice", "`Central(radios:)` with one.", line="choice 1 {size}"),
            Program(
                "five", "five radios", "Benchmarks choice",
                "`Central(radios:)` with five, all of which receive every advertisement. The loop gets those of one of "
                "them.", line="choice 5 {size}"),
        ),
        head="central",
        modes=(Mode("10", "10 peripherals", size=10), Mode("1000", "1,000 peripherals", size=1000)),
        numbers=NANOSECONDS,
        compare={"backend": "no choice"},
        aims=(
            Aim("one", 1.05, "backend", "1000"),
            Aim("five", 1.2, mode="1000", reference_mode="10", text="10 peripherals"),
        ),
    ),
    Row(
        "write",
        "Writing without response",
        "The cost of writing one packet of 20 bytes without response: CPU time per packet, from the user's code "
        "until all have arrived.",
        (
            Program(
                "c", "C", "write-socket {count}",
                "AcquireWrite with libdbus, then `send` and `poll` on the socket."),
            Program(
                "bleak", BLEAK, "write-bleak.py {count}",
                "`BleakClient.write_gatt_char`, which has no socket: it calls WriteValue for each, and awaits the "
                "reply."),
            Program(
                "scope", SCOPE, "Benchmarks write scope {count}",
                "`peripheral.packetWriter(to:)` in `withCentral`."),
        ),
        head="writer",
        modes=(Mode("all", "", {"count": 20_000}, {"count": 2_000}),),
        fake="fake-sockets {count} 0",
        compare={"c": "C", "bleak": "bleak"},
        aims=(Aim("scope", 1.3, "c"),),
        text="`fake-sockets` checks that all {all_count} packets come in order, and answers a read when they have.",
    ),
    Row(
        "stream",
        "A stream's element",
        "The cost of one element of a stream, from its producer to a reader that need not wait.",
        (
            Program("ours", "`BoundedStream`", "Benchmarks elements", "the framework's own.", line="stream ours"),
            Program(
                "asyncstream", "`AsyncStream`", "Benchmarks elements", "the standard library's.",
                line="stream asyncstream"),
            Program(
                "mutex", "array in a `Mutex`", "Benchmarks elements",
                "the least that hands elements from one thread to another.", line="stream mutex"),
        ),
        head="stream",
        numbers=NANOSECONDS,
        compare={"asyncstream": "`AsyncStream`"},
        aims=(Aim("ours", 0.08, "asyncstream"),),
    ),
    Row(
        "read",
        "Reading",
        "The cost of reading a characteristic of 20 bytes: CPU time per read, call and reply.",
        (
            Program("gdbus", GDBUS, "read-gdbus {count} {parallel}", "`g_dbus_connection_call` of ReadValue."),
            Program(
                "dbus-fast", "Python, dbus-fast", "read-dbus-fast.py {count} {parallel}",
                "`MessageBus.call` of ReadValue."),
            Program("bleak", BLEAK, "read-bleak.py {count} {parallel}", "`BleakClient.read_gatt_char`."),
            Program("scope", SCOPE, "Benchmarks read scope {count} {parallel}", "`peripheral.read` in `withCentral`."),
            Program(
                "over-gdbus", OVER_GDBUS, "Benchmarks read gdbus {count} {parallel}",
                "the same with `BlueZConnection(transport: .gdbus)`."),
        ),
        head="reader",
        modes=(
            Mode("sequential", "one at a time", {"count": 10_000, "parallel": 1}, {"count": 1_000}),
            Mode("parallel", "16 at a time", {"count": 10_000, "parallel": 16}, {"count": 1_000}),
        ),
        fake="fake-bluez 0 0",
        compare={"gdbus": "GDBus", "dbus-fast": "dbus-fast"},
        aims=(
            Aim("scope", 1.2, "gdbus", "sequential"),
            Aim("scope", 1.0, "dbus-fast", "parallel"),
        ),
        text="""
            `fake-bluez` answers {sequential_count} reads from memory. Those that are made at a time are of 16
            characteristics: bluetoothd serves one read of a characteristic at a time.
        """,
    ),
    Row(
        "beside",
        "The latency of a read beside a scan",
        "The time that a read of a characteristic takes in a program that scans meanwhile, in µs: what half, 99 % and "
        "99.9 % of the reads do not exceed.",
        (
            Program("bleak", BLEAK, "read-beside-bleak.py {count} {devices}"),
            Program("stream", STREAM, "Benchmarks beside stream {count} {devices}"),
            Program("scope", SCOPE, "Benchmarks beside scope {count} {devices}"),
        ),
        head="reader",
        modes=(
            Mode("alone", "alone", {"count": 5_000, "devices": 0, "changes": 0}),
            *(
                Mode(str(changes), f"{changes:,} changes/s", {"count": 5_000, "devices": 1_000, "changes": changes})
                for changes in (1_000, 10_000)
            ),
        ),
        fake="fake-busy {changes} {devices}",
        numbers=LATENCIES,
        aims=tuple(
            Aim("scope", 2, mode=mode, reference_mode="alone", number="p99", text="alone") for mode in ("1000", "10000")
        ),
        text="""
            The reads are made one after the other, {alone_count} of them. The scan has found {1000_devices} devices
            before the first, reports each of their changes (`duplicates: true`), and is read by a task of the same
            program. `fake-busy` sends the changes on an absolute schedule, and a change that is due goes out before
            the answer to a read.
            """,
        has_latency_charts=True,
        is_quick=False,
    ),
    Row(
        "known",
        "Known devices",
        "The cost of a device that bluetoothd knows when the program starts: CPU time and memory per device, of "
        "{all_size}.",
        (
            Program(
                "libdbus", LIBDBUS, "known-libdbus {size}",
                "GetManagedObjects, read into a table of what a scan tells."),
            Program("bleak", BLEAK, "known-bleak.py {size}", "the start of a `BleakScanner`."),
            Program(
                "scope", SCOPE, "Benchmarks known {size}", "`knownPeripherals()` in `withCentral`.", has_totals=True),
        ),
        head="program",
        modes=(
            Mode("each", between=("none", "all"), is_of_totals=True),
            Mode("none", size=0, is_hidden=True),
            Mode("all", size=2000, is_hidden=True),
        ),
        fake="fake-known {size}",
        numbers=(Number("cpu", "µs"), Number("memory", "B", 2, title="memory")),
        compare={**BY_LIBDBUS, "bleak": "bleak"},
        aims=(
            Aim("scope", 1.5, "libdbus"),
            Aim("scope", 0.5, "bleak"),
            Aim("scope", 512, number="memory"),
            Aim("scope", 0.3, "bleak", number="memory"),
        ),
        text="""
            Each program runs twice, with {all_size} devices and with none, and the figures are the differences. The
            memory is by how much the process has grown, after it has returned to the system what is free.
            """,
    ),
    Row(
        "scanners",
        "Scans at the same time",
        "The cost of one change by the number of scans that one program reads at the same time, on one adapter: CPU "
        "time per change, for all its readers together.",
        (Program("scope", SCOPE, "Benchmarks scanners {size}"),),
        modes=(
            *(
                Mode(
                    str(size), f"{size} scan{'s' if size > 1 else ''}",
                    {"count": 50_000, "rate": 10_000, "devices": 1000}, {"count": 3_000}, size=size)
                for size in (1, 10, 100)
            ),
            Mode("first", "each to 10", between=("1", "10")),
            Mode("further", "each to 100", between=("1", "100")),
        ),
        fake="fake-scan {count} {rate} {devices}",
        aims=(
            Aim("scope", 1.0, mode="further", reference_mode="first", text="each to 10"),
        ),
        text="""
            Each scan has the events of all {1_devices} devices. The last two lines are what each further scan adds. The
            cost grows at most linearly if it adds no more from 1 to 100 than from 1 to 10.
            """,
        may_lose=True,
        chart=("scans at the same time", "µs per change"),
    ),
    Row(
        "peripherals",
        "Connected peripherals",
        "The cost of one notification by the number of connected peripherals that notify, {1_rate} values per second "
        "in total.",
        (Program("scope", SCOPE, "Benchmarks peripherals {size}"),),
        modes=tuple(
            Mode(
                str(size), f"{size:,} peripheral{'s' if size > 1 else ''}", {"count": 50_000, "rate": 10_000},
                {"count": 4_000}, size=size)
            for size in (1, 10, 100, 1000)
        ),
        fake="fake-many {count} {rate} {size}",
        aims=(Aim("scope", 1.2, mode="1000", reference_mode="10", text="10 peripherals"),),
        text="""
            The sender is `fake-many`, whose peripherals have one characteristic each and take turns. It begins when all
            are subscribed.
            """,
        chart=("connected peripherals", "µs per value"),
    ),
    Row(
        "exchange",
        "A request and its reply",
        "The cost of a request and its reply on the simulation, with payloads of ten bytes: CPU time in all "
        "participants, which are the session, the central, the simulated radio, and the device's answer.",
        (
            Program("plain", "plain", "Benchmarks codec", line="exchange plain"),
            Program("sealed", "encrypted", "Benchmarks codec", line="exchange sealed"),
        ),
        head="messages",
        aims=(Aim("plain", 51), Aim("sealed", 82)),
        text="Over the air, a request and its reply take at least two connection intervals, 15 ms.",
    ),
    Row(
        "codec",
        "The message codec",
        "The CPU time to encode and decode one 15-byte frame of `BLEFeatures`.",
        (
            Program("place", "in place", "Benchmarks codec", line="{how} {place}"),
            Program("copy", "copied", "Benchmarks codec", line="{how} {copy}"),
            Program("data", "with `Data`", "Benchmarks codec", line="{how} data"),
        ),
        head="15-byte frame",
        modes=(
            Mode("encode", "encode", {"how": "encode", "place": "buffer", "copy": "array"}),
            Mode("decode", "decode", {"how": "decode", "place": "header", "copy": "message"}),
        ),
        numbers=NANOSECONDS,
        compare={"data": "`Data`"},
        aims=(
            Aim("place", 10, mode="encode"),
            Aim("place", 0.025, "data", "encode"),
            Aim("place", 3, mode="decode"),
            Aim("place", 0.025, "data", "decode"),
        ),
        text="""
            The variants take turns in one process, each processing the same 1024 frames two thousand times, and their
            results must agree. *With `Data`* is the same message written with Foundation, by appending to and slicing
            `Data`. *In place* is what a sender and a receiver need: encoding into a buffer; and every check of the
            header, and the payload as a span, to dispatch a frame. *Copied* creates an array, or a `Message`, whose
            payload is an array.
            """,
    ),
    Row(
        "radio",
        "The simulated radio",
        "The CPU time of one event of the simulated radio, up to the user's loop.",
        (
            Program(
                "events", "a notified value", "Benchmarks radio", "one peripheral notifies.", line="radio events"),
            Program(
                "advertisers", "an advertisement", "Benchmarks radio", "10,000 peripherals advertise, in virtual time.",
                line="radio advertisers"),
        ),
        head="event",
        numbers=NANOSECONDS,
        aims=(Aim("events", 1000), Aim("advertisers", 1000)),
    ),
    Row(
        "crowd",
        "A crowd on the simulated radio",
        "The CPU time of a virtual second, in which 10,000 peripherals advertise once and one central scans, with "
        "`run(for:)`. 20 ms are 50 virtual seconds in a real one.",
        (
            Program(
                "aligned", "all at the same moments", "Benchmarks crowd", "intervals of 1 s.", line="crowd aligned"),
            Program(
                "delayed", "each after its random delay", "Benchmarks crowd",
                "`setAdvertisingDelays(seed:)`: some 1,600 moments in a second.", line="crowd delayed"),
        ),
        head="advertisements",
        numbers=(Number("cpu", "ms"),),
        aims=(Aim("aligned", 20), Aim("delayed", 50)),
    ),
    Row(
        "start",
        "Starting",
        "The cost of a small program that scans until it discovers a device: CPU time and time, from its start to "
        "its end.",
        (
            Program("bleak", BLEAK, "outside.py start-bleak.py", "imports bleak, and scans with a `BleakScanner`."),
            Program(
                "bluetoothctl", "C, bluetoothctl", "outside.py --until '] Device ' bluetoothctl --timeout 30 scan on",
                "`scan on`, ended when it shows the device."),
            Program("scope", SCOPE, "outside.py FirstDiscovery", "`central.discoveries()` in `withCentral`."),
            Program(
                "static", "Swift, linked statically", "outside.py static-FirstDiscovery",
                "the same, with Swift's libraries linked into it, as the programs of the row `size` are."),
        ),
        head="program",
        fake="fake-known 0",
        numbers=(Number("cpu", "ms", 0, 1e-3, "CPU"), Number("wall", "ms", 1, 1e-3, "time")),
        compare={"bleak": "bleak"},
        aims=(
            Aim("scope", 0.15, "bleak", number="cpu"),
            Aim("scope", 0.15, "bleak", number="wall"),
            Aim("static", 0.15, "bleak", number="cpu"),
            Aim("static", 0.15, "bleak", number="wall"),
        ),
    ),
    Row(
        "size",
        "The size of a program",
        "The size of a release build, with Swift's libraries linked into it, with the options of "
        "[Daemon.md](Daemon.md) for a small program, and stripped.",
        (
            Program("first", "the first program", "size.py static-FirstProgram", "the first program of the README."),
            Program("ble", "`ble`", "size.py static-ble", "the command line tool, with everything."),
        ),
        head="program",
        numbers=(Number("size", "MB", 2, 1e-6),),
        aims=(Aim("first", 10), Aim("ble", 20)),
        is_quick=False,
    ),
    Row(
        "build",
        "The first build",
        "The cost of the first debug build of a program that depends on these products alone: time, and processor time "
        "of all that it takes.",
        (
            Program("bluez", "`BLE` and `BLEBlueZ`", "build.py BLE BLEBlueZ"),
            Program(
                "nio", "swift-nio", "build.py https://github.com/apple/swift-nio@2.101.2:NIOPosix",
                "`NIOPosix`, for a comparison."),
            *(Program(product, f"`{product}`", f"build.py {product}") for product in PRODUCTS),
        ),
        head="product",
        numbers=(Number("wall", "s", 1, 1e-6, "time"), Number("cpu", "s", 0, 1e-6, "CPU")),
        aims=(Aim("bluez", 60, number="wall"),),
        text="""
            The sources of all dependencies are there before: how long they take to fetch is the network's matter. The
            parts that products have in common are built for each of them again here.
            """,
        is_quick=False,
        rounds=1,
    ),
    Row(
        "whole",
        "An advertisement, with bus and bluetoothd",
        "The cost of one advertisement for the program, the bus and bluetoothd together: thousands of instructions, "
        "the kernel's for them too, with 100 devices in range and a total of 1,000 changes per second.",
        (
            Program("libdbus", LIBDBUS, "whole.py Benchmarks", line="whole advertisements libdbus"),
            Program(
                "bleak", BLEAK, "whole.py Benchmarks", "`BleakScanner` with a detection callback.",
                line="whole advertisements bleak"),
            Program(
                "scope", SCOPE, "whole.py Benchmarks", "`central.discoveryEvents(duplicates: true)`.",
                line="whole advertisements scope"),
            Program(
                "kernel", "Swift, management socket", "whole.py Benchmarks",
                "the same with `withCentral(backend: .bluez(advertisements: .managementSocket))`: the kernel scans in "
                "place of bluetoothd, and the bus has no part in it.",
                line="whole advertisements kernel"),
        ),
        numbers=PARTS,
        compare={"bleak": "bleak"},
        aims=(Aim("scope", 0.7, "bleak"), Aim("kernel", 0.7, "bleak"), Aim("kernel", 0.3, "scope")),
        text="""
            This is the distribution's bluetoothd and kernel, in a guest whose processor takes a nanosecond for each
            instruction, so that its clocks count instructions, however busy the machine is that emulates it
            (`Scripts/with-bluez -i`). It knows no caches, and no time to wake a processor up. The devices are a
            virtual controller's, advertise at random times, and change their data with each advertisement. 5,000 are
            counted, of which bluetoothd may merge one in twenty. Not in the figures are the kernel's handling of the
            controller's events, and the controller.

            [Scanning](Scanning.md#advertisements-from-the-kernel) has what the management socket asks in return: a
            capability, a longer first connection, and regard for other programs that scan. It suits a program that is
            alone on its adapter, and mostly listens. `ble gateway` has the option, too: `--management-socket`.
            """,
        is_quick=False,
        rounds=1,
    ),
    Row(
        "wholevalues",
        "A notification, with bus and bluetoothd",
        "The cost of one notification for the program, the bus and bluetoothd together: thousands of instructions, the "
        "kernel's for them too. It comes over the bus, or through AcquireNotify's socket, which bypasses the bus.",
        (
            Program("libdbus", LIBDBUS, "whole.py Benchmarks", line="whole {kind} libdbus"),
            Program("bleak", BLEAK, "whole.py Benchmarks", line="whole {kind} bleak"),
            Program("scope", SCOPE, "whole.py Benchmarks", line="whole {kind} scope"),
        ),
        modes=(
            Mode("notifications", "over the bus", {"kind": "notifications"}),
            Mode("socket", "through the socket", {"kind": "socket"}),
        ),
        numbers=PARTS,
        compare={"bleak": "bleak"},
        aims=(Aim("scope", 0.7, "bleak", "notifications"), Aim("scope", 0.7, "bleak", "socket")),
        text="""
            As in the section on advertisements. A peripheral on an independent stack notifies 200 values of 20 bytes a
            second, of which 2,000 are counted.
            """,
        is_quick=False,
        rounds=1,
    ),
    Row(
        "serve",
        "Serving",
        "The cost of one value that this machine notifies as a peripheral: CPU time per value, from the program's "
        "call to the bus.",
        (
            Program(
                "gdbus", GDBUS, "serve-gdbus {count} {rate}",
                "`g_dbus_connection_emit_signal` from the main loop, with a timer of whole milliseconds."),
            Program(
                "python", "Python, bluez-peripheral", "serve-bluez-peripheral.py {count} {rate}",
                "`Characteristic.changed` from asyncio. This version uses dbus-fast, which writes to the socket "
                "itself. GDBus has a thread for that, and waking it is most of a flood's cost."),
            Program(
                "handler", "Swift, `notify`", "Benchmarks serve handler {count} {rate}",
                "`notifier.notify` in the characteristic's `onSubscribe`, which runs on the global executor."),
            Program(
                "loop", "Swift, on the loop", "Benchmarks serve loop {count} {rate}",
                "the same, in `withTaskExecutorPreference(backend.taskExecutor)`."),
        ),
        head="server",
        modes=paces(100_000, 5_000, 10_000),
        fake="fake-central {count} {rate}",
        compare={"gdbus": "GDBus", "python": "Python"},
        aims=tuple(
            Aim(program, factor, reference, mode)
            for mode in ("flood", "paced")
            for program in ("handler", "loop")
            for reference, factor in (("gdbus", 1.3), ("python", 0.5))
        ),
        text="""
            `fake-central` is an `org.bluez` that accepts an application, subscribes to its first characteristic that
            notifies, and checks that all values of 20 bytes arrive in order. After the last one it ends the
            subscription, which ends the measurement. *Flood* and *1 kHz* are {flood_count} and {paced_count} values. In
            a flood, at most about a hundred values are on their way; at 1 kHz, each program uses the timers of its own
            library, and most of the cost is that of waking up.
            """,
    ),
    Row(
        "memory",
        "Memory",
        "The memory of a process after a while, and after many more values.",
        (
            Program(
                "stalled", "stalled reader", "Benchmarks memory stalled", line="memory stalled"),
            Program(
                "passing", "passing devices", "Benchmarks memory passing", line="memory passing"),
            Program(
                "hour", "an hour of devices", "Benchmarks memory hour", "10,000 peripherals that come into range, stay "
                "for 30 s and are lost: before the first, and after the last, with what is free returned to the "
                "system. The hour is a virtual one.", line="memory hour"),
        ),
        head="process",
        numbers=(Number("start", "KiB", 0, title="at first"), Number("end", "KiB", 1, title="at the end")),
        aims=tuple(
            Aim(program, 1.05, number="end", reference_number="start", text="at first")
            for program in ("stalled", "passing", "hour")
        ),
        is_quick=False,
    ),
)
