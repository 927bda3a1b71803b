import BLE
import BLESimulation
import Testing

/// Notified and indicated values, and their confirmations.
extension RadioChecks {
    private func withStreams(
        _ check: (SimulatedEvent, Characteristic<[UInt8]>, inout NotificationStream<[UInt8]>.AsyncIterator) async throws
            -> Void
    ) async throws {
        try await contract.withStrap { strap in
            for (event, characteristic) in [
                (SimulatedEvent.notify(from: EchoStrap.output), EchoStrap.output),
                (.indicate(from: EchoStrap.controlPoint), EchoStrap.controlPoint),
            ] {
                var values = try await strap.notifications(characteristic).makeAsyncIterator()
                try await check(event, characteristic, &values)
                await device.removeFaults()
            }
        }
    }

    func lostValues() async throws {
        try await withStreams { event, characteristic, values in
            await device.ignore(event, .nth(2))
            await device.duplicate(event, .nth(3))
            await device.fail(event, .nth(4))
            for value in 1...5 as ClosedRange<UInt8> { try await device.notify([value], from: characteristic) }
            for expected in [1, 3, 3, 5] as [UInt8] { #expect(try await values.next() == [expected]) }
        }
    }

    func heldValues() async throws {
        try await withStreams { event, characteristic, values in
            await device.delay(event, .next(1), by: Self.delay)
            for value in 1...3 as ClosedRange<UInt8> { try await device.notify([value], from: characteristic) }
            await clock.sleepers(for: Self.delay)
            clock.advance(by: Self.delay)
            for expected in 1...3 as ClosedRange<UInt8> { #expect(try await values.next() == [expected]) }

            try await clock.expectHold(of: event, device) {
                for value in 4...5 as ClosedRange<UInt8> { try await device.notify([value], from: characteristic) }
                return nil
            }
            for expected in 4...5 as ClosedRange<UInt8> { #expect(try await values.next() == [expected]) }
        }
    }

    func linksLostWithValues() async throws {
        for isBefore in [true, false] {
            try await contract.withStrap { strap in
                try await strap.setConnectionPolicy(.maintained())
                for (event, characteristic) in [
                    (SimulatedEvent.notify(from: EchoStrap.output), EchoStrap.output),
                    (.indicate(from: EchoStrap.controlPoint), EchoStrap.controlPoint),
                ] {
                    var events = try await strap.notifications(characteristic).events.makeAsyncIterator()
                    if isBefore {
                        await device.dropLink(before: event, .next(1))
                    } else {
                        await device.dropLink(after: event, .next(1))
                    }
                    try await device.notify([1], from: characteristic)
                    if !isBefore {
                        guard case .value([1])? = try await events.next() else {
                            Issue.record("the value was expected before the end of the link")
                            return
                        }
                    }
                    guard case .gap? = try await events.next() else {
                        Issue.record("a gap was expected")
                        return
                    }
                    // It is made again, with the subscription.
                    while await device.subscribers(of: characteristic).isEmpty { await Task.yield() }
                    try await device.notify([2], from: characteristic)
                    guard case .value([2])? = try await events.next() else {
                        Issue.record("the value was expected")
                        return
                    }
                }
            }
        }
    }

    /// A peripheral that indicates four values, and what became of each.
    private static let alarm = Characteristic<[UInt8]>(BluetoothUUID(0xFF02), service: BluetoothUUID(0xFF00))

    private static func indicating(_ outcomes: Noted<[Bool]>) -> PeripheralDefinition {
        PeripheralDefinition(
            advertisement: Advertisement(localName: "Alarm", rssi: -50),
            services: [
                ServiceDefinition(
                    BluetoothUUID(0xFF00),
                    characteristics: [
                        CharacteristicDefinition(
                            alarm.uuid, [.indicate],
                            onSubscribe: { notifier in
                                for value in 1...5 as ClosedRange<UInt8> {
                                    let isConfirmed = (try? await notifier.indicate([value])) != nil
                                    await outcomes.change { $0.append(isConfirmed) }
                                }
                            })
                    ])
            ])
    }

    func confirmations() async throws {
        let outcomes = Noted<[Bool]>([])
        let device = await radio.add(Self.indicating(outcomes))
        try await contract.withCentral { central in
            let confirmation = await device.hold(.confirm, .nth(1))
            await device.fail(.confirm, .nth(2))
            await device.delay(.confirm, .nth(3), by: Self.delay)
            let unconfirmed = await device.ignore(.confirm, .nth(4))
            let peripheral = try await central.first(matching: .id(device.id), timeout: peer.timeout).peripheral
            var values = try await peripheral.notifications(Self.alarm).makeAsyncIterator()
            #expect(try await values.next() == [1])
            await confirmation.disturbed()
            #expect(await outcomes.value == [])
            await confirmation.release()
            for value in 2...3 as ClosedRange<UInt8> { #expect(try await values.next() == [value]) }
            await clock.sleepers(for: Self.delay)
            #expect(await outcomes.value == [true, false])
            clock.advance(by: Self.delay)
            #expect(try await values.next() == [4])
            await unconfirmed.disturbed()
            #expect(await outcomes.value == [true, false, true])
            await device.dropLink()
            try await outcomes.until { $0.count == 5 }
            #expect(await outcomes.value == [true, false, true, false, false])
        }
    }
}
