#if BTHomeEncryption
    internal import Crypto

    /// A device's encryption key, 16 bytes ("bind key").
    public struct BTHomeKey: Sendable {
        let key: SymmetricKey

        /// A key of its 16 bytes; nil when there are more or fewer.
        public init?(_ bytes: [UInt8]) {
            guard bytes.count == 16 else { return nil }
            key = SymmetricKey(data: bytes)
        }
    }
#endif
