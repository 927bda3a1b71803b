public import BLE

extension AdvertisementFormats {
    /// BTHome v2.
    public static let bthome = AdvertisementFormats(BTHome.self)
}
