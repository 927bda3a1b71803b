import BLE
import BLEFirmware
import BLESimulation
import BLETesting
import Testing

@Suite(.hangLimit) struct CBORTests {
    /// RFC 8949, appendix A.
    static let examples: [(String, CBOR)] = [
        ("00", 0), ("17", 23), ("1818", 24), ("1903e8", 1000), ("1a000f4240", 1_000_000),
        ("1bffffffffffffffff", .unsigned(.max)), ("3bffffffffffffffff", .negative(.max)), ("20", -1), ("3863", -100),
        ("3903e7", -1000), ("fb3ff199999999999a", .float(1.1)), ("f4", false), ("f5", true), ("f6", .null),
        ("f7", .undefined), ("f0", .simple(16)), ("f8ff", .simple(255)), ("40", .bytes([])),
        ("4401020304", .bytes([1, 2, 3, 4])), ("60", ""), ("6449455446", "IETF"), ("62c3bc", "ü"), ("80", .array([])),
        ("83010203", [1, 2, 3]), ("8301820203820405", [1, [2, 3], [4, 5]]), ("a0", .map([:])),
        ("a26161016162820203", ["a": 1, "b": [2, 3]]), ("826161a161626163", ["a", ["b": "c"]]),
    ]

    @Test(arguments: examples) func `an item has the bytes of the specification`(_ hex: String, _ item: CBOR) throws {
        #expect(Hex.string(item.encoded()) == hex)
        #expect(try CBOR(decoding: Hex.bytes(hex)!) == item)
    }

    /// RFC 8949, appendix A: forms that are only decoded.
    static let otherForms: [(String, CBOR)] = [
        ("f90000", .float(0)), ("f93c00", .float(1)), ("f97bff", .float(65504)), ("f90001", .float(0x1p-24)),
        ("f9c400", .float(-4)), ("f97c00", .float(.infinity)), ("fa47c35000", .float(100_000)),
        ("5f42010243030405ff", .bytes([1, 2, 3, 4, 5])), ("7f657374726561646d696e67ff", "streaming"),
        ("9fff", .array([])),
        ("9f018202039f0405ffff", [1, [2, 3], [4, 5]]), ("bf61610161629f0203ffff", ["a": 1, "b": [2, 3]]),
        ("c11a514b67b0", 1_363_896_240), ("1900ff", 255), ("61ff", "\u{FFFD}"),
    ]

    @Test(arguments: otherForms) func `other forms are decoded`(_ hex: String, _ item: CBOR) throws {
        #expect(try CBOR(decoding: Hex.bytes(hex)!) == item)
    }

    @Test(arguments: [
        "", "18", "1b00", "41", "5affffffff00", "5bffffffffffffffff", "62c3", "81", "9bffffffffffffffff00", "9f",
        "9f00",
        "a1", "a100", "bbffffffffffffffff", "bf", "bf00ff", "5f", "5f4101", "5f00ff", "5f5f41ffffff", "7f4101ff", "ff",
        "1c", "1f", "3f", "df", "f800", "f818", "f9", "fc", "0000", "a0ff",
    ]) func `malformed items are refused`(_ hex: String) {
        #expect(throws: CBORError.self) { try CBOR(decoding: Hex.bytes(hex)!) }
    }

    @Test func `nesting has a limit`() {
        let deep = { (count: Int) in Array(repeating: UInt8(0x81), count: count) + [0] }
        #expect(throws: Never.self) { try CBOR(decoding: deep(CBOR.maximumDepth)) }
        #expect(throws: CBORError.tooDeep) { try CBOR(decoding: deep(CBOR.maximumDepth + 1)) }
        #expect(throws: CBORError.tooDeep) { try CBOR(decoding: Array(repeating: 0x9F, count: 100_000)) }
        #expect(throws: CBORError.tooDeep) { try CBOR(decoding: Array(repeating: 0xC1, count: 100_000)) }
    }

    @Test func `of a key that a map has twice, the first value counts`() throws {
        let map = try #require(try CBOR(decoding: Hex.bytes("a2616101616102")!).map)
        #expect(map["a"] == 1)
        #expect(map["b"] == nil)
    }

    @Test func `random items are decoded as they were encoded, and no random bytes trap`() throws {
        var random = SeededGenerator(seed: 7)
        for _ in 0..<2_000 {
            let item = Self.item(&random, depth: 0)
            let bytes = item.encoded()
            #expect(try CBOR(decoding: bytes).encoded() == bytes)
            // Damaged in a few places.
            var damaged = bytes
            for _ in 0..<3 where !damaged.isEmpty {
                damaged[Int.random(in: 0..<damaged.count, using: &random)] = .random(in: 0...255, using: &random)
            }
            _ = try? CBOR(decoding: damaged)
            _ = try? CBOR(decoding: (0..<40).map { _ in .random(in: 0...255, using: &random) })
            #expect(throws: CBORError.self) { try CBOR(decoding: bytes.dropLast()) }
        }
    }

    static func item(_ random: inout SeededGenerator, depth: Int) -> CBOR {
        let count = Int.random(in: 0..<4, using: &random)
        switch Int.random(in: 0..<(depth < 4 ? 9 : 7), using: &random) {
        case 0: return .unsigned(random.next() >> UInt64.random(in: 0..<64, using: &random))
        case 1: return .negative(random.next() >> UInt64.random(in: 0..<64, using: &random))
        case 2: return .bytes((0..<count * 100).map { _ in .random(in: 0...255, using: &random) })
        case 3: return .text(String(repeating: "é", count: count * 10))
        case 4: return .bool(.random(using: &random))
        case 5: return .null
        case 6: return .float(.random(in: -1...1, using: &random))
        case 7: return .array((0..<count).map { _ in item(&random, depth: depth + 1) })
        default: return .map(CBORMap((0..<count).map { (CBOR($0), item(&random, depth: depth + 1)) }))
        }
    }
}

extension [UInt8] {
    func dropLast() -> [UInt8] { Array(self[..<Swift.max(0, count - 1)]) }
}
