public import BLE
internal import Synchronization

extension AdvertisementFormats {
    /// BTHome v2.
    public static let bthome = AdvertisementFormats(BTHome.self)
}

#if BTHomeEncryption
    extension AdvertisementFormats {
        /// BTHome v2, with the keys of devices that encrypt their reports.
        ///
        /// ```swift
        /// let formats = AdvertisementFormats([.beacons, .bthome(keys: ["54:48:E6:8F:80:A5": bindKey])])
        /// for try await table in central.sensors(formats: formats) { print(table.sensors.flatMap(\.readings)) }
        /// ```
        ///
        /// The value of a device with a key is a ``BTHome`` with the decrypted objects. It is valid only if the key
        /// authenticates it: a report that is not encrypted, one of another sender under the address, and one that is
        /// older than the latest of the device (``BTHomeCounter``) are errors. Devices without a key are decoded as
        /// with ``bthome``, which this list replaces: of two formats of one name, the first counts.
        ///
        /// Reports are told apart by their senders: use ``BLE/Discovery/known(_:)``, or pass `from:`.
        public static func bthome(keys: [DeviceID: BTHomeKey]) -> AdvertisementFormats {
            let receiver = BTHomeReceiver(keys)
            let format = AdvertisementFormat(
                BTHome.format,
                decode: { (advertisement, sender) throws(AdvertisementFormatError) -> (BTHome, [SensorReading])? in
                    guard let report = try BTHome.decode(advertisement) else { return nil }
                    let opened = try receiver.open(report, from: sender)
                    return (opened, opened.readings)
                })
            return AdvertisementFormats([format])
        }
    }

    /// Decrypts the reports of devices, and knows the latest of each.
    private final class BTHomeReceiver: Sendable {
        private let keys: [DeviceID: BTHomeKey]
        private let counters = Mutex<[DeviceID: BTHomeCounter]>([:])

        init(_ keys: [DeviceID: BTHomeKey]) { self.keys = keys }

        /// Returns the report with its objects, that of a device without a key unchanged.
        func open(_ report: BTHome, from sender: DeviceID?) throws(AdvertisementFormatError) -> BTHome {
            guard let sender, let key = keys[sender] else { return report }
            guard case .encrypted(let sealed) = report.payload else {
                throw BTHome.error(.invalidValue(field: "encryption"))
            }
            let objects: [BTHomeObject]
            do throws(BTHomeEncryptionError) {
                objects = try report.objects(key: key, address: Hex.bytes(sender.rawValue) ?? [])
            } catch {
                switch error {
                case .malformed(let error): throw error
                case .invalidAddress: throw BTHome.error(.invalidValue(field: "address"))
                default: throw BTHome.error(.invalidValue(field: "integrity check"))
                }
            }
            guard counters.withLock({ $0[sender, default: BTHomeCounter()].accept(sealed.counter) }) != .outdated else {
                throw BTHome.error(.invalidValue(field: "counter"))
            }
            return try BTHome(objects, isTriggerBased: report.isTriggerBased, address: report.address)
        }
    }
#endif
