package import BLE
package import DBus
import Logging
import Loop

/// A name on a bus, with a connection of its own. It is free again when the process ends.
package final class BusName: Sendable {
    private let session: BusSession

    /// Takes a name until ``release()``, and answers calls of an object.
    ///
    /// - Throws: `busy` if another program has the name, and `bluetoothUnavailable` if the bus at `address` does not
    ///   answer.
    package init(_ name: String, at address: String, serving object: ExportedObject? = nil) async throws(BLEError) {
        session = BusSession(
            loop: EventLoop(name: "bus-name"), logger: Logger(label: "fake") { _ in SwiftLogNoOpLogHandler() },
            onSignal: { _ in }, onLoss: {})
        let isOwner: Bool
        do throws(DBusError) {
            try await session.open(.address(address), timeout: .seconds(25))
            if let object { _ = try await session.export(object) }
            let reply = try await session.call(.bus("RequestName", [.string(name), .uint32(4)]), timeout: .seconds(25))
            isOwner = reply.values.first?.integer == 1
        } catch {
            throw BLEError(.bluetoothUnavailable, "the bus at \(address) cannot be used: \(error.message)")
        }
        guard isOwner else {
            await session.close()
            throw BLEError(.busy, "another program has the name \(name)", isRetryable: true)
        }
    }

    /// Leaves the bus.
    package func release() async { await session.close() }
}
