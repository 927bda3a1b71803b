import Testing

@testable import BLEBlueZ

/// The doctor's findings for given facts, without a machine in that state.
@Suite struct DoctorTests {
    /// A machine without problems.
    private static func facts(_ change: (inout DoctorFacts) -> Void = { _ in }) -> DoctorFacts {
        var system = SystemFacts()
        system.userID = 1000
        system.userName = "pi"
        system.isKernelReady = true
        system.isDaemonInstalled = true
        system.kernelAdapters = ["hci0"]
        var adapter = AdapterFacts(id: "hci0")
        adapter.interfaces = [BlueZ.adapter, BlueZ.gattManager, BlueZ.advertisingManager, BlueZ.monitorManager]
        adapter.version = BlueZVersion(5, 66)
        adapter.isExperimental = true
        adapter.activeAdvertisements = 1
        adapter.freeAdvertisements = 4
        adapter.scan = .starts(after: .zero)
        var facts = DoctorFacts(bus: .reachable, daemon: .answers, adapters: [adapter], system: system)
        change(&facts)
        return facts
    }

    @Test func `a version that crashes at a service filter is reported`() {
        func notes(_ version: BlueZVersion) -> [Finding] {
            Doctor.findings(Self.facts { $0.adapters[0].version = version })
                .filter { $0.check == .scan && $0.message.contains("2282") }
        }
        #expect(notes(BlueZVersion(5, 87)).map(\.level) == [.note])
        #expect(notes(BlueZVersion(5, 86)).isEmpty)
        #expect(notes(BlueZVersion(5, 88)).isEmpty)
    }

    private func finding(
        _ check: Finding.Check, _ change: (inout DoctorFacts) -> Void
    ) throws -> Finding {
        try #require(Doctor.findings(Self.facts(change)).last { $0.check == check })
    }

