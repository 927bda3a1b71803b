#if BTHomeEncryption
    public import BLE

    extension BTHome {
        /// Returns the objects, decrypted if necessary.
        ///
        /// - Parameters:
        ///   - key: the device's key. Nil if it has none. With a key, an unencrypted report throws, since any device
        ///     can send one.
        ///   - address: the device's address, 6 bytes, most significant first: `Hex.bytes(peripheral.id.rawValue)` with
        ///     BlueZ. An address in the packet takes precedence.
        ///
        /// A repeated packet is decrypted again; see ``BTHomeCounter``. An unknown object and all objects after it are
        /// omitted.
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
                return try Self.objects(&rest, in: plaintext.count)
            } catch {
                throw .malformed(error)
            }
        }

        /// Returns the encrypted report. A report that is already encrypted is returned unchanged.
        ///
        /// - Parameters:
        ///   - key: the device's key.
        ///   - address: the device's address, 6 bytes, most significant first. The report's own address takes
        ///     precedence.
        ///   - counter: a number that was never used with the key.
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

        /// Creates the cipher. Its nonce is the address, the service, the first byte and the counter
        /// (bthome.io/encryption).
        private static func cipher(
            _ key: BTHomeKey, _ address: [UInt8], _ information: UInt8, _ counter: UInt32
        ) -> CounterWithCBCMAC? {
            guard address.count == 6 else { return nil }
            let counter = (0..<4).map { UInt8(truncatingIfNeeded: counter >> (8 * UInt32($0))) }
            return CounterWithCBCMAC(key: key.key, nonce: address + [0xD2, 0xFC, information] + counter)
        }
    }

    /// An error in decrypting or encrypting a BTHome report.
    public enum BTHomeEncryptionError: Error, Hashable, Sendable {
        /// The report is encrypted, but no key was given.
        case missingKey
        /// A key was given, but the report is not encrypted.
        case notEncrypted
        /// The address does not have 6 bytes.
        case invalidAddress
        /// The integrity check is wrong: the key or the address is not the sender's, or the packet was modified.
        case authenticationFailed
        /// The decrypted data does not have the required format.
        case malformed(AdvertisementFormatError)
        /// The objects are too long.
        case tooLong
    }

    extension BTHomeEncryptionError: CustomStringConvertible {
        /// A single line with the problem and a suggested remedy.
        public var description: String {
            switch self {
            case .missingKey: "the report is encrypted — pass the device's key"
            case .notEncrypted: "the report is not encrypted, although the device has a key — do not trust it"
            case .invalidAddress: "the address does not have 6 bytes — pass the device's address, not a path or a name"
            case .authenticationFailed: "the integrity check is wrong — check the key and the address"
            case .malformed(let error): error.description
            case .tooLong: "the report has more than 65535 bytes — use fewer objects"
            }
        }
    }
#endif
