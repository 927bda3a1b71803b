import BLE
import BLEProfiles
import Testing

extension Contract {
    func tree() async throws {
        try await withStrap { strap in
            let services = try await strap.services()
            let echo = try #require(services[EchoStrap.service])
            let twins = echo[all: EchoStrap.twin.key.characteristic]
            #expect(twins.count == 2)
            var values: [String] = []
            for twin in twins { values.append(String(decoding: try await strap.read(twin.key.bytes), as: UTF8.self)) }
            #expect(values == ["first", "second"])
            #expect(try await strap.read(EchoStrap.twin) == Array("first".utf8))
            let included = services.includedServices(of: echo)
            #expect(included.map(\.uuid) == [EchoStrap.included])
            #expect(included.first?.isPrimary == false)
            #expect(included.first?.first?.uuid == EchoStrap.extra.key.characteristic)
            #expect(try await strap.read(EchoStrap.extra) == Array("included".utf8))
            #expect(services[.battery].map { services.includedServices(of: $0) } == [])
            // All positions beyond the ends return nil.
            #expect(services[services.count] == nil)
            #expect(services[-1] == nil)
            #expect(echo[0]?.handle == echo.first?.handle)
            #expect(echo[handle: twins[1].handle] == twins[1])
            #expect(echo[EchoStrap.output.key.characteristic]?[BluetoothUUID(0x2902)] != nil)
            #expect(echo[EchoStrap.output.key.characteristic]?[7] == nil)
        }
    }

    func presentation() async throws {
        try await withStrap { strap in
            let names = [
                try await strap.userDescription(of: EchoStrap.note.key),
                try await strap.userDescription(of: EchoStrap.output.key),
                try await strap.userDescription(of: EchoStrap.slow.key),
            ]
            #expect(names == ["Note", "Echo out", nil])
            let format = try await strap.presentationFormat(of: EchoStrap.note.key)
            #expect(format == EchoStrap.noteFormat)
            let none = try await strap.presentationFormat(of: EchoStrap.output.key)
            #expect(none == nil)
            let missing = await error {
                _ = try await strap.userDescription(of: CharacteristicKey(characteristic: BluetoothUUID(0xBEEF)))
            }
            #expect(missing?.code == .characteristicNotFound)
        }
    }

    func parts() async throws {
        try await withStrap { strap in
            let key = EchoStrap.note.key
            let value = (0..<400).map { UInt8(truncatingIfNeeded: $0 * 3) }
            try await strap.write(value, to: key.bytes)
            #expect(try await strap.readBytes(of: key, offset: 250) == Array(value[250...]))
            #expect(try await strap.readBytes(of: key, offset: 399) == [value[399]])
            #expect(try await strap.readBytes(of: key, offset: 400) == [])
            let beyond = await error { _ = try await strap.readBytes(of: key, offset: 401) }
            #expect(beyond?.code == .invalidOffset)
            #expect(beyond?.attError == .invalidOffset)
            // A part in the middle, and one at the end that extends the value.
            try await strap.writeBytes([1, 2, 3], to: key, offset: 100)
            #expect(try await strap.read(key.bytes) == value[..<100] + [1, 2, 3] + value[103...])
            try await strap.writeBytes([4, 5], to: key, offset: 400)
            #expect(try await strap.read(key.bytes) == value[..<100] + [1, 2, 3] + value[103...] + [4, 5])
            let gap = await error { try await strap.writeBytes([6], to: key, offset: 410) }
            #expect(gap?.code == .invalidOffset)
            // This peripheral does not return part of a value that fits one packet.
            try await strap.write([1, 2, 3], to: key.bytes)
            let short = await error { _ = try await strap.readBytes(of: key, offset: 1) }
            #expect(short?.code == .attributeError)
            #expect(short?.attError == .attributeNotLong)
            let tooLong = await error { try await strap.writeBytes([1, 2], to: key, offset: 511) }
            #expect(tooLong?.code == .invalidLength)
            let negative = await error { _ = try await strap.readBytes(of: key, offset: -1) }
            #expect(negative?.code == .invalidOffset)
        }
    }

    func reliableWrites() async throws {
        try await withStrap { strap in
            let properties = try await strap.services()[EchoStrap.service]?[EchoStrap.note.key.characteristic]?
                .properties
            #expect(properties == [.read, .write, .reliableWrite, .extendedProperties])
            let value = (0..<512).map { UInt8(truncatingIfNeeded: $0 * 5) }
            for count in [512, 1] {
                try await strap.write(Array(value.prefix(count)), to: EchoStrap.note, type: .reliable)
                #expect(try await strap.read(EchoStrap.note) == Array(value.prefix(count)))
            }
            let refused = await error { try await strap.write([1], to: EchoStrap.input, type: .reliable) }
            #expect(refused?.code == .notSupported)
        }
    }
}
