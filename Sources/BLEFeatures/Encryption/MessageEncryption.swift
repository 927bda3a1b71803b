public import BLE

/// The encryption of messages: its mode, and the parameters of the key exchange.
public struct MessageEncryption: Sendable, Hashable {
    /// The mode of encryption.
    public var mode: MessageCipher.Mode
    /// The derivation of the pairing key.
    public var derivation: KeyDerivation
    /// The command that exchanges public keys.
    public var command: MessageCommand

    /// Creates the encryption for a kind of device.
    public init(mode: MessageCipher.Mode = .bound, derivation: KeyDerivation, command: MessageCommand) {
        self.mode = mode
        self.derivation = derivation
        self.command = command
    }
}

/// Stores the pairing key of one device.
public protocol PairingKeys: Sendable {
    /// Returns the key. Nil if the device was never paired with, or its key was removed. Throws `storageFailed`.
    func key() async throws(BLEError) -> MessageKey?
    /// Replaces or removes the key. Throws `storageFailed`.
    func setKey(_ key: MessageKey?) async throws(BLEError)
}

/// A storage in memory for a pairing key, which lasts as long as this object.
public actor MemoryPairingKeys: PairingKeys {
    private var current: MessageKey?

    /// Creates a storage, without a key by default.
    public init(_ key: MessageKey? = nil) { current = key }

    /// Returns the key.
    public func key() -> MessageKey? { current }
    /// Replaces or removes the key.
    public func setKey(_ key: MessageKey?) { current = key }
}
