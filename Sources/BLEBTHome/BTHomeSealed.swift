/// Encrypted objects, which can be decrypted only with the device's key: ciphertext, counter and integrity check.
public struct BTHomeSealed: Hashable, Sendable {
    /// The objects, encrypted with AES-CCM.
    public let ciphertext: [UInt8]
    /// A counter that increases with every packet. It is part of the nonce. A receiver that stores the last counter can
    /// detect repeated packets.
    public let counter: UInt32
    /// The integrity check, 4 bytes.
    public let integrityCheck: [UInt8]
    /// The packet's first byte, which is also part of the nonce.
    let information: UInt8

    init(ciphertext: [UInt8], counter: UInt32, integrityCheck: [UInt8], information: UInt8) {
        self.ciphertext = ciphertext
        self.counter = counter
        self.integrityCheck = integrityCheck
        self.information = information
    }

    /// Decodes the bytes after the first byte and the address. Returns nil if there are too few.
    init?(_ bytes: ArraySlice<UInt8>, information: UInt8) {
        guard bytes.count >= 8 else { return nil }
        let counter = bytes.suffix(8).prefix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) }
        self.init(
            ciphertext: Array(bytes.dropLast(8)), counter: counter, integrityCheck: Array(bytes.suffix(4)),
            information: information)
    }

    var bytes: [UInt8] {
        ciphertext + (0..<4).map { UInt8(truncatingIfNeeded: counter >> (8 * UInt32($0))) } + integrityCheck
    }
}
