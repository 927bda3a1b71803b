import BLE
import BLEProfiles
import Synchronization
import Testing

extension Contract {
    private static let backoff = Backoff(initial: .milliseconds(100), factor: 2, maximum: .seconds(1))

    /// A maintained link with two subscribers is reestablished by itself, and both receive later values, after a gap.
    func maintainedLink(_ outage: () async throws -> Void) async throws {
        try await withCentral { central in
            let strap = try await find(central).peripheral
            try await strap.setConnectionPolicy(.maintained(backoff: Self.backoff))
            let streams = [
                try await strap.notifications(EchoStrap.output), try await strap.notifications(EchoStrap.output),
            ]
            var readers = streams.map { $0.events.makeAsyncIterator() }
            try await peer.until(subscribers: 1)
            try await peer.notify([1])
            for index in readers.indices {
                guard case .value([1]) = try await readers[index].next() else {
                    Issue.record("the first value was expected")
                    return
                }
            }
            try await outage()
            try await peer.until(subscribers: 1)
            try await peer.notify([2])
            for index in readers.indices {
                var gaps = 0
                reading: while let event = try await readers[index].next() {
                    switch event {
                    case .gap: gaps += 1
                    case .value(let value):
                        #expect(value == [2])
                        break reading
                    }
                }
                #expect(gaps > 0)
            }
            #expect(try await strap.read(.batteryLevel) == 87)
            // A caller can still end the link.
            try await strap.disconnect()
            #expect(await strap.connectionState == .disconnected)
            try await peer.until(connections: 0)
        }
    }

    func powerCycle() async throws {
        try await peer.setPowered(false)
        try await peer.until(connections: 0)
        try await peer.setPowered(true)
    }

    func replug() async throws {
        try await peer.unplug()
        try await peer.until(connections: 0)
        try await peer.plug()
    }

    func rebirth() async throws {
        try await peer.stopBluetooth()
        try await peer.restartBluetooth()
    }

    /// A scan finds peripherals again after each outage, without a new request.
    func scanOutlastsEverything() async throws {
        try await withCentral { central in
            let heard = Mutex(ContinuousClock.now)
            let scan = failing {
                for try await event in central.discoveryEvents(duplicates: true) {
                    guard case .updated = event else { continue }
                    heard.withLock { $0 = .now }
                }
            }
            func untilHeardAgain() async throws {
                // Advertisements that are already under way do not count.
                let mark = ContinuousClock.now + .milliseconds(100)
                while heard.withLock({ $0 }) < mark { await Task.yield() }
            }
            try await untilHeardAgain()
            for outage in [powerCycle, replug, rebirth] {
                try await outage()
                try await untilHeardAgain()
            }
            scan.cancel()
            #expect(await scan.value?.code == .cancelled)
        }
    }

    func idleLink() async throws {
        try await withCentral { central in
            let strap = try await find(central).peripheral
            try await strap.setConnectionPolicy(.onDemand(idle: .milliseconds(200)))
            #expect(try await Battery(strap).level() == 87)
            try await peer.until(connections: 0)
            try await until(.disconnected, strap)
            // A stream of notifications uses the link while it is read.
            var values = try await strap.notifications(EchoStrap.output).makeAsyncIterator()
            try await peer.notify([1])
            #expect(try await values.next() == [1])
            #expect(try await strap.withConnection { try await Battery($0).level() } == 87)
            #expect(await strap.connectionState == .connected)
            withExtendedLifetime(values) {}
        }
    }
}
