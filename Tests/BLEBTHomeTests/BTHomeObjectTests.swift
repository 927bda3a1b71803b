import BLE
import BLEBTHome
import BLETestSupport
import Testing

@Suite struct BTHomeObjectTests {
    private static let numbers = BTHomeKind.all.compactMap { kind -> (BTHomeKind, ClosedRange<Int64>)? in
        switch kind.coding {
        case .unsigned(let count, _): (kind, 0...(1 << (8 * count)) - 1)
        case .signed(let count, _): (kind, (-1 << (8 * count - 1))...(1 << (8 * count - 1)) - 1)
        default: nil
        }
    }

    @Test func `each id is there once`() {
        #expect(Set(BTHomeKind.all.map(\.id)).count == BTHomeKind.all.count)
        for kind in BTHomeKind.all { #expect(BTHomeKind(id: kind.id) == kind) }
        #expect(BTHomeKind(id: 0xFE) == nil)
    }

    @Test(arguments: numbers)
    func `a number is encoded to the ends of its range, and not beyond`(
        _ kind: BTHomeKind, _ range: ClosedRange<Int64>
    ) throws {
        for number in [range.lowerBound, range.upperBound, 0, 1] {
            let object = try BTHomeObject(kind, .number(number))
            #expect(try BTHomeObject(kind, value: #require(object.value)) == object)
        }
        for number in [range.lowerBound - 1, range.upperBound + 1, .min, .max] {
            #expect(throws: AdvertisementFormatError("BTHome", .invalidValue(field: kind.name))) {
                try BTHomeObject(kind, .number(number))
            }
        }
        for value in [Double.nan, .infinity, -.infinity, 1e300] {
            #expect(throws: AdvertisementFormatError("BTHome", .invalidValue(field: kind.name))) {
                try BTHomeObject(kind, value: value)
            }
        }
    }

    @Test func `the content of an object must be of its kind`() throws {
        let window = try #require(BTHomeKind(id: 0x2D))
        let version = try #require(BTHomeKind(id: 0xF2))
        let battery = try #require(BTHomeKind(id: 0x01))
        let bad: [(BTHomeKind, BTHomeObject.Content)] = [
            (window, .number(1)), (battery, .flag(true)), (version, .version([1, 2, 3, 4])),
            (version, .raw([1, 2, 3])),
        ]
        for (kind, content) in bad {
            #expect(throws: AdvertisementFormatError("BTHome", .invalidValue(field: kind.name))) {
                try BTHomeObject(kind, content)
            }
        }
        #expect(throws: AdvertisementFormatError("BTHome", .invalidValue(field: "window"))) {
            try BTHomeObject(window, value: 1)
        }
        #expect(try BTHomeObject(window, .flag(true)).value == nil)
    }

    @Test func `what has a length has at most what that can tell`() throws {
        let text = try #require(BTHomeKind(id: 0x53))
        let raw = try #require(BTHomeKind(id: 0x54))
        let command = try #require(BTHomeKind(id: 0x3B))
        #expect(throws: AdvertisementFormatError("BTHome", .invalidLength(256))) {
            try BTHomeObject(text, .text(String(repeating: "ä", count: 128)))
        }
        #expect(throws: AdvertisementFormatError("BTHome", .invalidLength(256))) {
            try BTHomeObject(raw, .raw([UInt8](repeating: 0, count: 256)))
        }
        #expect(throws: AdvertisementFormatError("BTHome", .invalidLength(32))) {
            try BTHomeObject(command, .command(.on, arguments: [UInt8](repeating: 0, count: 32)))
        }
    }
}

extension BTHomeObject {
    /// Any object.
    static func random(using generator: inout SeededGenerator) throws -> BTHomeObject {
        func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) } }
        let kind = BTHomeKind.all.randomElement(using: &generator)!
        let content: Content =
            switch kind.coding {
            case .unsigned(let count, _): .number(Int64.random(in: 0..<(1 << (8 * count)), using: &generator))
            case .signed(let count, _):
                .number(Int64.random(in: (-1 << (8 * count - 1))..<(1 << (8 * count - 1)), using: &generator))
            case .flag: .flag(Bool.random(using: &generator))
            case .button: .button(BTHomeButton.allCases.randomElement(using: &generator)!)
            case .dimmer: .dimmer(BTHomeDimmer.allCases.randomElement(using: &generator)!, steps: bytes(1)[0])
            case .command:
                .command(
                    BTHomeCommand.allCases.randomElement(using: &generator)!,
                    arguments: bytes(Int.random(in: 0...31, using: &generator)))
            case .text: .text(String(decoding: bytes(Int.random(in: 0...80, using: &generator)), as: UTF8.self))
            case .raw: .raw(bytes(Int.random(in: 0...255, using: &generator)))
            case .version(let count): .version(bytes(count))
            }
        return try BTHomeObject(kind, content)
    }
}
