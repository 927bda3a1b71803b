internal import DBus

/// Finds out why Bluetooth does not work on this machine, and suggests remedies.
///
/// ```swift
/// for finding in await Doctor.examine() where finding.level == .problem {
///     print(finding.message, finding.remedy ?? "")
/// }
/// ```
///
/// Collects facts from the bus and the kernel, and then interprets them without accessing the machine again. Changes
/// nothing, except that it starts and stops a scan to test whether that works.
public enum Doctor {
    /// Runs all checks, in the order in which they depend on each other. With the default timeout, this takes about
    /// 15 s if bluetoothd does not answer.
    ///
    /// - Parameters:
    ///   - bus: the bus that bluetoothd is on, in D-Bus's address notation; nil for the system bus.
    ///   - scans: whether to test a scan on each adapter that is powered on.
    ///   - timeout: the maximum time for each answer of the bus and bluetoothd.
    public static func examine(
        bus: String? = nil, scans: Bool = true, timeout: Duration = .seconds(5)
    ) async -> [Finding] {
        let examination = BusExamination(timeout: timeout, clock: ContinuousClock())
        return findings(await facts(bus.map { .address($0) } ?? .system, scans: scans, SystemFiles(), examination))
    }

    static func facts(
        _ address: BusAddress, scans: Bool, _ files: SystemFiles, _ examination: BusExamination
    ) async -> DoctorFacts {
        var facts = DoctorFacts(system: SystemFacts(files))
        await examination.run(address, scans: scans, &facts)
        return facts
    }

    /// Interprets the facts.
    static func findings(_ facts: DoctorFacts) -> [Finding] {
        var findings = [bus(facts)]
        if facts.bus == .reachable { findings += daemonAndAdapters(facts) }
        findings += switches(facts)
        if facts.system.isContainer {
            findings.append(
                Finding(
                    .container, .note,
                    "this runs in a container: bus, bluetoothd, adapters and kernel modules are the host's"))
        }
        return findings
    }

    private static func daemonAndAdapters(_ facts: DoctorFacts) -> [Finding] {
        var findings = [daemon(facts), permission(facts)].compactMap(\.self)
        guard facts.daemon == .answers else { return findings }
        findings.append(adapters(facts))
        if let filteredScan = filteredScan(facts) { findings.append(filteredScan) }
        for adapter in facts.adapters {
            findings += [power(adapter, facts), scan(adapter), experimental(adapter)].compactMap(\.self)
            findings += managers(adapter) + links(adapter, facts)
        }
        if facts.adapters.contains(where: { $0.interfaces.contains(BlueZ.gattManager) }) {
            findings += serving(facts.system)
        }
        return findings
    }
}
