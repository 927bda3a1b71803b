import BLE
import BLETestSupport
import Testing

@Suite struct AdvertisingDataTests {
    // MARK: Decoding

    @Test func `structures keep their order, unknown types too`() throws {
        let packet = try #require(Hex.bytes("020106 04ff4c0012 03030d18 033d0102 0109"))
        let data = try AdvertisingData(decoding: packet.span)
        #expect(data.structures.map(\.type) == [0x01, 0xFF, 0x03, 0x3D, 0x09])
        #expect(data.structures.map(\.bytes) == [[6], [0x4C, 0, 0x12], [0x0D, 0x18], [1, 2], []])
        #expect(try data.encode() == packet)
    }

    @Test(arguments: ["", "00", "0000000000", "00ffffff"])
    func `a length of zero ends the data, whatever follows`(_ rest: String) throws {
        let packet = try #require(Hex.bytes("020106" + rest))
        #expect(try AdvertisingData(decoding: packet.span).structures.map(\.type) == [0x01])
    }

    @Test(arguments: [
        ("01", 1, 0), ("0201", 2, 1), ("020106ff", 255, 0), ("0201060509616263", 5, 4),
    ])
    func `a structure that is longer than what is left is an error`(_ hex: String, _ needed: Int, _ available: Int)
        throws
    {
        let packet = try #require(Hex.bytes(hex))
        #expect(throws: AdvertisingDataError.truncated(needed: needed, available: available)) {
            try AdvertisingData(decoding: packet.span)
        }
    }

    // MARK: Encoding

    @Test(arguments: [
        (AdvertisingData.Limit.legacy, 31), (.extended, 254), (.chained, 1650),
    ])
    func `a packet is as long as its limit, and no longer`(_ limit: AdvertisingData.Limit, _ count: Int) throws {
        var data = AdvertisingData()
        while data.encodedCount < count {
            let bytes = min(count - data.encodedCount - 2, 200)
            data.structures.append(AdvertisingStructure(type: 0xFF, bytes: [UInt8](repeating: 1, count: bytes)))
        }
        #expect(try data.encode(limit: limit).count == count)
        data.structures[0].bytes.append(1)
        #expect(throws: AdvertisingDataError.tooLong(count: count + 1, maximum: count)) {
            try data.encode(limit: limit)
        }
    }

    @Test func `a structure has at most 254 bytes`() throws {
        let longest = AdvertisingStructure(type: 0xFF, bytes: [UInt8](repeating: 7, count: 254))
        #expect(try AdvertisingData(structures: [longest]).encode(limit: .chained).first == 255)
        let longer = AdvertisingStructure(type: 0xFF, bytes: longest.bytes + [7])
        #expect(throws: AdvertisingDataError.structureTooLong(type: 0xFF, count: 255)) {
            try AdvertisingData(structures: [longer]).encode(limit: .chained)
        }
        #expect(throws: AdvertisingDataError.structureTooLong(type: 0x09, count: 255)) {
            try AdvertisingData([.localName(String(repeating: "a", count: 255))])
        }
    }

    // MARK: Both

    @Test(arguments: 0..<500)
    func `what is encoded decodes to itself`(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let elements = (0..<Int.random(in: 0...8, using: &generator)).map { _ in
            AdvertisingElement.random(using: &generator)
        }
        let packet = try AdvertisingData(elements).encode(limit: .chained)
        #expect(try AdvertisingData(decoding: packet.span).elements() == elements)
    }

    @Test(arguments: 0..<500)
    func `what decodes is encoded as it was, but for what follows the end`(_ seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let packet = (0..<Int.random(in: 0...40, using: &generator)).map { _ in
            UInt8.random(in: 0...12, using: &generator)
        }
        guard let data = try? AdvertisingData(decoding: packet.span) else { return }
        let encoded = try? data.encode(limit: .chained)
        #expect(encoded == Array(packet.prefix(data.encodedCount)))
        #expect(data.encodedCount == packet.count || packet[data.encodedCount] == 0)
    }

    @Test func `every error says what is wrong and what helps`() {
        let errors: [AdvertisingDataError] = [
            .truncated(needed: 5, available: 2), .invalidLength(type: 0x0A, count: 2), .invalidValue(type: 0x0A),
            .invalidText(type: 9), .uuidTooWide(BluetoothUUID(high: 1, low: 1)),
            .structureTooLong(type: 9, count: 255), .tooLong(count: 32, maximum: 31),
        ]
        for error in errors { #expect(error.description.split(separator: " — ").count == 2) }
    }
}

extension AdvertisingElement {
    /// Any element that can be sent.
    static func random(using generator: inout SeededGenerator) -> AdvertisingElement {
        func bytes(_ range: ClosedRange<Int>) -> [UInt8] {
            (0..<Int.random(in: range, using: &generator)).map { _ in UInt8.random(in: 0...255, using: &generator) }
        }
        func uuid(_ width: UUIDWidth) -> BluetoothUUID {
            switch width {
            case .bits16: BluetoothUUID(UInt32(UInt16.random(in: 0...UInt16.max, using: &generator)))
            case .bits32: BluetoothUUID(UInt32.random(in: 0...UInt32.max, using: &generator))
            case .bits128: BluetoothUUID(high: generator.next(), low: generator.next())
            }
        }
        let width = UUIDWidth.allCases.randomElement(using: &generator)!
        let flag = Bool.random(using: &generator)
        switch Int.random(in: 0...9, using: &generator) {
        case 0: return .flags(AdvertisingFlags(rawValue: bytes(1...1)[0]))
        case 1: return .serviceUUIDs((0..<bytes(0...6).count).map { _ in uuid(width) }, width: width, isComplete: flag)
        case 2: return .solicitedServiceUUIDs((0..<bytes(0...6).count).map { _ in uuid(width) }, width: width)
        case 3: return .serviceData(uuid(width), bytes(0...30), width: width)
        case 4: return .localName(String(decoding: bytes(0...30), as: UTF8.self), isComplete: flag)
        case 5: return .txPower(Int.random(in: -127...127, using: &generator))
        case 6: return .appearance(Appearance(rawValue: .random(in: 0...UInt16.max, using: &generator)))
        case 7: return .manufacturerData(company: UInt16.random(in: 0...UInt16.max, using: &generator), bytes(0...30))
        case 8:
            return .advertisingInterval(units: UInt32.random(in: 0...UInt32.max, using: &generator) >> (flag ? 17 : 7))
        default:
            let type = UInt8.random(in: 0x30...0xFE, using: &generator)
            return .raw(AdvertisingStructure(type: type, bytes: bytes(0...30)))
        }
    }
}
