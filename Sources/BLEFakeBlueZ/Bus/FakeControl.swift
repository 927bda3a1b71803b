public import BLE
import DBus

/// The control of a fake bluetoothd, as an object on its bus: `Do(s) → s` of `ble.Fake1`, at the path `/ble/Fake` of
/// the name `ble.Fake`. It has a connection of its own, so it is there while the daemon is not.
public final class FakeControl: Sendable {
    private let name: BusName

    private static let name = "ble.Fake"
    private static let interface = InterfaceDescription("ble.Fake1", .method("Do", takes: "s", returns: "s"))

    /// A command that is refused: the error of the call, `ble.Fake.Error.Refused`.
    public struct Refusal: Error {
        /// What is wrong.
        public let message: String

        /// A refusal with a message.
        public init(_ message: String) { self.message = message }
    }

    /// Takes the name on the bus at `address`, and answers calls until ``end()``.
    ///
    /// - Parameter carryOut: carries out a command, and returns its result.
    /// - Throws: `BLEError` if the bus does not answer or another program has the name.
    public init(
        address: String, carryOut: @escaping @Sendable (String) async throws(Refusal) -> String
    ) async throws(BLEError) {
        let object = ExportedObject(path: "/ble/Fake", interface: Self.interface) { call in
            do throws(Refusal) {
                return .success(MethodReply([.string(try await carryOut(call.arguments.first?.string ?? ""))]))
            } catch {
                return .failure(.remote("\(Self.name).Error.Refused", error.message))
            }
        }
        name = try await BusName(Self.name, at: address, serving: object)
    }

    /// Leaves the bus.
    public func end() async { await name.release() }
}
