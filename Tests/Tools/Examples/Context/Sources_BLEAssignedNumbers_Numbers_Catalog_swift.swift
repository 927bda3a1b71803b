extension BluetoothUUID {
    fileprivate static let monitoring = BluetoothUUID(0x7779)
    fileprivate static let charging = BluetoothUUID(0x6783)
}
