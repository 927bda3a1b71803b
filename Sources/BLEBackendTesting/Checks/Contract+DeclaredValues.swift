import BLE
import BLEProfiles
import Testing

extension Contract {
    /// Declared values are read and notified on each link, and are unknown between links.
    func declaredValues() async throws {
        try await withCentral { central in
            let strap = try await find(central).peripheral
            try await strap.setConnectionPolicy(.maintained())
            try await strap.write([7], to: EchoStrap.input)
            let values = try await strap.values([.readAndNotify(EchoStrap.output), .read(.batteryLevel)])
            #expect(values.isReady && values.failures.isEmpty)
            #expect(try values.value(of: .batteryLevel) == 87)

            var level = values.changes(of: .batteryLevel).makeAsyncIterator()
            #expect(try await level.next() == ValueChange(old: nil, new: 87))
            var changes = values.changes(of: EchoStrap.output).makeAsyncIterator()
            #expect(try await changes.next() == ValueChange(old: nil, new: [7]))
            try await peer.until(subscribers: 1)
            try await peer.notify([1])
            #expect(try await changes.next() == ValueChange(old: [7], new: [1]))
            // A reader without the initial value begins with the next change.
            var later = values.changes(of: EchoStrap.output, initial: false).makeAsyncIterator()
            try await peer.notify([2])
            #expect(try await changes.next() == ValueChange(old: [1], new: [2]))
            #expect(try await later.next() == ValueChange(old: [1], new: [2]))

            try await peer.loseLink()
            #expect(try await changes.next() == ValueChange(old: [2], new: nil))
            #expect(try await level.next() == ValueChange(old: 87, new: nil))
            // The next link begins with the same declarations.
            #expect(try await changes.next() == ValueChange(old: nil, new: [7]))
            #expect(try await level.next() == ValueChange(old: nil, new: 87))
            try await values.waitUntilReady()
            try await peer.until(subscribers: 1)
            try await peer.notify([3])
            #expect(try await changes.next() == ValueChange(old: [7], new: [3]))

            // Without a maintained link, the values stay unknown.
            try await strap.disconnect()
            #expect(try await changes.next() == ValueChange(old: [3], new: nil))
            #expect(values[EchoStrap.output.key] == nil && values[Characteristic.batteryLevel.key] == nil)
            #expect(!values.isReady)
            values.end()
        }
    }

    /// A peripheral is ready when it is discovered and each readable value was read.
    func readableValues() async throws {
        try await peer.release()
        let user = PairingUser(passkey: EchoStrap.passkey)
        // An authenticated bond opens all values.
        try await withPairing(.display, .prompting(user)) { strap in
            try await strap.pair()
            let values = try await strap.readableValues()
            #expect(values.isReady && values.failures.isEmpty)
            let readable = try await strap.services().flatMap { $0.filter { $0.properties.contains(.read) } }
            for characteristic in readable {
                #expect(values[characteristic.key] != nil, "\(characteristic.uuid)")
            }
            let twins = readable.filter { $0.uuid == EchoStrap.twin.uuid }.map { values[$0.key] }
            #expect(twins == [Array("first".utf8), Array("second".utf8)])
            let sealed = try #require(readable.first { $0.uuid == EchoStrap.sealed.uuid })
            var changes = values.changes(of: sealed.key.bytes).makeAsyncIterator()
            #expect(try await changes.next() == ValueChange(old: nil, new: Array("sealed".utf8)))
            try await strap.disconnect()
            #expect(try await changes.next() == ValueChange(old: Array("sealed".utf8), new: nil))
            #expect(readable.allSatisfy { values[$0.key] == nil } && !values.isReady)
            values.end()
        }
    }
}
