/// Turns facts into findings, one check per function.
extension Doctor {
    // MARK: Access to bluetoothd

    static func bus(_ facts: DoctorFacts) -> Finding {
        guard case .unreachable(let message) = facts.bus else { return Finding(.bus, .ok, "the message bus answers") }
        return Finding(
            .bus, .problem, "the message bus cannot be reached: \(message)",
            remedy: facts.system.isContainer
                ? "Mount the host's /run/dbus into the container."
                : "Start D-Bus: systemctl start dbus; or give its address: --bus, or DBUS_SYSTEM_BUS_ADDRESS.")
    }

    static func daemon(_ facts: DoctorFacts) -> Finding? {
        switch facts.daemon {
        case .refused: return nil
        case .answers:
            let version = facts.adapters.lazy.compactMap(\.version).first
            return Finding(
                .bluetoothd, .ok,
                version.map { "bluetoothd \($0) runs" }
                    ?? "bluetoothd runs, but does not report its version (bluetoothctl --version does)")
        case .absent: return absentDaemon(facts.system)
        case .silent(let message):
            return Finding(
                .bluetoothd, .problem, "bluetoothd does not answer: \(message)",
                remedy: "Restart it: systemctl restart bluetooth.")
        }
    }

    private static func absentDaemon(_ system: SystemFacts) -> Finding {
        if system.isDaemonRunning {
            return Finding(
                .bluetoothd, .problem, "a bluetoothd runs, but not on this bus",
                remedy: "Use the bus that it is on, usually the system bus: DBUS_SYSTEM_BUS_ADDRESS, or --bus.")
        }
        if system.isContainer {
            return Finding(
                .bluetoothd, .problem, "bluetoothd does not run on this bus",
                remedy: "Start it on the host, systemctl start bluetooth, and mount the host's /run/dbus.")
        }
        return Finding(
            .bluetoothd, .problem, "bluetoothd does not run",
            remedy: system.isDaemonInstalled
                ? "Start it: systemctl enable --now bluetooth; if it ends at once: journalctl -u bluetooth."
                : "Install it: it is in the package bluez. Then: systemctl enable --now bluetooth.")
    }

    static func permission(_ facts: DoctorFacts) -> Finding? {
        let system = facts.system
        let user = system.userName ?? "\(system.userID)"
        switch facts.daemon {
        case .absent, .silent: return nil
        case .answers: return Finding(.permission, .ok, "user \(user) may talk to bluetoothd")
        case .refused:
            let remedy: String
            if system.isContainer {
                remedy =
                    "The host's policy decides, by the uid that the host sees: allow it in a file in the host's "
                    + "/etc/dbus-1/system.d, or run the container as a user that is allowed."
            } else if system.isMemberOfBluetoothGroup, !system.isInBluetoothGroup {
                remedy = "The user is a member of the group bluetooth, from the next login on: log in again."
            } else if system.hasBluetoothGroup, !system.isInBluetoothGroup {
                remedy =
                    "Add the user to the group, and log in again: usermod -aG bluetooth \(user). Where the policy does "
                    + "not know the group, as Docs/Permissions.md says."
            } else {
                remedy = "Allow the user in a policy file in /etc/dbus-1/system.d; see Docs/Permissions.md."
            }
            return Finding(
                .permission, .problem, "the bus does not let user \(user) talk to bluetoothd", remedy: remedy)
        }
    }

    // MARK: Adapters

    static func adapters(_ facts: DoctorFacts) -> Finding {
        let system = facts.system
        guard facts.adapters.isEmpty else {
            return Finding(.adapter, .ok, "bluetoothd has \(facts.adapters.map(\.id).joined(separator: ", "))")
        }
        if !system.kernelAdapters.isEmpty {
            return Finding(
                .adapter, .problem,
                "the kernel has \(system.kernelAdapters.joined(separator: ", ")), but bluetoothd has no adapter",
                remedy: "Restart it: systemctl restart bluetooth. In a container, bluetoothd needs the host's network.")
        }
        if let controller = system.driverlessControllers.first {
            return Finding(
                .adapter, .problem, "no driver has taken the USB controller at \(controller)",
                remedy:
                    "Load it: modprobe btusb; then look at the kernel's log: dmesg | grep -i -e bluetooth -e firmware.")
        }
        if !system.isKernelReady {
            return Finding(
                .adapter, .problem, "there is no adapter, and the kernel does not support Bluetooth",
                remedy: "Load it: modprobe bluetooth, and the controller's driver, such as btusb or hci_uart. "
                    + (system.isContainer
                        ? "Do this on the host, which provides the kernel."
                        : "A virtual machine also needs access to a controller."))
        }
        return Finding(
            .adapter, .problem, "there is no adapter",
            remedy: "Plug one in. If there is one: dmesg | grep -i bluetooth shows whether its firmware is missing.")
    }

