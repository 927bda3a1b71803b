/// A radio kill switch, from `/sys/class/rfkill` (the kernel's `Documentation/driver-api/rfkill.rst`).
struct RadioSwitch: Equatable, Sendable {
    /// The directory's name, such as `rfkill0`.
    var id: String
    /// The device that it switches, such as `hci0`, or the name that a laptop's driver gives its own switch.
    var name: String
    /// Whether software blocks the radio: `rfkill unblock` changes it.
    var isSoftBlocked: Bool
    /// Whether a switch, a key or the firmware blocks the radio.
    var isHardBlocked: Bool

    var isBlocking: Bool { isSoftBlocked || isHardBlocked }

    /// Returns all kill switches for Bluetooth.
    ///
    /// - Parameter files: the file system.
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
