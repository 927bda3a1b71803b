import BLE
import Testing

@testable import BLECommand

/// The names of the keys of `--irk`, in a shell with several scans.
@Suite struct IdentityKeysTests {
    private static func key(_ byte: UInt8) -> IdentityResolvingKey {
        IdentityResolvingKey([UInt8](repeating: byte, count: 16))!
    }

    @Test func `keys without a name get the first names that are not in use, and keep them`() {
        var known = ["device 2": Self.key(9)]
        #expect(IdentityKeys.add([(nil, Self.key(1)), (nil, Self.key(2))], to: &known) == ["device 1", "device 3"])
        #expect(IdentityKeys.add([(nil, Self.key(2)), (nil, Self.key(3))], to: &known) == ["device 3", "device 4"])
        #expect(
            known == [
                "device 1": Self.key(1), "device 2": Self.key(9), "device 3": Self.key(2), "device 4": Self.key(3),
            ])
    }

    @Test func `a name that is given comes before those that are chosen, and has its latest key`() {
        var known = ["watch": Self.key(1)]
        let names = IdentityKeys.add(
            [(nil, Self.key(2)), ("device 1", Self.key(3)), ("watch", Self.key(4))], to: &known)
        #expect(names == ["device 1", "device 2", "watch"])
        #expect(known == ["device 1": Self.key(3), "device 2": Self.key(2), "watch": Self.key(4)])
    }
}