    static func power(_ adapter: AdapterFacts, _ facts: DoctorFacts) -> Finding {
        guard !adapter.isPowered else { return Finding(.power, .ok, "the adapter is on", adapter: adapter.id) }
        let blocking = facts.system.switches.filter { $0.name == adapter.id && $0.isBlocking }
        guard !blocking.isEmpty else {
            return Finding(
                .power, .problem, "the adapter is off", adapter: adapter.id,
                remedy: "Switch it on: ble adapters --power on --adapter \(adapter.id). AutoEnable=true in "
                    + "/etc/bluetooth/main.conf does so at every start.")
        }
        let isHard = blocking.contains { $0.isHardBlocked }
        return Finding(
            .power, .problem, "the adapter is off: a kill switch blocks it", adapter: adapter.id,
            remedy: isHard ? hardRemedy : "Unblock it: rfkill unblock bluetooth.")
    }

    private static let hardRemedy = "Use the machine's own switch or key for its radio, or its firmware's setting."

    /// Reports the blocking switches that belong to no adapter of bluetoothd. They explain why no adapter is found.
    static func switches(_ facts: DoctorFacts) -> [Finding] {
        let known = Set(facts.adapters.map(\.id))
        let others = facts.system.switches.filter { $0.isBlocking && !known.contains($0.name) }
        guard !others.isEmpty else {
            return facts.system.switches.contains { $0.isBlocking }
                ? [] : [Finding(.killSwitch, .ok, "no kill switch is on")]
        }
        return others.map { other in
            Finding(
                .killSwitch, facts.adapters.isEmpty ? .problem : .note, "the kill switch \(other.name) is on",
                remedy: other.isHardBlocked ? hardRemedy : "Unblock it: rfkill unblock bluetooth.")
        }
    }

    // MARK: Capabilities

    static func scan(_ adapter: AdapterFacts) -> Finding? {
        switch adapter.scan {
        case .notTried: return nil
        case .starts(after: .zero) where adapter.isDiscovering:
            return Finding(
                .scan, .note,
                "a scan starts; another program scans too, or has died while scanning: bluetoothd does not say which",
                adapter: adapter.id)
        case .starts(after: .zero): return Finding(.scan, .ok, "a scan starts", adapter: adapter.id)
        case .starts(after: let waited):
            return Finding(
                .scan, .note,
                "a scan starts, after \(waited): the kernel was still scanning for a bluetoothd that has died",
                adapter: adapter.id)
        case .busy(for: let waited):
            return Finding(
                .scan, .problem, "scanning is stuck: bluetoothd answers InProgress for \(waited)", adapter: adapter.id,
                remedy: "Switch the adapter off and on: ble adapters --power off, then on. If that does not help: "
                    + "systemctl restart bluetooth.")
        case .fails(let message):
            return Finding(
                .scan, .problem, "a scan does not start: \(message)", adapter: adapter.id,
                remedy: "Look at the logs: journalctl -u bluetooth, dmesg | grep -i bluetooth.")
        }
    }

    /// Reports a bluetoothd that crashes during scans with a service filter.
    static func filteredScan(_ facts: DoctorFacts) -> Finding? {
        guard let version = facts.adapters.lazy.compactMap(\.version).first, version.crashesAtServiceFilters else {
            return nil
        }
        return Finding(
            .scan, .note,
            "bluetoothd \(version) crashes when a program scans with a filter of services and hears a peripheral "
                + "(BlueZ issue 2282). This package scans without such a filter here; other programs may not",
            remedy: "Install another version: 5.86 does not have this error, and later versions have it corrected.")
    }

    static func experimental(_ adapter: AdapterFacts) -> Finding {
        let message =
            switch adapter.isExperimental {
            case true?: "experimental interfaces are on"
            case false?: "experimental interfaces are off (only passive scanning needs them)"
            case nil: "it could not be determined whether experimental interfaces are on"
            }
        return Finding(.experimental, adapter.isExperimental == nil ? .note : .ok, message, adapter: adapter.id)
    }

