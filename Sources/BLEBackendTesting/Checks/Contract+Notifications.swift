import BLE
import BLEProfiles
import Testing

extension Contract {
    private static func number(_ value: [UInt8]) -> Int {
        value.prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    /// Returns the numbers of the next `count` values.
    func numbers(_ values: NotificationStream<[UInt8]>, _ count: Int) async throws -> [Int] {
        var numbers: [Int] = []
        for try await value in values {
            numbers.append(Self.number(value))
            if numbers.count == count { break }
        }
        return numbers
    }

    /// The number of values in a burst. Linux keeps 166 packets of 244 bytes for a stack that does not read them, and
    /// drops what follows (212,992 bytes, `net.core.rmem_default`, at 1,280 each).
    static let burst = 150

    func notificationOrder() async throws {
        try await withStrap { strap in
            for length in [20, 244] {
                let values = try await strap.notifications(EchoStrap.output, overflow: .fail(capacity: 1000))
                try await peer.burst(count: Self.burst, length: length)
                #expect(try await numbers(values, Self.burst) == Array(0..<Self.burst))
                #expect(values.droppedCount == 0)
            }
        }
    }

    func measurements() async throws {
        try await withStrap { strap in
            var beats: [Int] = []
            for try await measurement in try await HeartRate(strap).measurements() {
                beats.append(measurement.beatsPerMinute)
                #expect(measurement.contact == true)
                #expect(measurement.energyExpendedKilojoules == 10)
                #expect(measurement.rrIntervalsSeconds.count == 2)
                if beats.count == 3 { break }
            }
            #expect(beats == [72, 73, 74])
        }
    }

    func sharedSubscription() async throws {
        try await withStrap { strap in
            let first = try await strap.notifications(EchoStrap.output)
            do {
                let second = try await strap.notifications(EchoStrap.output)
                try await peer.until(subscribers: 1)
                try await peer.burst(count: 10, length: 20)
                #expect(try await numbers(second, 10) == Array(0..<10))
            }
            // The second stream has ended, but the first continues.
            try await peer.burst(count: 5, length: 20)
            #expect(try await numbers(first, 15) == Array(0..<10) + Array(0..<5))
            try await peer.until(subscribers: 1)
            try await unsubscribed(first)
        }
    }

    /// Takes over the last reader, and ends it.
    func unsubscribed(_ values: consuming NotificationStream<[UInt8]>) async throws {
        let reading = failing { [values] in for try await _ in values {} }
        reading.cancel()
        _ = await reading.value
    }

    func notificationsAfterReconnect() async throws {
        try await withStrap { strap in
            let before = try await strap.notifications(EchoStrap.output)
            try await peer.burst(count: 3, length: 20)
            #expect(try await numbers(before, 3) == [0, 1, 2])
            try await peer.disconnect()
            let end = await error { for try await _ in before {} }
            #expect(end?.code == .disconnected)
            let after = try await strap.notifications(EchoStrap.output)
            try await peer.until(subscribers: 1)
            try await peer.burst(count: 3, length: 20)
            try await peer.notify([9, 0, 0, 0])
            // Each value arrives once.
            #expect(try await numbers(after, 4) == [0, 1, 2, 9])
        }
    }

    /// Reads do not disturb notifications. bluetoothd reports read values in the same way as notified values.
    func readsWhileSubscribed() async throws {
        try await withStrap { strap in
            try await strap.write([7], to: EchoStrap.input)
            let values = try await strap.notifications(EchoStrap.output, overflow: .fail(capacity: 1000))
            var expected: [[UInt8]] = []
            for number in UInt8(0)..<10 {
                // Reads and notifications, in sequence and concurrently, with changed and unchanged values.
                try await peer.notify([number])
                #expect(try await strap.read(EchoStrap.output) == [7])
                try await peer.notify([7])
                async let first = strap.read(EchoStrap.output)
                try await peer.notify([number, number])
                #expect(try await first == [7])
                expected += [[number], [7], [number, number]]
            }
            try await peer.notify([99])
            var seen: [[UInt8]] = []
            for try await value in values {
                if value == [99] { break }
                seen.append(value)
            }
            #expect(seen == expected)

            // The caller of this read no longer waits.
            let slow = try await strap.notifications(EchoStrap.output)
            let reading = failing { _ = try await strap.read(EchoStrap.output) }
            reading.cancel()
            _ = await reading.value
            #expect(try await strap.read(EchoStrap.output) == [7])
            try await peer.notify([98])
            var next = slow.makeAsyncIterator()
            #expect(try await next.next() == [98])
        }
    }

    func emptyNotifications() async throws {
        try await withStrap { strap in
            let values = try await strap.notifications(EchoStrap.output)
            for value in [[1], [], [2], []] as [[UInt8]] { try await peer.notify(value) }
            var seen: [[UInt8]] = []
            for try await value in values {
                seen.append(value)
                if seen.count == 4 { break }
            }
            #expect(seen == [[1], [], [2], []])
            #expect(try await strap.read(EchoStrap.output) == [])
        }
    }
}
