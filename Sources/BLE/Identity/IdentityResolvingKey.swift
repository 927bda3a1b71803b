/// A key that recognizes a device by its resolvable private addresses (identity resolving key, IRK).
///
/// Such an address changes every few minutes. Its second half is a hash of its first half, made with the key, so that
/// no other device can tell which addresses belong together (Core Specification 5.4, volume 6, part B, section
/// 1.3.2.2). A central that has the key recognizes the device: see ``Central/Configuration/identities``.
///
/// ```swift
/// let key = IdentityResolvingKey(Hex.bytes("ec0234a357c8ad05341010a60a397d9b")!)!
/// for try await found in central.discoveries() {
///     if key.resolves(found.id) { print("my watch") }
/// }
/// ```
///
/// A key is a secret of its device: it tells where the device is. It is in no description, and is not `Codable`.
public struct IdentityResolvingKey: Hashable, Sendable {
    private let cipher: AES128

    /// Creates a key from 16 bytes, most significant first, the order of the Core Specification. Returns nil for
    /// another number of bytes.
    ///
    /// The files of bluetoothd (`IdentityResolvingKey` in `info`) and Apple's keychain have the opposite order: pass
    /// `Hex.bytes(text)?.reversed()`.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == AES128.size else { return nil }
        cipher = AES128(key: bytes)
    }

    /// Whether an address is one of the device's. The address has 6 bytes, most significant first.
    ///
    /// Of the addresses of other devices, one of 2²⁴ is taken for one of this device.
    public func resolves(_ address: [UInt8]) -> Bool {
        Self.isResolvable(address) && hash(address[0], address[1], address[2]) == (address[3], address[4], address[5])
    }

    /// Whether an id is one of the device's addresses. False for an id that is not an address.
    public func resolves(_ id: DeviceID) -> Bool {
        id.isAddress && Hex.bytes(id.rawValue).map { resolves($0) } ?? false
    }

    /// Returns the device's address with the given random part, 6 bytes, most significant first: for the simulated
    /// peripherals of a test.
    ///
    /// - Parameter random: 22 bits. Higher bits are ignored.
    public func address(random: UInt32) -> [UInt8] {
        let high = UInt8(truncatingIfNeeded: random >> 16) & 0x3F | 0x40
        let (middle, low) = (UInt8(truncatingIfNeeded: random >> 8), UInt8(truncatingIfNeeded: random))
        let hash = hash(high, middle, low)
        return [high, middle, low, hash.0, hash.1, hash.2]
    }

    /// Whether an address is resolvable: it has 6 bytes, the most significant first, of which the two highest bits are
    /// 01. A public address may look the same.
    public static func isResolvable(_ address: [UInt8]) -> Bool {
        address.count == 6 && address[0] >> 6 == 0b01
    }

    /// The random address hash function ah (volume 3, part H, section 2.2.2).
    private func hash(_ high: UInt8, _ middle: UInt8, _ low: UInt8) -> (UInt8, UInt8, UInt8) {
        var block = AES128.Block()
        (block[13], block[14], block[15]) = (high, middle, low)
        block = cipher.encrypt(block)
        return (block[13], block[14], block[15])
    }
}

extension IdentityResolvingKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A description that does not contain the key.
    public var description: String { cipher.description }
    /// The same as `description`.
    public var debugDescription: String { description }
    /// A mirror without children, so that the key is not shown.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
