import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import Testing

/// A wait of a stream or a writer of a profile, on a link.
struct ProfileWait: Sendable, CustomTestStringConvertible {
    typealias Run = @Sendable () async throws -> Void

    /// The declaration: `Scripts/awaits` compares it with the public API.
    let name: String
    /// Subscribes, or opens. The returned closure waits.
    let prepare: @Sendable (Peripheral) async throws -> Run

    var testDescription: String { name }

    init(_ name: String, _ prepare: @escaping @Sendable (Peripheral) async throws -> Run) {
        (self.name, self.prepare) = (name, prepare)
    }

    static let all = [
        ProfileWait("BodyCompositionMeasurements.Iterator.next()") { peripheral in
            let values = try await BodyComposition(peripheral).measurements()
            return { for try await _ in values {} }
        },
        ProfileWait("FitnessRecordStream.Iterator.next()") { peripheral in
            let values = try await FitnessMachine(peripheral).records(of: .indoorBikeData)
            return { for try await _ in values {} }
        },
        ProfileWait("NordicUARTLines.Iterator.next()") { peripheral in
            let lines = try await NordicUART(peripheral).lines()
            return { for try await _ in lines {} }
        },
    ]

    /// A peripheral with all of their characteristics, which sends nothing by itself.
    static let device = PeripheralDefinition(
        advertisement: Advertisement(rssi: -50),
        services: [
            service(.bodyComposition, [(BluetoothUUID(0x2A9C), .indicate)]),
            service(.fitnessMachine, [(BluetoothUUID(0x2AD2), .notify)]),
            service(
                .nordicUART,
                [
                    (BluetoothUUID("6e400002-b5a3-f393-e0a9-e50e24dcca9e")!, .write),
                    (BluetoothUUID("6e400003-b5a3-f393-e0a9-e50e24dcca9e")!, .notify),
                ]),
        ])

    private static func service(
        _ uuid: BluetoothUUID, _ characteristics: [(BluetoothUUID, CharacteristicProperties)]
    ) -> ServiceDefinition {
        ServiceDefinition(uuid, characteristics: characteristics.map { CharacteristicDefinition($0.0, $0.1) })
    }
}

@Suite(.hangLimit) struct ProfileStreamAwaitTests {
    private let world: SimulatedWorld

    init() async throws { world = try await SimulatedWorld() }

    /// Starts a wait on a link, and lets it begin.
    private func begin(_ wait: ProfileWait) async throws -> Task<Void, any Error> {
        let (peripheral, _) = try await world.add(ProfileWait.device)
        let run = try await wait.prepare(peripheral)
        #expect(await peripheral.connectionState == .connected)
        let task = Task { try await run() }
        for _ in 0..<100 { await Task.yield() }
        return task
    }

    @Test(arguments: ProfileWait.all) func `a cancelled wait ends`(_ wait: ProfileWait) async throws {
        let task = try await begin(wait)
        task.cancel()
        await expectError(.cancelled) { try await task.value }
    }

    @Test(arguments: ProfileWait.all) func `a wait ends with the central`(_ wait: ProfileWait) async throws {
        let task = try await begin(wait)
        await world.central.shutDown()
        await expectError(.shutDown) { try await task.value }
    }

    @Test(arguments: ProfileWait.all) func `a wait ends with the link`(_ wait: ProfileWait) async throws {
        let task = try await begin(wait)
        for peripheral in await world.central.connectedPeripherals() { try await peripheral.disconnect() }
        await expectError(.disconnected) { try await task.value }
    }
}
