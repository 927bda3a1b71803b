#if BTHomeEncryption
    public import BLEProfiles

    extension BTHome {
        /// The objects, decrypted where they are encrypted.
        ///
        /// - Parameters:
        ///   - key: the device's key; nil where it has none. With a key a plain report is an error, since anybody may have sent it.
        ///   - address: the device's address, 6 bytes, the most significant first: `Hex.bytes(peripheral.id.rawValue)` with BlueZ. One in
        ///     the packet counts for more.
        ///
        /// A packet that is repeated opens again: remember ``BTHomeSealed/counter``. What follows an object that is not known
        /// here is left out.
        public func objects(key: BTHomeKey?, address: [UInt8]) throws(BTHomeEncryptionError) -> [BTHomeObject] {
            guard case .encrypted(let sealed) = payload else {
                guard key == nil else { throw .notEncrypted }
                return objects ?? []
            }
            guard let key else { throw .missingKey }
            guard let cipher = Self.cipher(key, self.address ?? address, sealed.information, sealed.counter) else {
                throw .invalidAddress
            }
            guard let plaintext = cipher.open(sealed.ciphertext, tag: sealed.integrityCheck) else {
                throw .authenticationFailed
            }
            var rest = plaintext[...]
            do throws(AdvertisementFormatError) {
                return try Self.objects(&rest)
            } catch {
                throw .malformed(error)
            }
        }

        /// The same report, encrypted; one that is encrypted already stays as it is.
        ///
        /// - Parameters:
        ///   - key: the device's key.
        ///   - address: its address, 6 bytes, the most significant first; the report's own counts for more.
        ///   - counter: one that was never used with the key.
        public func sealed(
            key: BTHomeKey, address: [UInt8], counter: UInt32
        ) throws(BTHomeEncryptionError) -> BTHome {
            guard case .plain(let objects, let rest) = payload else { return self }
            let information = information | Information.encrypted
            guard let cipher = Self.cipher(key, self.address ?? address, information, counter) else {
                throw .invalidAddress
            }
            guard let (ciphertext, tag) = cipher.seal(objects.flatMap(\.bytes) + rest) else { throw .tooLong }
            let sealed = BTHomeSealed(
                ciphertext: ciphertext, counter: counter, integrityCheck: tag, information: information)
            return BTHome(sealed, of: self)
        }

        private init(_ sealed: BTHomeSealed, of report: BTHome) {
            payload = .encrypted(sealed)
            isTriggerBased = report.isTriggerBased
            address = report.address
        }

        /// Its nonce is the address, the service, the first byte and the counter (bthome.io/encryption).
        private static func cipher(
            _ key: BTHomeKey, _ address: [UInt8], _ information: UInt8, _ counter: UInt32
        ) -> CounterWithCBCMAC? {
            guard address.count == 6 else { return nil }
            let counter = (0..<4).map { UInt8(truncatingIfNeeded: counter >> (8 * UInt32($0))) }
            return CounterWithCBCMAC(key: key.key, nonce: address + [0xD2, 0xFC, information] + counter)
        }
    }

    /// Why a BTHome report cannot be decrypted or encrypted.
    public enum BTHomeEncryptionError: Error, Hashable, Sendable {
        /// The report is encrypted, and no key was given.
        case missingKey
        /// A key was given, and the report is not encrypted.
        case notEncrypted
        /// The address has not 6 bytes.
        case invalidAddress
        /// The integrity check does not fit: the key or the address is another, or the packet was changed.
        case authenticationFailed
        /// What was encrypted is not as the format wants it.
        case malformed(AdvertisementFormatError)
        /// There are too many objects.
        case tooLong
    }

    extension BTHomeEncryptionError: CustomStringConvertible {
        /// One line: what is wrong, and what helps.
        public var description: String {
            switch self {
            case .missingKey: "the report is encrypted — give the device's key"
            case .notEncrypted: "the report is plain, though the device has a key — do not believe it"
            case .invalidAddress: "the address has not 6 bytes — give the device's own, not a path or a name"
            case .authenticationFailed: "the integrity check does not fit — check the key and the address"
            case .malformed(let error): error.description
            case .tooLong: "the report has over 65535 bytes — tell less"
            }
        }
    }
#endif
