public import BLE

extension BluetoothUUID {
    /// The service of transfers over characteristics.
    public static let transfer = BluetoothUUID(high: 0x6C0A_7F10_52D1_4A6B, low: 0x9D0E_3B8F_2C71_E5A4)
    /// The characteristic that centrals write, without response.
    static let transferInput = BluetoothUUID(high: 0x6C0A_7F11_52D1_4A6B, low: 0x9D0E_3B8F_2C71_E5A4)
    /// The characteristic that notifies centrals.
    static let transferOutput = BluetoothUUID(high: 0x6C0A_7F12_52D1_4A6B, low: 0x9D0E_3B8F_2C71_E5A4)
}