    static func managers(_ adapter: AdapterFacts) -> [Finding] {
        var findings: [Finding] = []
        if adapter.interfaces.contains(BlueZ.monitorManager) {
            findings.append(Finding(.passiveScan, .ok, "passive scanning is supported", adapter: adapter.id))
        } else {
            findings.append(
                Finding(
                    .passiveScan, .note, "passive scanning is not supported", adapter: adapter.id,
                    remedy: adapter.isExperimental == true
                        ? "It requires Linux 5.10 or newer, and an LE controller."
                        : "Start bluetoothd with --experimental (systemctl edit bluetooth), or set Experimental=true "
                            + "in /etc/bluetooth/main.conf."))
        }
        if adapter.interfaces.contains(BlueZ.advertisingManager) {
            var message = "advertising is supported"
            if let active = adapter.activeAdvertisements, let free = adapter.freeAdvertisements {
                message += ": \(active) registered, \(free) more possible"
            }
            let isFull = adapter.freeAdvertisements == 0
            findings.append(
                Finding(
                    .advertising, isFull ? .note : .ok, message, adapter: adapter.id,
                    remedy: isFull ? "End a program that advertises." : nil))
        } else {
            findings.append(
                Finding(
                    .advertising, .note,
                    "advertising is not supported: the controller cannot advertise, or is not an LE controller",
                    adapter: adapter.id))
        }
        let serves = adapter.interfaces.contains(BlueZ.gattManager)
        findings.append(
            Finding(
                .gattServer, serves ? .ok : .note,
                serves ? "serving GATT applications is supported" : "serving GATT applications is not supported",
                adapter: adapter.id))
        return findings
    }

    /// Reports the settings that matter to programs that serve, on any adapter.
    static func serving(_ system: SystemFacts) -> [Finding] {
        let missing = system.interfacesWithoutPolicy
        let policy =
            missing.isEmpty
            ? Finding(.servingPolicy, .ok, "the bus's policies name what bluetoothd calls on programs that serve")
            : Finding(
                .servingPolicy, .note,
                "no policy of the bus names \(missing.joined(separator: ", ")), "
                    + "which bluetoothd calls on programs that serve",
                remedy: "Allow root to send to these interfaces, as BlueZ's own policy does; see Docs/Peripherals.md.")
        let discovery = Finding(
            .reverseDiscovery, .ok,
            system.isReverseDiscoveryOff
                ? "bluetoothd leaves the services of centrals that connect alone"
                : "bluetoothd examines the services of centrals that connect, for which phones may ask to pair "
                    + "(ReverseServiceDiscovery=false in /etc/bluetooth/main.conf ends that)")
        return [policy, discovery]
    }

    // MARK: Links

    static func links(_ adapter: AdapterFacts, _ facts: DoctorFacts) -> [Finding] {
        let count = adapter.links.count
        var findings: [Finding] = []
        if count == 0 {
            findings.append(Finding(.links, .ok, "no link is up", adapter: adapter.id))
        } else {
            let list = adapter.links.map { link in link.name.map { "\($0) (\(link.address))" } ?? link.address }
            findings.append(
                Finding(
                    .links, .note,
                    "\(Self.links(count)) up: \(list.joined(separator: ", ")). bluetoothd does not report which "
                        + "program made a link; a link stays up when that program dies", adapter: adapter.id,
                    remedy: "End one that is not in use: bluetoothctl disconnect \(adapter.links[0].address)."))
        }
        let unknown = (facts.system.kernelLinks[adapter.id] ?? 0) - count
        if unknown > 0 {
            findings.append(
                Finding(
                    .links, .note,
                    "the kernel has \(Self.links(unknown)) more than bluetoothd knows: from a bluetoothd that has "
                        + "died, or from a program that bypasses bluetoothd", adapter: adapter.id,
                    remedy: "If it does not end within seconds: ble adapters --power off, then on."))
        }
        findings.append(
            Finding(
                .connectionSlots, count == 0 ? .ok : .note,
                "neither the kernel nor bluetoothd reports how many links the controller can hold"
                    + (count == 0 ? "" : "; one too many fails with \"no connection left\", or ends soon"),
                adapter: adapter.id))
        return findings
    }

    private static func links(_ count: Int) -> String { count == 1 ? "1 link" : "\(count) links" }
}
