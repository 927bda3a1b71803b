import BLE
import BLERecording
import BLESimulation
import BLETesting
import BLETestSupport
import Testing

/// What a host and its centrals do is recorded, and unchanged by it.
@Suite(.hangLimit) struct RecordedHostTests {
    private static let level = Characteristic<[UInt8]>(BluetoothUUID(0xFF01))

    private let definition = PeripheralDefinition(
        advertisement: Advertisement(localName: "Lamp", serviceUUIDs: [BluetoothUUID(0xFF00)]),
        services: [
            ServiceDefinition(
                BluetoothUUID(0xFF00),
                characteristics: [
                    CharacteristicDefinition(level.key.characteristic, [.read, .write, .notify], value: [50])
                ])
        ])

    @Test func `a request, its answer, a subscription and a value are in the recording`() async throws {
        let radio = SimulatedRadio()
        let recorder = Recorder()
        let host = try await PeripheralHost(
            backend: .recording(.simulated(radio), to: recorder), configuration: .quiet())
        let central = try await Central(backend: .simulated(radio), configuration: .quiet())
        try await host.withServed(definition) { served in
            let lamp = try await central.first(matching: .name("Lamp"), timeout: HangLimit.step).peripheral
            #expect(try await lamp.read(Self.level) == [50])
            try await lamp.write([70], to: Self.level)
            let values = try await lamp.notifications(Self.level)
            try await served.setValue([80], of: Self.level)
            for try await value in values {
                #expect(value == [80])
                break
            }
            try await lamp.disconnect()
            await until { recorder.recording.entries.contains { $0.what == .centralDisconnected } }
        }
        await central.shutDown()
        await host.shutDown()
        let entries = recorder.recording.entries
        let whats = entries.map(\.what)
        for what: RecordedEntry.What in [
            .start, .register, .advertise, .centralConnected, .requestRead, .requestWrite, .subscribed,
            .centralDisconnected, .shutDown,
        ] { #expect(whats.contains(what), "\(what)") }
        let request = try #require(entries.first { $0.what == .requestRead })
        #expect(request.text == "1.0.0")
        let reply = try #require(entries.first { $0.what == .reply && $0.call == request.call })
        #expect(reply.value == [50])
        #expect(entries.contains { $0.what == .requestWrite && $0.value == [70] })
        // What is registered is told with the handles that it would have on a simulated peripheral.
        #expect(try #require(entries.first { $0.what == .register }).services?.services.isEmpty == false)
    }
}
