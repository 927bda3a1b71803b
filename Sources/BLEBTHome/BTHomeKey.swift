#if BTHomeEncryption
    internal import Crypto

    /// The encryption key of a device, 16 bytes ("bind key").
    public struct BTHomeKey: Sendable {
        let key: SymmetricKey

        /// Creates a key. Returns nil unless there are 16 bytes.
        public init?(_ bytes: [UInt8]) {
            guard bytes.count == 16 else { return nil }
            key = SymmetricKey(data: bytes)
        }
    }
#endif
