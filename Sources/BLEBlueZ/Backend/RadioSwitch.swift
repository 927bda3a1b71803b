/// A radio kill switch of the kernel's, as `/sys/class/rfkill` shows it (the kernel's `Documentation/driver-api/rfkill.rst`).
struct RadioSwitch: Equatable, Sendable {
    /// The directory's name, such as `rfkill0`.
    var id: String
    /// What it switches, such as `hci0`; also a name that a laptop's driver gives its own switch.
    var name: String
    /// Blocked by software: `rfkill unblock` changes it.
    var isSoftBlocked: Bool
    /// Blocked by a switch, a key or the firmware.
    var isHardBlocked: Bool

    var isBlocking: Bool { isSoftBlocked || isHardBlocked }

    /// All for Bluetooth.
    ///
    /// - Parameter files: where `/` is.
    static func all(_ files: SystemFiles = SystemFiles()) -> [RadioSwitch] {
        files.list("/sys/class/rfkill").sorted().compactMap { id in
            let directory = "/sys/class/rfkill/\(id)"
            guard files.line("\(directory)/type") == "bluetooth" else { return nil }
            return RadioSwitch(
                id: id, name: files.line("\(directory)/name") ?? "",
                isSoftBlocked: files.line("\(directory)/soft") == "1",
                isHardBlocked: files.line("\(directory)/hard") == "1")
        }
    }
}
