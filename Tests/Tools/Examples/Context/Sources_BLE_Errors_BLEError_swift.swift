extension Characteristic where Value == UInt8 {
    fileprivate static var controlPoint: Self { Characteristic(BluetoothUUID(0xFF03)) }
}