    private func expect(
        _ check: Finding.Check, _ level: Finding.Level, message: String, remedy: String? = nil,
        sourceLocation: SourceLocation = #_sourceLocation, _ change: (inout DoctorFacts) -> Void
    ) throws {
        let finding = try finding(check, change)
        #expect(finding.level == level, sourceLocation: sourceLocation)
        #expect(finding.message.contains(message), "\(finding.message)", sourceLocation: sourceLocation)
        if let remedy {
            #expect(
                finding.remedy?.contains(remedy) == true, "\(finding.remedy ?? "none")", sourceLocation: sourceLocation)
        }
    }

    /// Checks that several machines have the same problem, each for its own reason.
    private func expect(
        _ check: Finding.Check, where common: (inout DoctorFacts) -> Void,
        _ machines: (message: String, remedy: String, change: (inout DoctorFacts) -> Void)...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        for machine in machines {
            try expect(
                check, .problem, message: machine.message, remedy: machine.remedy, sourceLocation: sourceLocation
            ) {
                common(&$0)
                machine.change(&$0)
            }
        }
    }

    @Test func `where all is well nothing else is said, and everything was looked at`() {
        let findings = Doctor.findings(Self.facts())
        #expect(findings.filter { $0.level != .ok } == [])
        #expect(
            findings.map(\.check) == [
                .bus, .bluetoothd, .permission, .adapter, .power, .scan, .experimental, .passiveScan, .advertising,
                .gattServer, .links, .connectionSlots, .servingPolicy, .reverseDiscovery, .killSwitch,
            ])
        #expect(findings[1].message.contains("5.66"))
    }

    // MARK: The way to bluetoothd

    @Test func `a bus that is not there ends the examination`() throws {
        try expect(.bus, .problem, message: "no such file", remedy: "systemctl start dbus") {
            $0.bus = .unreachable("no such file")
        }
        try expect(.bus, .problem, message: "no such file", remedy: "/run/dbus into the container") {
            $0.bus = .unreachable("no such file")
            $0.system.isContainer = true
        }
        #expect(
            Doctor.findings(Self.facts { $0.bus = .unreachable("") }).map(\.check) == [.bus, .killSwitch])
    }

    @Test func `a bluetoothd that is not there is started, installed, or elsewhere`() throws {
        try expect(
            .bluetoothd, where: { $0.daemon = .absent },
            ("does not run", "systemctl enable --now", { _ in }),
            ("does not run", "package bluez", { $0.system.isDaemonInstalled = false }),
            ("not on this bus", "--bus", { $0.system.isDaemonRunning = true }),
            ("does not run", "on the host", { $0.system.isContainer = true }))
    }

    @Test func `a bluetoothd that does not answer is restarted`() throws {
        try expect(.bluetoothd, .problem, message: "5 s", remedy: "systemctl restart") { $0.daemon = .silent("5 s") }
    }

    @Test func `a version that is not reported is called unknown`() throws {
        try expect(.bluetoothd, .ok, message: "does not report its version") { $0.adapters[0].version = nil }
    }

    @Test func `a refused user is shown how to get access`() throws {
        let hasGroup = { (facts: inout DoctorFacts) in
            facts.daemon = .refused
            facts.system.hasBluetoothGroup = true
        }
        try expect(
            .permission, where: hasGroup,
            ("user pi", "usermod -aG bluetooth pi", { _ in }),
            ("user pi", "log in again", { $0.system.isMemberOfBluetoothGroup = true }),
            ("user pi", "/etc/dbus-1/system.d", { $0.system.isInBluetoothGroup = true }))
        try expect(
            .permission, where: { $0.daemon = .refused },
            ("user 1000", "/etc/dbus-1/system.d", { $0.system.userName = nil }),
            ("user pi", "the host sees", { $0.system.isContainer = true }))
    }

    // MARK: Adapters

    @Test func `a missing adapter is looked for in the kernel and on the USB`() throws {
        try expect(.adapter, .problem, message: "the kernel has hci0", remedy: "restart bluetooth") {
            $0.adapters = []
        }
        let isUnknown = { (facts: inout DoctorFacts) in
            facts.adapters = []
            facts.system.kernelAdapters = []
        }
        try expect(
            .adapter, where: isUnknown,
            ("1-1:1.0", "modprobe btusb", { $0.system.driverlessControllers = ["1-1:1.0"] }),
            ("the kernel does not support Bluetooth", "modprobe bluetooth", { $0.system.isKernelReady = false }),
            ("there is no adapter", "Plug one in", { _ in }))
    }

    @Test func `an adapter that is off is switched on, or unblocked`() throws {
        try expect(
            .power, where: { $0.adapters[0].isPowered = false },
            (
                "is off", "--power on --adapter hci0",
                { $0.system.switches = [RadioSwitch("hci0"), RadioSwitch("other", soft: true)] }
            ),
            ("kill switch", "rfkill unblock", { $0.system.switches = [RadioSwitch("hci0", soft: true)] }),
            ("kill switch", "switch or key", { $0.system.switches = [RadioSwitch("hci0", soft: true, hard: true)] }))
    }

    @Test func `a kill switch that hides an adapter is the problem`() throws {
        try expect(.killSwitch, .problem, message: "hp-bluetooth", remedy: "switch or key") {
            $0.adapters = []
            $0.system.switches = [RadioSwitch("hp-bluetooth", hard: true)]
        }
        try expect(.killSwitch, .note, message: "hp-bluetooth", remedy: "rfkill unblock") {
            $0.system.switches = [RadioSwitch("hp-bluetooth", soft: true)]
        }
        // The adapter's own switch is reported with its power.
        #expect(
            !Doctor.findings(
                Self.facts {
                    $0.adapters[0].isPowered = false
                    $0.system.switches = [RadioSwitch("hci0", soft: true)]
                }
            ).contains { $0.check == .killSwitch })
    }

    @Test func `each adapter is looked at`() {
        let findings = Doctor.findings(
            Self.facts {
                $0.adapters.append(AdapterFacts(id: "hci10", isPowered: false))
            })
        #expect(findings.filter { $0.check == .power }.map(\.adapter) == ["hci0", "hci10"])
        #expect(findings.filter { $0.check == .power }.map(\.level) == [.ok, .problem])
        #expect(!findings.contains { $0.check == .scan && $0.adapter == "hci10" })
    }

    // MARK: What works

    @Test func `scans that do not start are distinguished from shared ones`() throws {
        try expect(.scan, .note, message: "another program") { $0.adapters[0].isDiscovering = true }
        try expect(.scan, .note, message: "has died") { $0.adapters[0].scan = .starts(after: .seconds(3)) }
        try expect(.scan, .problem, message: "InProgress", remedy: "--power off") {
            $0.adapters[0].scan = .busy(for: .seconds(12))
        }
        try expect(.scan, .problem, message: "Failed", remedy: "journalctl") {
            $0.adapters[0].scan = .fails("org.bluez.Error.Failed: x")
        }
    }

    @Test func `what bluetoothd does not offer is noted`() throws {
        try expect(.experimental, .ok, message: "are off") { $0.adapters[0].isExperimental = false }
        try expect(.experimental, .note, message: "could not be determined") { $0.adapters[0].isExperimental = nil }
        try expect(.passiveScan, .note, message: "not supported", remedy: "--experimental") {
            $0.adapters[0].isExperimental = false
            $0.adapters[0].interfaces = []
        }
        try expect(.passiveScan, .note, message: "not supported", remedy: "Linux") { $0.adapters[0].interfaces = [] }
        try expect(.advertising, .note, message: "not supported") { $0.adapters[0].interfaces = [] }
        try expect(.gattServer, .note, message: "not supported") { $0.adapters[0].interfaces = [] }
        try expect(
            .servingPolicy, .note, message: "no policy of the bus names org.bluez.LEAdvertisement1",
            remedy: "Allow root"
        ) { $0.system.interfacesWithoutPolicy = ["org.bluez.LEAdvertisement1"] }
        try expect(.reverseDiscovery, .ok, message: "phones may ask to pair (Reverse") { _ in }
        try expect(.reverseDiscovery, .ok, message: "alone") { $0.system.isReverseDiscoveryOff = true }
        try expect(.advertising, .ok, message: "1 registered, 4 more") { _ in }
        try expect(.advertising, .note, message: "0 more", remedy: "End a program") {
            $0.adapters[0].freeAdvertisements = 0
        }
    }

    // MARK: Links

    @Test func `links are listed, with those that bluetoothd does not know of`() throws {
        try expect(.links, .note, message: "2 links up: Strap (A), B", remedy: "disconnect A") {
            $0.adapters[0].links = [.init(address: "A", name: "Strap"), .init(address: "B")]
            $0.system.kernelLinks = ["hci0": 2, "hci1": 7]
        }
        try expect(.links, .note, message: "1 link more than bluetoothd knows", remedy: "--power off") {
            $0.adapters[0].links = [.init(address: "A")]
            $0.system.kernelLinks = ["hci0": 2]
        }
        try expect(.connectionSlots, .note, message: "neither the kernel nor bluetoothd reports") {
            $0.adapters[0].links = [.init(address: "A")]
        }
    }

    @Test func `a container is named`() throws {
        try expect(.container, .note, message: "the host's") { $0.system.isContainer = true }
    }

    @Test func `each problem has its remedy`() {
        let changes: [(inout DoctorFacts) -> Void] = [
            { $0.bus = .unreachable("") }, { $0.daemon = .absent }, { $0.daemon = .refused },
            { $0.daemon = .silent("") }, { $0.adapters = [] }, { $0.adapters[0].isPowered = false },
            { $0.adapters[0].scan = .busy(for: .seconds(1)) }, { $0.adapters[0].scan = .fails("") },
        ]
        for change in changes {
            let problems = Doctor.findings(Self.facts(change)).filter { $0.level == .problem }
            #expect(!problems.isEmpty)
            #expect(problems.allSatisfy { $0.remedy != nil }, "\(problems)")
        }
    }

    // MARK: Facts

    @Test(arguments: [
        ("usb:v1D6Bp0246d0542", "5.66"), ("usb:v1D6Bp0246d0556", "5.86"), ("usb:v1D6Bp0246d054", nil),
        ("usb:v0000p0246d0542", nil), ("bluetooth:v1D6Bp0246d0542", nil), ("", nil),
    ])
    func `bluetoothd's version is in its adapters' device id`(_ modalias: String, _ version: String?) {
        #expect(BlueZVersion(modalias: modalias)?.description == version)
    }
}
