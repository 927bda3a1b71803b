import BLE
import BLEBackendTesting
import BLEBlueZ
import BLETestSupport
import BlueZTestSupport
import Testing

/// Two independently written centrals at once, served by the real bluetoothd. Runs inside `Scripts/with-bluez` only.
@Suite(.enabled(if: Guest.isHere), .serialized, .inGuest, .hangLimit)
struct RealTwoCentralsTests {
    private let peer = RealPeer()

    private static let service = BluetoothUUID(0xFFE0)
    private static let output = Characteristic<[UInt8]>(BluetoothUUID(0xFFE2), service: service)
    private static let echo = Characteristic<[UInt8]>(BluetoothUUID(0xFFE3), service: service)

    private func withTwo(
        _ definition: PeripheralDefinition,
        _ check: (PeripheralHost, ServedPeripheral, [Peripheral]) async throws -> Void
    ) async throws {
        try await peer.reset()
        let host = try await PeripheralHost()
        var centrals: [Central] = []
        do {
            try await host.withServed(definition) { served in
                var remotes: [Peripheral] = []
                for number in 1...2 {
                    let central = try await Central(backend: BumbleCentral(number))
                    centrals.append(central)
                    let remote = try await central.first(matching: .service(Self.service), timeout: HangLimit.step)
                        .peripheral
                    try await remote.connect()
                    remotes.append(remote)
                }
                try await check(host, served, remotes)
            }
        } catch {
            for central in centrals { await central.shutDown() }
            await host.shutDown()
            throw error
        }
        for central in centrals { await central.shutDown() }
        await host.shutDown()
    }

    /// - Parameter leaving: which one leaves. From 5.80 on, bluetoothd closes the socket of the first in both cases.
    @Test(arguments: [0, 1])
    func `values reach both, and the one that stays when the other leaves`(_ leaving: Int) async throws {
        let definition = PeripheralDefinition(
            advertisement: Advertisement(serviceUUIDs: [Self.service]),
            services: [
                ServiceDefinition(
                    Self.service, characteristics: [CharacteristicDefinition(Self.output.uuid, [.read, .notify])])
            ])
        try await withTwo(definition) { host, served, remotes in
            await until { await host.connectedCentrals.count == 2 }
            var events = await host.events().makeAsyncIterator()
            var first = try await remotes[0].notifications(Self.output).makeAsyncIterator()
            var second = try await remotes[1].notifications(Self.output).makeAsyncIterator()
            var tellsApart = false
            while let event = try await events.next() {
                guard case .subscribed(let subscriber) = event else { continue }
                guard subscriber.central != nil, !tellsApart else { break }
                tellsApart = true
            }
            for number in UInt8(0)..<20 { try await served.notify([number], from: Self.output) }
            for number in UInt8(0)..<20 {
                let (one, two) = (try await first.next(), try await second.next())
                #expect(one == [number])
                #expect(two == [number])
            }
            try await remotes[leaving].disconnect()
            while let event = try await events.next() {
                if case .centralDisconnected = event { break }
            }
            // bluetoothd 5.66 reports only that the last one leaves.
            let connected = await host.connectedCentrals
            let staying = tellsApart ? connected.first : nil
            #expect(connected.count == 1)
            try await served.notify([98], from: Self.output)
            try await served.notify([99], from: Self.output, to: staying)
            for number in UInt8(98)...99 {
                let value = leaving == 0 ? try await second.next() : try await first.next()
                #expect(value == [number])
            }
            #expect(try await served.subscribers(of: Self.output) == [staying])
            // It is still a subscriber when the other one has returned.
            var returned = try await remotes[leaving].notifications(Self.output).makeAsyncIterator()
            await until { (try? await served.subscribers(of: Self.output))?.count == (tellsApart ? 2 : 1) }
            #expect(try await served.subscribers(of: Self.output).contains(staying))
            try await served.notify([100], from: Self.output)
            #expect(try await returned.next() == [100])
            let value = leaving == 0 ? try await second.next() : try await first.next()
            #expect(value == [100])
        }
    }

    @Test func `requests of both are distinguished, and neither waits for the other`() async throws {
        let asked = SharedValue<[Peripheral.ID]>([])
        let definition = PeripheralDefinition(
            advertisement: Advertisement(serviceUUIDs: [Self.service]),
            services: [
                ServiceDefinition(
                    Self.service,
                    characteristics: [
                        CharacteristicDefinition(
                            Self.echo.uuid, .read,
                            onRead: { request in
                                asked.change { $0.append(request.central) }
                                // The first request is answered when the second has arrived, too.
                                while asked.value.count < 2, !Task.isCancelled { await Task.yield() }
                                return Array(request.central.rawValue.utf8)
                            })
                    ])
            ])
        try await withTwo(definition) { _, _, remotes in
            async let one = remotes[0].read(Self.echo)
            async let two = remotes[1].read(Self.echo)
            let answers = [
                String(decoding: try await one, as: UTF8.self), String(decoding: try await two, as: UTF8.self),
            ]
            #expect(answers == ["F8:F9:FA:FB:FC:01", "F8:F9:FA:FB:FC:02"])
        }
    }
}
