public import BLE
public import BLEFeatures

extension Devices.Configuration {
    /// Smart locks: what they can do, and how their keys come about.
    ///
    /// - Parameter mode: how messages are sealed; `firmware` for locks of the first generation.
    public static func smartLock(mode: MessageCipher.Mode = .bound) throws(BLEError) -> Devices.Configuration {
        try Devices.Configuration(
            features: [LockSettings.self, LockNetwork.self, LockAccess.self],
            encryption: .smartLock(mode: mode), reassembles: true)
    }
}

extension MessageEncryption {
    /// Keys as smart locks make them.
    static func smartLock(mode: MessageCipher.Mode) -> MessageEncryption {
        MessageEncryption(
            mode: mode,
            derivation: KeyDerivation(salt: "9iac7i7zikocotce9gn3ji7lztz8rltn", info: "smartlockperipheral"),
            command: .keyExchange)
    }
}
