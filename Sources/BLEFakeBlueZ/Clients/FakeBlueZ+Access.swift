public import BLE
import BLEBlueZ
import DBus
import Synchronization
import SystemPackage

/// The clients that the bus does not let call the daemon, in the words of dbus-daemon.
extension FakeBlueZ {
    /// From now on, every call of a client is answered as a bus does whose policy does not let it call bluetoothd:
    /// `org.freedesktop.DBus.Error.AccessDenied`. What the client already has stays.
    ///
    /// - Parameter client: its name on the bus; nil for all clients, those of the future, too.
    /// - Throws: `invalidArgument` if the bus does not have the name, and `bluetoothUnavailable` if the daemon is not
    ///   running, which is asked for a name.
    public func deny(_ client: String? = nil) async throws(BLEError) {
        let name = try await owner(client)
        first.or(self).denied.withLock { $0.set(name, isDenied: true) }
    }

    /// Carries out a client's calls again.
    ///
    /// - Parameter client: its name on the bus; nil for all clients.
    /// - Throws: as ``deny(_:)`` does.
    public func allow(_ client: String? = nil) async throws(BLEError) {
        let name = try await owner(client)
        first.or(self).denied.withLock { $0.set(name, isDenied: false) }
    }

    /// The unique name of a client.
    private func owner(_ client: String?) async throws(BLEError) -> String? {
        guard let client else { return nil }
        guard let session else { throw BLEError(.bluetoothUnavailable, "the daemon is not running") }
        guard let reply = try? await session.call(.bus("GetNameOwner", [.string(client)]), timeout: timeouts.call),
            let name = reply.values.first?.string
        else { throw BLEError(.invalidArgument, "the bus has no \(client)") }
        return name
    }

    /// As `complain_about_message` of dbus-daemon's `bus/bus.c` has it. The rules are those of a policy that denies
    /// method calls, and those to bluetoothd.
    func denial(of call: CallRefusals.Call) async -> DBusError {
        func unset(_ text: String) -> String { text.isEmpty ? "(unset)" : text }
        return .bus(
            "AccessDenied",
            "Rejected send message, 2 matched rules; type=\"method_call\", sender=\"\(call.sender)\" "
                + "(\(await description(ofClient: call.sender))) interface=\"\(unset(call.interface))\" "
                + "member=\"\(unset(call.method))\" error name=\"(unset)\" requested_reply=\"0\" "
                + "destination=\"\(BlueZ.service)\" (\(await description(ofClient: BlueZ.service)))")
    }

    /// As `cache_peer_loginfo_string` of its `bus/connection.c` has it.
    private func description(ofClient name: String) async -> String {
        let reply = try? await session?.call(
            .bus("GetConnectionCredentials", [.string(name)]), timeout: timeouts.call)
        guard let credentials = reply?.values.first else { return "" }
        var parts: [String] = []
        if let user = credentials[key: "UnixUserID"]?.integer { parts.append("uid=\(user)") }
        if let process = credentials[key: "ProcessID"]?.integer {
            parts.append("pid=\(process) comm=\"\(Self.command(ofProcess: process))\"")
        }
        if let label = credentials[key: "LinuxSecurityLabel"]?.bytes?.prefix(while: { $0 != 0 }) {
            parts.append("label=\"\(String(decoding: label, as: UTF8.self))\"")
        }
        return parts.joined(separator: " ")
    }

    /// The first 50 bytes of a process's command line, with spaces between the arguments.
    private static func command(ofProcess number: Int) -> String {
        guard let file = try? SystemPackage.FileDescriptor.open(FilePath("/proc/\(number)/cmdline"), .readOnly) else {
            return ""
        }
        defer { try? file.close() }
        var bytes = [UInt8](repeating: 0, count: 50)
        let count = (try? bytes.withUnsafeMutableBytes { try file.read(into: $0) }) ?? 0
        let shown = bytes.prefix(count).map { $0 == 0 ? 0x20 : $0 < 0x20 || $0 > 127 ? UInt8(ascii: "?") : $0 }
        return String(decoding: shown, as: UTF8.self)
    }
}

/// Which clients are denied.
struct DeniedClients {
    private var isEveryone = false
    private var others: Set<String> = []

    func contains(_ name: String) -> Bool { isEveryone != others.contains(name) }

    /// - Parameter name: a client's unique name; nil for all.
    mutating func set(_ name: String?, isDenied: Bool) {
        guard let name else {
            (isEveryone, others) = (isDenied, [])
            return
        }
        if isDenied == isEveryone { others.remove(name) } else { others.insert(name) }
    }

    /// A client has left the bus.
    mutating func remove(_ name: String) { others.remove(name) }
}
