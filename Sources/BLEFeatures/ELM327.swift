public import BLE

/// An adapter for a car's diagnostics connector that speaks the ELM327's commands over one characteristic each way.
///
/// ```swift
/// let adapter = ELM327(peripheral)
/// _ = try await adapter.send("ATE0")
/// print(try await adapter.send("010C"))  // the engine's speed: ["41 0C 1A F8"]
/// ```
///
/// One command is under way at a time; others wait for their turn, also while there is no link: sending connects. A
/// command that was under way when the link ended fails with `disconnected`; those that waited are sent on the next link.
public final class ELM327: Sendable {
    /// The commands and responses beneath.
    public let transactions: TransactionSession<LineCodec>

    /// An adapter behind that peripheral. The characteristics are those of the many that have service FFF0.
    public init(
        _ peripheral: Peripheral, service: BluetoothUUID = BluetoothUUID(0xFFF0),
        notifying: BluetoothUUID = BluetoothUUID(0xFFF1), written: BluetoothUUID = BluetoothUUID(0xFFF2),
        writeType: WriteType = .withResponse, timeout: Duration = .seconds(10)
    ) {
        transactions = TransactionSession(
            peripheral, codec: LineCodec(),
            configuration: TransactionConfiguration(
                request: AttributeKey(service: service, characteristic: written),
                reply: AttributeKey(service: service, characteristic: notifying), writeType: writeType,
                replyTimeout: timeout, outlastsLinks: true))
    }

    /// Sends a command and returns the lines of its response, without echo, empty lines and prompt.
    ///
    /// Throws `commandTimedOut` with the command in its message; `invalidArgument` for what is no command; `disconnected`.
    ///
    /// - Parameter timeout: the longest that waiting for the turn, connecting and the response may take together.
    public func send(_ command: String, timeout: Duration? = nil) async throws(BLEError) -> [String] {
        try await transactions.send(command, timeout: timeout)
    }

    /// Recognises them by the service that many such adapters advertise.
    public struct Vendor: BLEFeatures.Vendor {
        /// "ELM327"
        public let name = "ELM327"
        /// FFF0, which is nobody's in particular: other gadgets advertise it, too.
        public let services: Set<BluetoothUUID> = [BluetoothUUID(0xFFF0)]

        /// The vendor.
        public init() {}

        /// Whether the service is advertised.
        public func claims(_ advertisement: Advertisement) -> Bool {
            !services.isDisjoint(with: advertisement.serviceUUIDs)
        }

        /// The adapter.
        public func device(_ peripheral: Peripheral) -> ELM327 { ELM327(peripheral) }
    }
}

/// goTenna Mesh radios, as far as they are recognised: their service, and manufacturer data of exactly `FE FF 02`.
public struct GoTennaMesh: Vendor {
    /// "goTenna Mesh"
    public let name = "goTenna Mesh"
    /// Their service.
    public let services: Set<BluetoothUUID> = [BluetoothUUID(high: 0x1276_AAEE_DF5E_11E6, low: 0xBF01_FE55_1350_34F3)]

    /// The vendor.
    public init() {}

    /// Whether service and manufacturer data are theirs. (The first two bytes in the air are the company identifier.)
    public func claims(_ advertisement: Advertisement) -> Bool {
        !services.isDisjoint(with: advertisement.serviceUUIDs) && advertisement.manufacturerData == [0xFFFE: [0x02]]
    }

    /// The peripheral: its protocol is not public.
    public func device(_ peripheral: Peripheral) -> Peripheral { peripheral }
}
