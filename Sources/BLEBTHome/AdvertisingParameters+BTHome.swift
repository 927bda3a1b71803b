public import BLE

extension AdvertisingParameters {
    /// Parameters of a BTHome device, which is not connectable. The objects can have up to 26 bytes, or 23 with the
    /// flags. Encryption takes 8 of them, and an address 6.
    ///
    /// The report is encrypted if ``BTHome/sealed(key:address:counter:)`` returned it.
    public static func bthome(_ report: BTHome) throws(AdvertisementFormatError) -> AdvertisingParameters {
        try .beacon(report)
    }
}
