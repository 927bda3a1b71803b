/// Random choices, the same for the same number of an input.
struct Dice: Sendable {
    private var generator: SeededGenerator

    init(seed: UInt64, input: Int) {
        generator = SeededGenerator(seed: seed &* 0x9E37_79B9_7F4A_7C15 &+ UInt64(input) &* 0xD134_2543_DE82_EF95)
        _ = generator.next()
    }

    /// 0 ..< count.
    mutating func below(_ count: Int) -> Int { Int(generator.next() % UInt64(max(count, 1))) }

    /// True `count` times of a thousand.
    mutating func permille(_ count: Int) -> Bool { below(1000) < count }

    mutating func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }

    mutating func byte() -> UInt8 { UInt8(truncatingIfNeeded: generator.next()) }

    mutating func bytes(atMost count: Int) -> [UInt8] { (0..<below(count + 1)).map { _ in byte() } }

    /// A number, often one at the limit of a type.
    mutating func number() -> Int64 {
        switch below(4) {
        case 0: pick([0, 1, -1, 127, -128, 255, 256, 32767, -32768, 65535, 65536, .max, .min, .max - 1, .min + 1])
        case 1: Int64(below(1024)) - 512
        default: Int64(truncatingIfNeeded: generator.next())
        }
    }
}
