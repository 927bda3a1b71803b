import BLE
import BLETestSupport
import Testing

/// A public call that waits for an action of the peripheral or the radio.
struct PublicWait: Sendable, CustomTestStringConvertible {
    typealias Run = @Sendable () async throws -> Void

    /// The declaration: `Scripts/awaits` compares it with the public API.
    let name: String
    /// The code of the error when the central shuts down.
    var atShutdown = BLEError.Code.shutDown
    /// Prepares the wait.
    let prepare: @Sendable (Bench) async throws -> Run

    var testDescription: String { name }

    init(
        _ name: String, atShutdown: BLEError.Code = .shutDown,
        _ prepare: @escaping @Sendable (Bench) async throws -> Run
    ) {
        (self.name, self.atShutdown, self.prepare) = (name, atShutdown, prepare)
    }

    static let all = [
        PublicWait("BoundedStream.Iterator.next()") { bench in
            let states = await bench.central.adapterStates()
            return { for try await _ in states {} }
        },
        PublicWait("BoundedStream.Iterator.next(), connection states") { bench in
            let states = await bench.strap.connectionStates()
            return { for try await _ in states {} }
        },
        PublicWait("BoundedStream.Iterator.next(), connection events") { bench in
            let events = await bench.strap.connectionEvents()
            return { for try await _ in events {} }
        },
        PublicWait("BoundedStream.Iterator.next(), scanning states") { bench in
            let states = await bench.central.scanningStates()
            return { for try await _ in states {} }
        },
        PublicWait("DiscoveryEvents.Iterator.next(), of a running scan") { bench in
            { for try await _ in bench.central.discoveryEvents() {} }
        },
        PublicWait("AutoConnections.Iterator.next(), of a running scan") { bench in
            { for try await _ in bench.central.autoConnections(matching: .any) {} }
        },
        PublicWait("AutoConnectionEvents.Iterator.next(), of a running scan") { bench in
            { for try await _ in bench.central.autoConnections(matching: .any).events {} }
        },
        PublicWait("NotificationStream.Iterator.next()") { bench in
            let values = try await bench.strap.notifications(Bench.level)
            return { for try await _ in values {} }
        },
        PublicWait("NotificationEvents.Iterator.next()") { bench in
            let values = try await bench.strap.notifications(Bench.level)
            return { for try await _ in values.events {} }
        },
        PublicWait("ValueChanges.Iterator.next()") { bench in
            await bench.backend.set([1], of: 2)
            let values = try await bench.strap.values([.readAndNotify(Bench.level)])
            let changes = values.changes(of: Bench.level)
            return { [values] in
                for try await _ in changes { _ = values }
            }
        },
        PublicWait("PeripheralValues.waitUntilReady(timeout:)") { bench in
            await bench.backend.set([1], of: 2)
            let values = try await bench.strap.values([.readAndNotify(Bench.level)])
            try await bench.strap.disconnect()
            await bench.backend.script(.connect, .ignore)
            return { try await values.waitUntilReady() }
        },
        PublicWait("Peripheral.request(_:on:timeout:matching:)") { bench in
            { _ = try await bench.strap.request([1], on: Bench.setting) }
        },
        PublicWait("PeripheralService.request(_:on:timeout:matching:)") { bench in
            { _ = try await PeripheralService(Bench.vendor, on: bench.strap).request([1], on: Bench.setting.key.bytes) }
        },
        PublicWait("ControlPoint.perform(_:_:timeout:)") { bench in
            let service = PeripheralService(Bench.vendor, on: bench.strap)
            let point = ControlPoint<Answer>(Bench.setting.uuid, of: service, responseOpcode: 0x80)
            return { _ = try await point.perform(1) }
        },
        PublicWait("PacketWriter.write(_:timeout:)") { bench in
            let writer = try await bench.strap.packetWriter(to: Bench.command)
            bench.backend.channel.setRoom(0)
            return { try await writer.write([1]) }
        },
        PublicWait("L2CAPChannel.send(_:timeout:)") { bench in
            let channel = try await bench.strap.openChannel(0x0080)
            bench.backend.channel.setRoom(0)
            return { try await channel.send([1]) }
        },
        PublicWait("L2CAPChannel.receive(timeout:)") { bench in
            let channel = try await bench.strap.openChannel(0x0080)
            return { _ = try await channel.receive(timeout: .seconds(3600)) }
        },
        PublicWait("L2CAPChannel.Packets.Iterator.next()") { bench in
            let channel = try await bench.strap.openChannel(0x0080)
            return { for try await _ in channel.packets {} }
        },
        PublicWait("Peripheral.disconnect()") { bench in
            try await bench.strap.connect()
            await bench.backend.script(.disconnect, .ignore)
            return { try await bench.strap.disconnect() }
        },
        PublicWait("AutoConnections.release(_:for:)") { bench in
            try await bench.strap.connect()
            await bench.backend.script(.disconnect, .ignore)
            return { try await bench.central.autoConnections(matching: .any).release(bench.strap) }
        },
        PublicWait("Peripheral.presentationFormat(of:timeout:)") { bench in
            await bench.backend.script(.connect, .ignore)
            return { _ = try await bench.strap.presentationFormat(of: Bench.level.key) }
        },
        PublicWait("PeripheralService.presentationFormat(of:timeout:)") { bench in
            await bench.backend.script(.connect, .ignore)
            let service = PeripheralService(Bench.battery, on: bench.strap)
            return { _ = try await service.presentationFormat(of: Bench.level.key) }
        },
        PublicWait("Central.withDeadline(_:_:)") { bench in
            {
                try await bench.central.withDeadline(.seconds(9)) {
                    for try await _ in bench.central.discoveries() {}
                }
            }
        },
    ]

    private struct Answer: ControlPointResult {
        let rawValue: UInt8
        static let success = Answer(rawValue: 1)
        var meaning: String? { nil }
    }
}
