import BLE
import BLEFeatures
import BLESimulation
import BLETestSupport
import Testing

/// A call of `BLEFeatures` that waits for a device that may be out of range.
struct FeatureCall: Sendable, CustomTestStringConvertible {
    /// The declaration: `Scripts/awaits` compares it with the public API.
    let name: String
    let run: @Sendable (Peripheral) async throws -> Void

    var testDescription: String { name }

    init(_ name: String, _ run: @escaping @Sendable (Peripheral) async throws -> Void) {
        (self.name, self.run) = (name, run)
    }

    private static let message = Message(MessageCommand(rawValue: 0x0201))
    private static let configuration = TransactionConfiguration(
        request: CharacteristicKey(characteristic: BluetoothUUID(0xFF01)),
        reply: CharacteristicKey(characteristic: BluetoothUUID(0xFF02)))
    private static let encryption = MessageEncryption(
        derivation: KeyDerivation(salt: "salt", info: "info"), command: MessageCommand(rawValue: 0x0103))

    private static func session(_ peripheral: Peripheral) -> MessageSession {
        MessageSession(peripheral, configuration: configuration, encryption: encryption)
    }

    private static func transactions(_ peripheral: Peripheral) -> TransactionSession<MessageCodec> {
        TransactionSession(peripheral, codec: MessageCodec(), configuration: configuration)
    }

    private static func devices(_ peripheral: Peripheral) throws -> Devices {
        Devices(peripheral.central, configuration: try Devices.Configuration(features: []))
    }

    private static func adapter(_ peripheral: Peripheral) -> ELM327 {
        ELM327(
            peripheral, service: BluetoothUUID(0xFFF0), notifying: BluetoothUUID(0xFFF1),
            written: BluetoothUUID(0xFFF2))
    }

    static let all = [
        FeatureCall("MessageSession.start()") { try await session($0).start() },
        FeatureCall("MessageSession.send(_:timeout:)") { _ = try await session($0).send(message) },
        FeatureCall("MessageSession.post(_:timeout:)") { try await session($0).post(message) },
        FeatureCall("MessageSession.pair()") { try await session($0).pair() },
        FeatureCall("TransactionSession.start()") { try await transactions($0).start() },
        FeatureCall("TransactionSession.send(_:timeout:)") { _ = try await transactions($0).send(message) },
        FeatureCall("TransactionSession.post(_:timeout:)") { try await transactions($0).post(message) },
        FeatureCall("ELM327.send(_:timeout:)") { _ = try await adapter($0).send("ATI") },
        FeatureCall("Devices.connect(serial:)") { _ = try await devices($0).connect(serial: "010203040506") },
        FeatureCall("NearbyDevices.Iterator.next()") { for try await _ in try devices($0).nearby() {} },
        FeatureCall("VendorDiscoveries.Iterator.next()") { peripheral in
            for try await _ in Vendors([ELM327Vendor()]).discoveries(peripheral.central) {}
        },
    ]
}

/// Every await of `BLEFeatures` ends with its task, and with its central.
@Suite(.hangLimit) struct FeatureAwaitTests {
    private let world: SimulatedWorld
    private let absent: Peripheral

    init() async throws {
        world = try await SimulatedWorld()
        absent = world.central.peripheral("00:11:22:33:44:55")
    }

    private func begin(_ call: FeatureCall) async -> Task<Void, any Error> {
        let task = Task { [absent] in try await call.run(absent) }
        await until { await world.central.isScanning }
        return task
    }

    @Test(arguments: FeatureCall.all) func `a cancelled call ends at once`(_ call: FeatureCall) async throws {
        let task = await begin(call)
        task.cancel()
        await expectError(.cancelled) { try await task.value }
        await until { await !world.central.isScanning }
    }

    @Test(arguments: FeatureCall.all) func `a call ends with the central`(_ call: FeatureCall) async throws {
        let task = await begin(call)
        await world.central.shutDown()
        await expectError(.shutDown) { try await task.value }
    }
}
