import BLE
import BLEBlueZ
import BLETestSupport
import BlueZTestSupport
import Foundation
import Testing

/// A central of another stack pairs with this machine, with a number. Runs inside `Scripts/with-bluez` only.
@Suite(.enabled(if: Guest.isHere), .serialized, .inGuest, .hangLimit)
struct RealHostPairingTests {
    private static let service = BluetoothUUID(0xFFE0)
    private static let value = Characteristic<[UInt8]>(BluetoothUUID(0xFFE1))
    private static let output = Characteristic<[UInt8]>(BluetoothUUID(0xFFE2))

    private let peer = RealPeer()
    private let shown = SharedValue<[Passkey]>([])

    /// Serves a value that only a central that has paired with a number can read, and another that is notified.
    private func withServed(_ check: (PeripheralHost, ServedPeripheral) async throws -> Void) async throws {
        try await peer.reset()
        // The central forgets its half of a bond when it is reset.
        let device = "/org/bluez/hci0/dev_F8_F9_FA_FB_FC_01"
        try await peer.run(
            "busctl call org.bluez /org/bluez/hci0 org.bluez.Adapter1 RemoveDevice o \(device) || true")
        let pairing = PairingAgent(capability: { .displayOnly }) { [shown] _, prompt in
            guard case .show(let passkey, _) = prompt else { return .refuse }
            shown.change { $0.append(passkey) }
            return .accept
        }
        let host = try await PeripheralHost(configuration: .init(pairing: pairing))
        let definition = PeripheralDefinition(
            advertisement: Advertisement(serviceUUIDs: [Self.service]),
            services: [
                ServiceDefinition(
                    Self.service,
                    characteristics: [
                        CharacteristicDefinition(Self.value.uuid, .read, security: .authenticated, value: [7]),
                        CharacteristicDefinition(Self.output.uuid, [.read, .notify], value: [0]),
                    ])
            ])
        do {
            try await host.withServed(definition) { try await check(host, $0) }
        } catch {
            await host.shutDown()
            throw error
        }
        await host.shutDown()
    }

    /// The central, which is connected, pairs: its user enters the number that this machine shows.
    private func pair() async throws {
        let pairing = Task { try await peer.tell("central 1 pair") }
        await until { !shown.value.isEmpty }
        try await peer.tell("central 1 type \(shown.value[0].value)")
        try await pairing.value
    }

    @Test func `a central that enters the shown number reads what is authenticated`() async throws {
        try await withServed { _, _ in
            let central = try await Central(backend: BumbleCentral(1))
            try await peer.tell("central 1 pairing keyboard")
            let remote = try await central.first(matching: .service(Self.service), timeout: HangLimit.step).peripheral
            try await remote.connect()
            try await pair()
            let value = try await remote.read(Self.value)
            #expect(value == [7])
            await central.shutDown()
        }
    }

    private struct Service: Decodable {
        struct Characteristic: Decodable { let uuid: String, handle: UInt16 }
        let characteristics: [Characteristic]
    }

    private struct Event: Decodable { let event: String, handle: UInt16?, value: String? }

    private func decode<Value: Decodable>(_ answer: String) throws -> Value {
        try JSONDecoder().decode(Value.self, from: Data(answer.utf8))
    }

    /// Connects the central, and returns the handles of both values.
    private func connect() async throws -> (value: UInt16, output: UInt16) {
        _ = try await peer.ask("central 1 events")
        try await peer.tell("central 1 connect")
        let services: [Service] = try decode(try await peer.ask("central 1 discover"))
        let all = services.flatMap(\.characteristics)
        func handle(_ uuid: BluetoothUUID) throws -> UInt16 {
            try #require(all.first { BluetoothUUID($0.uuid) == uuid }?.handle)
        }
        return (try handle(Self.value.uuid), try handle(Self.output.uuid))
    }

    /// The next value that the central is notified of.
    private func nextValue(from handle: UInt16) async throws -> String? {
        while true {
            let answer = try await peer.ask("central 1 next")
            guard answer != "-" else { return nil }
            let event: Event = try decode(answer)
            if event.event == "notification", event.handle == handle { return event.value }
        }
    }

    @Test func `a central with a bond returns, also to a new bluetoothd, and is not asked again`() async throws {
        try await withServed { host, served in
            var events = await host.events().makeAsyncIterator()
            try await peer.tell("central 1 reset")
            try await peer.tell("central 1 pairing keyboard")
            var handles = try await connect()
            try await pair()
            #expect(try await peer.ask("central 1 read \(handles.value)") == "07")
            try await peer.tell("central 1 subscribe \(handles.output) notify")
            await until { (try? await served.subscribers(of: Self.output))?.count == 1 }
            let central = try #require(await host.connectedCentrals.first)
            let tellsApart = try await served.subscribers(of: Self.output) == [central]

            let ends: [() async throws -> Void] = [
                { try await peer.tell("central 1 disconnect") }, { try await host.disconnect(central) },
            ]
            for (number, end) in ends.enumerated() {
                try await end()
                await until { await host.connectedCentrals.isEmpty }
                handles = try await connect()
                await until { await host.connectedCentrals == [central] }
                #expect(try await peer.ask("central 1 read \(handles.value)") == "07")
                // It is still subscribed.
                await until { (try? await served.subscribers(of: Self.output)) == [tellsApart ? central : nil] }
                try await served.notify([UInt8(number) + 1], from: Self.output)
                #expect(try await nextValue(from: handles.output) == "0\(number + 1)")
                if tellsApart {
                    try await served.notify([UInt8(number) + 3], from: Self.output, to: central)
                    #expect(try await nextValue(from: handles.output) == "0\(number + 3)")
                }
            }

            try await peer.stopBluetooth()
            try await peer.restartBluetooth()
            while let event = try await events.next() {
                if case .advertisingStarted = event { break }
            }
            // bluetoothd may have taken over the link.
            _ = try? await peer.ask("central 1 disconnect")
            try await peer.until("central 1 connected") { $0 == 0 }
            handles = try await connect()
            #expect(try await peer.ask("central 1 read \(handles.value)") == "07")
            // Its subscription has ended with the former bluetoothd.
            #expect(try await served.subscribers(of: Self.output).isEmpty)
            try await peer.tell("central 1 subscribe \(handles.output) notify")
            await until { (try? await served.subscribers(of: Self.output))?.count == 1 }
            try await served.notify([5], from: Self.output)
            #expect(try await nextValue(from: handles.output) == "05")
            #expect(shown.value.count == 1)
            try await peer.tell("central 1 reset")
        }
    }
}
