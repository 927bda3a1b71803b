public import BLE

/// How encrypted messages are, and how keys for them come about.
public struct MessageEncryption: Sendable, Hashable {
    /// How messages are sealed.
    public var mode: MessageCipher.Mode
    /// How the pairing key is derived.
    public var derivation: KeyDerivation
    /// The command that exchanges public keys.
    public var command: MessageCommand

    /// The encryption of a kind of device.
    public init(mode: MessageCipher.Mode = .bound, derivation: KeyDerivation, command: MessageCommand) {
        self.mode = mode
        self.derivation = derivation
        self.command = command
    }
}

/// Where the pairing key of one device is kept.
public protocol PairingKeys: Sendable {
    /// The key; nil when there is none. Throws `storageFailed`.
    func key() async throws(BLEError) -> MessageKey?
    /// Keeps another key, or none. Throws `storageFailed`.
    func setKey(_ key: MessageKey?) async throws(BLEError)
}

/// A pairing key that is forgotten with this object.
public actor MemoryPairingKeys: PairingKeys {
    private var current: MessageKey?

    /// No key yet, unless one is given.
    public init(_ key: MessageKey? = nil) { current = key }

    /// The key.
    public func key() -> MessageKey? { current }
    /// Another key.
    public func setKey(_ key: MessageKey?) { current = key }
}
