import BLE
import BLEBlueZ
import BLETestSupport
import BlueZTestSupport
import Testing

/// A central of another stack pairs with this machine, with a number. Runs inside `Scripts/with-bluez` only.
@Suite(.enabled(if: Guest.isHere), .serialized, .inGuest, .hangLimit)
struct RealHostPairingTests {
    private static let value = Characteristic<[UInt8]>(BluetoothUUID(0xFFE1))

    @Test func `a central that enters the shown number reads what is authenticated`() async throws {
        let peer = RealPeer()
        try await peer.reset()
        let shown = SharedValue<[Passkey]>([])
        let pairing = PairingAgent(capability: { .displayOnly }) { _, prompt in
            guard case .show(let passkey, _) = prompt else { return .refuse }
            shown.change { $0.append(passkey) }
            return .accept
        }
        let host = try await PeripheralHost(configuration: .init(pairing: pairing))
        let definition = PeripheralDefinition(
            advertisement: Advertisement(serviceUUIDs: [BluetoothUUID(0xFFE0)]),
            services: [
                ServiceDefinition(
                    BluetoothUUID(0xFFE0),
                    characteristics: [
                        CharacteristicDefinition(
                            Self.value.key.characteristic, .read, security: .authenticated, value: [7])
                    ])
            ])
        try await host.withServed(definition) { _ in
            let central = try await Central(backend: BumbleCentral(1))
            try await peer.tell("central 1 pairing keyboard")
            let remote = try await central.first(matching: .service(BluetoothUUID(0xFFE0)), timeout: HangLimit.step)
                .peripheral
            try await remote.connect()
            let pairing = Task { try await peer.tell("central 1 pair") }
            await until { !shown.value.isEmpty }
            try await peer.tell("central 1 type \(shown.value[0].value)")
            try await pairing.value
            let value = try await remote.read(Self.value)
            #expect(value == [7])
            await central.shutDown()
        }
        await host.shutDown()
    }
}
