import BLE
import Testing

extension Contract {
    func socketOrder() async throws {
        try await withStrap { strap in
            let values = try await strap.notifications(EchoStrap.output, delivery: .socket)
            try await peer.until(subscribers: 1)
            for length in [20, 244] {
                try await peer.burst(count: Self.burst, length: length)
                #expect(try await numbers(values, Self.burst) == Array(0..<Self.burst))
            }
            #expect(values.droppedCount == 0)
            // A second reader shares the socket. A read is not a notification, but an empty value is one.
            let others = try await strap.notifications(EchoStrap.output)
            _ = try await strap.read(EchoStrap.output)
            for value in [[1], [], [2]] as [[UInt8]] { try await peer.notify(value) }
            for stream in [values, others] {
                var seen: [[UInt8]] = []
                for try await value in stream {
                    seen.append(value)
                    if seen.count == 3 { break }
                }
                #expect(seen == [[1], [], [2]])
            }
            try await peer.until(subscribers: 1)
            try await unsubscribed(values)
            try await unsubscribed(others)
        }
        try await withStrap { strap in
            // The socket ends with its last reader, and can be acquired again.
            for _ in 0..<3 {
                let values = try await strap.notifications(EchoStrap.output, delivery: .socket)
                try await peer.burst(count: 3, length: 20)
                #expect(try await numbers(values, 3) == [0, 1, 2])
            }
        }
    }

    func slowSocketReader() async throws {
        try await withStrap { strap in
            let values = try await strap.notifications(
                EchoStrap.output, delivery: .socket, overflow: .dropOldest(capacity: 8))
            try await peer.burst(count: 100, length: 20)
            // The stream has taken 8 of the values meanwhile, and the others wait in the socket.
            _ = try await strap.read(EchoStrap.output)
            #expect(try await numbers(values, 100) == Array(0..<100))
            #expect(values.droppedCount == 0)
            try await peer.burst(count: 50, length: 20)
            #expect(try await numbers(values, 50) == Array(0..<50))
            // Values that wait at the end of the link have been received, and are delivered.
            try await peer.burst(count: 50, length: 20)
            // The answer to a read arrives after the values.
            _ = try await strap.read(EchoStrap.output)
            try await peer.disconnect()
            try await until(.disconnected, strap)
            #expect(try await numbers(values, 50) == Array(0..<50))
            let end = await error { for try await _ in values {} }
            #expect(end?.code == .disconnected)
        }
    }

    func socketTakenAway() async throws {
        try await withStrap { strap in
            let echo = try #require(try await strap.services()[EchoStrap.service])
            let output = try #require(echo[EchoStrap.output.key.characteristic])
            let values = try await strap.notifications(EchoStrap.output, delivery: .socket)
            var events = values.events.makeAsyncIterator()
            try await peer.notify([1])
            guard case .value([1]) = try await events.next() else { return #expect(Bool(false), "no value") }
            try await peer.stopNotifications(echo.handle, output.handle)
            guard case .gap(let error) = try await events.next() else { return #expect(Bool(false), "no gap") }
            #expect(error.code == .busy)
            #expect(await strap.connectionState == .connected)
            // Notifications are turned on again by themselves, in the standard way.
            try await peer.until(subscribers: 1)
            for number in UInt8(2)..<5 {
                try await peer.notify([number])
                guard case .value([number]) = try await events.next() else { return #expect(Bool(false), "no value") }
            }
        }
    }

    func socketAfterReconnect() async throws {
        try await withStrap { strap in
            let values = try await strap.notifications(EchoStrap.output, delivery: .socket)
            try await peer.burst(count: 3, length: 20)
            #expect(try await numbers(values, 3) == [0, 1, 2])
            try await peer.loseLink()
            let end = await error { for try await _ in values {} }
            #expect(end?.code == .disconnected)
            let again = try await strap.notifications(EchoStrap.output, delivery: .socket)
            try await peer.until(subscribers: 1)
            try await peer.burst(count: 3, length: 20)
            #expect(try await numbers(again, 3) == [0, 1, 2])
        }
    }

    func indicationsForSocketReader() async throws {
        try await withStrap { strap in
            let values = try await strap.notifications(EchoStrap.controlPoint, delivery: .socket)
            try await strap.write([5], to: EchoStrap.controlPoint)
            for try await value in values {
                #expect(value == [0x20, 5])
                break
            }
        }
    }

    // MARK: Writers

    /// Returns when the last value written to the peripheral is this one.
    func until(written value: [UInt8]) async throws {
        while try await peer.written() != value {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    func writerOrder() async throws {
        try await withStrap { strap in
            let writer = try await strap.packetWriter(to: EchoStrap.input)
            #expect(writer.maximumLength == EchoStrap.packetLength - 3)
            for number in UInt8(0)..<200 { try await writer.write([number, 1]) }
            try await until(written: [199, 1])
            let longest = [UInt8](repeating: 7, count: writer.maximumLength)
            try await writer.write(longest)
            try await until(written: longest)
            let tooLong = await error { try await writer.write(longest + [7]) }
            #expect(tooLong?.code == .invalidLength)
            #expect(tooLong?.characteristic == EchoStrap.input.key.characteristic)
            // A packet written before the close is still sent.
            try await writer.write([8])
            writer.close()
            try await until(written: [8])
            let closed = await error { try await writer.write([9]) }
            #expect(closed?.code == .disconnected)
            #expect(closed?.isRetryable == false)
            #expect(await strap.connectionState == .connected)
        }
    }

    func exclusiveWriter() async throws {
        try await withStrap { strap in
            let refused = await error { _ = try await strap.packetWriter(to: EchoStrap.slow) }
            #expect(refused?.code == .notSupported)
            do {
                let writer = try await strap.packetWriter(to: EchoStrap.input)
                let second = await error { _ = try await strap.packetWriter(to: EchoStrap.input) }
                #expect(second?.code == .busy)
                let other = await error { try await strap.write([1], to: EchoStrap.input) }
                #expect(other?.code == .busy)
                try await writer.write([2])
                try await until(written: [2])
            }
            // The writer was closed when it was released.
            try await strap.write([3], to: EchoStrap.input)
            #expect(try await peer.written() == [3])
            let writer = try await strap.packetWriter(to: EchoStrap.input)
            try await writer.write([4])
            try await until(written: [4])
        }
    }

    func writerAtLinkEnd() async throws {
        try await withStrap { strap in
            let writer = try await strap.packetWriter(to: EchoStrap.input)
            try await writer.write([1])
            try await until(written: [1])
            try await peer.disconnect()
            try await until(.disconnected, strap)
            let error = await error { try await writer.write([2]) }
            #expect(error?.code == .disconnected)
            #expect(error?.peripheral == strap.id)
            let again = try await strap.packetWriter(to: EchoStrap.input)
            try await again.write([3])
            try await until(written: [3])
        }
    }
}
