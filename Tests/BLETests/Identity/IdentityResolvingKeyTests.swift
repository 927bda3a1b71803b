import BLE
import BLESimulation
import BLETestSupport
import Testing

@Suite struct IdentityResolvingKeyTests {
    /// The sample data of the Core Specification (5.4, volume 3, part H, appendix D.7).
    private static let bytes = Hex.bytes("ec0234a357c8ad05341010a60a397d9b")!
    private static let key = IdentityResolvingKey(bytes)!

    @Test func `the specification's sample address is resolved, and no neighbor of it`() throws {
        let address = try #require(Hex.bytes("7081940dfbaa"))
        #expect(Self.key.resolves(address))
        #expect(Self.key.address(random: 0x70_8194) == address)
        for bit in 0..<48 {
            var other = address
            other[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(!Self.key.resolves(other), "bit \(bit)")
        }
    }

    @Test func `a key in the opposite order resolves nothing of it`() throws {
        let reversed = try #require(IdentityResolvingKey(Self.bytes.reversed()))
        #expect(!reversed.resolves([0x70, 0x81, 0x94, 0x0D, 0xFB, 0xAA]))
    }

    @Test(arguments: 0..<100)
    func `the addresses of a device are resolvable, with its key alone`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let keys = try (0..<2).map { _ in
            try #require(IdentityResolvingKey((0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) }))
        }
        let address = keys[0].address(random: UInt32.random(in: 0...UInt32.max, using: &generator))
        #expect(IdentityResolvingKey.isResolvable(address))
        #expect(keys.map { $0.resolves(address) } == [true, false])
    }

    @Test(arguments: [
        ("c08194000000", false), ("008194000000", false), ("408194000000", true), ("7f8194000000", true),
        ("808194000000", false), ("4081940000", false), ("40819400000000", false), ("", false),
    ])
    func `an address is resolvable by its two highest bits`(text: String, isResolvable: Bool) throws {
        #expect(IdentityResolvingKey.isResolvable(try #require(Hex.bytes(text))) == isResolvable)
    }

    @Test(arguments: [0, 15, 17, 32])
    func `a key has 16 bytes`(count: Int) {
        #expect(IdentityResolvingKey([UInt8](repeating: 1, count: count)) == nil)
    }
}
