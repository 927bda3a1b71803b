public import BLE

extension AdvertisingParameters {
    /// Parameters of an iBeacon, which is not connectable. Needs 27 bytes, or 30 with the flags.
    ///
    /// Throws `invalidValue` for a measured power that does not fit in a signed byte.
    public static func iBeacon(_ beacon: IBeacon) throws(AdvertisementFormatError) -> AdvertisingParameters {
        try .beacon(beacon)
    }

    /// Parameters of an Eddystone beacon, which is not connectable. Needs up to 28 bytes, or 31 with the flags.
    ///
    /// Throws `invalidLength` if an identity or ciphertext has an invalid length or if the address is too long, and
    /// `invalidValue` if a power, a telemetry value or an address cannot be encoded.
    public static func eddystone(_ frame: Eddystone) throws(AdvertisementFormatError) -> AdvertisingParameters {
        try .beacon(frame)
    }
}
