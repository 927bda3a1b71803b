import BLE
import BLEBackendTesting
import BLEBlueZ
import BLETestSupport
import BlueZTestSupport
import Testing

/// A second adapter beside the one in use, on the real bluetoothd. Runs inside `Scripts/with-bluez` only.
@Suite(.enabled(if: Guest.isHere), .serialized, .inGuest, .hangLimit)
struct RealTwoAdaptersTests {
    private let peer = RealPeer()

    private static let service = BluetoothUUID(0xFFE0)
    private static let output = Characteristic<[UInt8]>(BluetoothUUID(0xFFE2), service: service)
    private static let second = "/org/bluez/hci1"
    private static let central = "dev_F8_F9_FA_FB_FC_01"

    /// Plugs in the second adapter, and lets a central on it discover the device.
    private func whileHeard(_ id: Peripheral.ID, body: () async throws -> Void) async throws {
        try await peer.tell("second on")
        try await peer.run(
            "until busctl get-property org.bluez \(Self.second) org.bluez.Adapter1 Powered | grep true; do sleep 0.1; done"
        )
        let listener = try await Central(backend: .bluez(adapter: "hci1"))
        _ = try await listener.find(id)
        try await body()
        await listener.shutDown()
        try await peer.tell("second off")
    }

    @Test func `a device of the second adapter that goes ends nothing of the central with its address`() async throws {
        try await peer.reset()
        let disconnections = SharedValue(0)
        let definition = PeripheralDefinition(
            advertisement: Advertisement(serviceUUIDs: [Self.service]),
            services: [
                ServiceDefinition(
                    Self.service, characteristics: [CharacteristicDefinition(Self.output.uuid, [.read, .notify])],
                    onDisconnect: { _ in disconnections.change { $0 += 1 } })
            ])
        let host = try await PeripheralHost()
        let central = try await Central(backend: BumbleCentral(1))
        try await host.withServed(definition) { served in
            let remote = try await central.first(matching: .service(Self.service), timeout: HangLimit.step).peripheral
            var values = try await remote.notifications(Self.output).makeAsyncIterator()
            await until { (try? await served.subscribers(of: Self.output))?.isEmpty == false }
            try await peer.tell("central 1 adv on")
            try await whileHeard(Peripheral.ID(address: "F8:F9:FA:FB:FC:01")) {
                try await peer.run(
                    "busctl call org.bluez \(Self.second) org.bluez.Adapter1 RemoveDevice o \(Self.second)/\(Self.central)"
                )
                try await served.setValue([1], of: Self.output)
                #expect(try await values.next() == [1])
            }
            // The second adapter is gone by now, with all devices that it has discovered.
            try await served.setValue([2], of: Self.output)
            #expect(try await values.next() == [2])
            #expect(await host.connectedCentrals.count == 1)
            #expect(disconnections.value == 0)
            try await remote.disconnect()
            await until { disconnections.value == 1 }
        }
        await central.shutDown()
        await host.shutDown()
    }
}
