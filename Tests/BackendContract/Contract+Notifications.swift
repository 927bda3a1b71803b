import BLE
import BLEProfiles
import Testing

extension Contract {
    private static func number(_ value: [UInt8]) -> Int {
        value.prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    /// The numbers of the next `count` values.
    private func numbers(_ values: NotificationStream<[UInt8]>, _ count: Int) async throws -> [Int] {
        var numbers: [Int] = []
        for try await value in values {
            numbers.append(Self.number(value))
            if numbers.count == count { break }
        }
        return numbers
    }

    func notificationOrder() async throws {
        try await withStrap { strap in
            for length in [20, 244] {
                let values = try await strap.notifications(EchoStrap.output, overflow: .fail(capacity: 1000))
                try await peer.burst(count: 200, length: length)
                #expect(try await numbers(values, 200) == Array(0..<200))
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
                #expect(measurement.energyExpended == 10)
                #expect(measurement.rrIntervals.count == 2)
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
            // The second has gone, the first goes on.
            try await peer.burst(count: 5, length: 20)
            #expect(try await numbers(first, 15) == Array(0..<10) + Array(0..<5))
            try await peer.until(subscribers: 1)
            try await unsubscribed(first)
        }
    }

    /// Takes the last reader over, and so to its end.
    private func unsubscribed(_ values: consuming NotificationStream<[UInt8]>) async throws {
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
            // Each once.
            #expect(try await numbers(after, 4) == [0, 1, 2, 9])
        }
    }
}
