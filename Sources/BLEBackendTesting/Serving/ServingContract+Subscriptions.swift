import BLE
import Testing

extension ServingContract {
    func values() async throws {
        try await withServed(Self.definition(Self.notifying)) { host, served, remote in
            var events = await host.events().makeAsyncIterator()
            var values = try await remote.notifications(Self.output).makeAsyncIterator()
            try await until(&events) { if case .subscribed = $0 { true } else { false } }
            for number in UInt8(0)..<100 { try await served.notify([number, 9], from: Self.output) }
            for number in UInt8(0)..<100 { #expect(try await values.next() == [number, 9]) }
            // A value that is only sent is not stored.
            #expect(try await remote.read(Self.output) == [0])
        }
    }

    func subscribersApart() async throws {
        try await withServed(Self.definition(Self.notifying)) { host, served, remote in
            var events = await host.events().makeAsyncIterator()
            var values = try await remote.notifications(Self.output).makeAsyncIterator()
            var subscriber: DeviceID?
            try await until(&events) { event in
                guard case .subscribed(let found) = event else { return false }
                subscriber = found.central
                return true
            }
            let central = try #require(await host.connectedCentrals.first)
            #expect(subscriber == (peer.distinguishesSubscribers ? central : nil))
            #expect(try await served.subscribers(of: Self.output) == [subscriber])
            // A central that has not subscribed receives nothing.
            let other = DeviceID(rawValue: "C0:00:00:00:0A:0B")
            guard let subscriber else {
                let refused = await error { try await served.notify([1, 0], from: Self.output, to: other) }
                #expect(refused?.code == .notSupported)
                return
            }
            try await served.notify([1, 0], from: Self.output, to: other)
            for number in UInt8(2)..<20 {
                try await served.notify([number, 0], from: Self.output, to: number % 2 == 0 ? subscriber : nil)
            }
            for number in UInt8(2)..<20 { #expect(try await values.next() == [number, 0]) }
        }
    }

    func subscriptionHandler() async throws {
        let ended = Noted(0)
        let definition = Self.definition(
            CharacteristicDefinition(
                Self.output.uuid, .notify,
                onSubscribe: { notifier in
                    for number in UInt8(1)...3 { await notifier.notify([number]) }
                    try? await Task.sleep(for: .seconds(3600))
                    await ended.change { $0 += 1 }
                }))
        try await withServed(definition) { host, served, remote in
            var events = await host.events().makeAsyncIterator()
            for round in 1...2 {
                try await subscribe(remote, expecting: [[1], [2], [3]]) {
                    let subscribers = try await served.subscribers(of: Self.output)
                    #expect(subscribers.count == 1)
                }
                try await until(&events) { if case .unsubscribed = $0 { true } else { false } }
                try await ended.until { $0 == round }
                #expect(try await served.subscribers(of: Self.output).isEmpty)
            }
        }
    }

    func failingHandler() async throws {
        let definition = Self.definition(
            CharacteristicDefinition(
                Self.output.uuid, [.read, .notify], value: [0],
                onSubscribe: { _ in throw ATTError(rawValue: 0x85) }), Self.readable)
        try await withServed(definition) { host, served, remote in
            var events = await host.events().makeAsyncIterator()
            for _ in 0..<2 {
                var values: NotificationStream<[UInt8]>?
                do throws(BLEError) {
                    values = try await remote.notifications(Self.output)
                } catch {
                    // Thrown if the stack has not answered the subscription yet.
                    #expect(error.attError == ATTError(rawValue: 0x85))
                }
                try await expectFailure(&events)
                let left = try await served.subscribers(of: Self.output)
                try await served.notify([1], from: Self.output)
                if left.isEmpty {
                    try await until(&events) { if case .unsubscribed = $0 { true } else { false } }
                } else {
                    // If the stack does not distinguish subscribers, the others still receive values for all.
                    #expect(left == [nil])
                }
                // The link stays.
                #expect(try await remote.read(Self.plain) == [1, 2, 3])
                withExtendedLifetime(values) {}
                values = nil
                try await remote.disconnect()
                // A shared subscription ends with the link of the last subscriber.
                while try await !served.subscribers(of: Self.output).isEmpty {
                    try Task.checkCancellation()
                    await Task.yield()
                }
            }
        }
    }

    private func expectFailure(_ events: inout BoundedStream<PeripheralHostEvent>.Iterator) async throws(BLEError) {
        while let event = try await events.next() {
            guard case .failed(let error) = event else { continue }
            #expect(error.cause as? ATTError == ATTError(rawValue: 0x85))
            #expect(error.characteristic == Self.output.uuid)
            return
        }
    }

    func handlerIndications() async throws {
        let confirmed = Noted<[UInt8]>([])
        let definition = Self.definition(
            CharacteristicDefinition(
                Self.output.uuid, [.read, .indicate], value: [0],
                onSubscribe: { notifier in
                    for number in UInt8(1)...3 {
                        try await notifier.indicate([number])
                        await confirmed.change { $0.append(number) }
                    }
                }))
        try await withServed(definition) { _, _, remote in
            try await subscribe(remote, expecting: [[1], [2], [3]]) {
                try await confirmed.until { $0 == [1, 2, 3] }
            }
        }
    }

    private func subscribe(
        _ remote: Peripheral, expecting expected: [[UInt8]], _ meanwhile: () async throws -> Void
    ) async throws {
        var values = try await remote.notifications(Self.output).makeAsyncIterator()
        for value in expected { #expect(try await values.next() == value) }
        try await meanwhile()
    }

    func changedValues() async throws {
        let definition = Self.definition(
            CharacteristicDefinition(Self.output.uuid, [.read, .write, .notify], value: [0]))
        try await withServed(definition) { host, served, remote in
            var events = await host.events().makeAsyncIterator()
            var values = try await remote.notifications(Self.output).makeAsyncIterator()
            try await until(&events) { if case .subscribed = $0 { true } else { false } }
            try await served.setValue([1], of: Self.output)
            #expect(try await values.next() == [1])
            // A central's write is sent, too.
            try await remote.write([2], to: Self.output)
            #expect(try await values.next() == [2])
            #expect(try await served.value(Self.output) == [2])
        }
    }

    func indications() async throws {
        let definition = Self.definition(CharacteristicDefinition(Self.output.uuid, [.read, .indicate], value: [0]))
        try await withServed(definition) { host, served, remote in
            var events = await host.events().makeAsyncIterator()
            var values = try await remote.notifications(Self.output).makeAsyncIterator()
            try await until(&events) { if case .subscribed = $0 { true } else { false } }
            for number in UInt8(1)...5 {
                try await served.indicate([number], from: Self.output)
                #expect(try await values.next() == [number])
            }
        }
    }

    func indicationsToOne() async throws {
        let definition = Self.definition(CharacteristicDefinition(Self.output.uuid, [.read, .indicate], value: [0]))
        try await withServed(definition) { host, served, remote in
            var events = await host.events().makeAsyncIterator()
            var values = try await remote.notifications(Self.output).makeAsyncIterator()
            try await until(&events) { if case .subscribed = $0 { true } else { false } }
            let subscriber = try #require(try await served.subscribers(of: Self.output).first)
            guard let subscriber else {
                // If the system does not distinguish subscribers, it cannot send a value to one of them.
                let central = try #require(await host.connectedCentrals.first)
                let refused = await error { try await served.indicate([1], from: Self.output, to: central) }
                #expect(refused?.code == .notSupported)
                return
            }
            // Values for all, and values whose confirmation is not awaited, are confirmed in between.
            for number in UInt8(1)...9 {
                switch number % 3 {
                case 0: try await served.notify([number], from: Self.output, to: subscriber)
                case 1: try await served.indicate([number], from: Self.output, to: subscriber)
                default: try await served.indicate([number], from: Self.output)
                }
                #expect(try await values.next() == [number])
            }
        }
    }

    func tooLongValues() async throws {
        try await withServed(Self.definition(Self.notifying)) { host, served, remote in
            var events = await host.events().makeAsyncIterator()
            let values = try await remote.notifications(Self.output)
            try await until(&events) { if case .subscribed = $0 { true } else { false } }
            // A request tells the host the length of packets.
            _ = try await remote.read(Self.output)
            let refused = await error { try await served.notify([UInt8](repeating: 1, count: 515), from: Self.output) }
            #expect(refused?.code == .invalidLength)
            #expect(refused?.characteristic == Self.output.uuid)
            let tooLong = [UInt8](repeating: 1, count: 513)
            #expect(await error { try await served.setValue(tooLong, of: Self.output) }?.code == .invalidLength)
            #expect(try await served.value(Self.output) == [0])
            withExtendedLifetime(values) {}
        }
    }

    func controlPoint() async throws {
        let definition = Self.definition(
            .controlPoint(Self.handled.uuid) { (request) throws(ATTError) in
                guard request != [0] else { throw ATTError(rawValue: 0x81) }
                return Array(request.reversed())
            })
        try await withServed(definition) { _, _, remote in
            for request in [[1, 2, 3], [4, 5]] as [[UInt8]] {
                let answer = try await remote.request(request, on: Self.handled)
                #expect(answer == request.reversed())
            }
            let refused = await error { _ = try await remote.request([0], on: Self.handled) as [UInt8] }
            #expect(refused?.attError == ATTError(rawValue: 0x81))
        }
    }
}
