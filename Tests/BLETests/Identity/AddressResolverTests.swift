import Testing

@testable import BLE

@Suite struct AddressResolverTests {
    private let keys = (0..<3).map { IdentityResolvingKey([UInt8](repeating: $0 + 1, count: 16))! }

    private func resolver(capacity: Int = 100) -> AddressResolver<Int> {
        AddressResolver(keys.enumerated().map { (key: $0.element, device: $0.offset) }, capacity: capacity)
    }

    private func id(_ address: [UInt8]) -> DeviceID {
        DeviceID(rawValue: address.map { Hex.string([$0]) }.joined(separator: ":"))
    }

    @Test func `each device is found by any of its addresses`() {
        var resolver = resolver()
        for (index, key) in keys.enumerated() {
            for random: UInt32 in [1, 2, 0x1F_FFFF] {
                #expect(resolver.device(at: id(key.address(random: random))) == index)
            }
        }
    }

    @Test func `an address is tried once, be it of a device or not`() {
        var resolver = resolver()
        let known = id(keys[2].address(random: 7))
        for _ in 0..<10 {
            #expect(resolver.device(at: known) == 2)
            #expect(resolver.device(at: "41:00:00:00:00:01") == nil)
        }
        #expect(resolver.triedCount == 2)
    }

    @Test func `what cannot be resolved is not tried`() {
        var resolver = resolver()
        for id: DeviceID in ["C4:7C:8D:00:00:01", "00:11:22:33:44:55", "3F:00:00:00:00:01", "4", "strap", ""] {
            #expect(resolver.device(at: id) == nil)
        }
        #expect(resolver.triedCount == 0)
        var empty = AddressResolver<Int>([])
        #expect(empty.device(at: "41:00:00:00:00:01") == nil)
        #expect(empty.count == 0)
    }

    @Test func `many strangers do not displace a device that is received meanwhile, nor fill the memory`() {
        var resolver = resolver(capacity: 64)
        let known = id(keys[1].address(random: 9))
        for number in 0..<10_000 {
            let stranger = id([0x42, 0, 0, 0, UInt8(number >> 8), UInt8(number & 0xFF)])
            #expect(resolver.device(at: stranger) == nil)
            if number % 20 == 0 { #expect(resolver.device(at: known) == 1) }
            #expect(resolver.count <= 64)
        }
        // The device's address only once.
        #expect(resolver.triedCount == 10_001)
    }
}
