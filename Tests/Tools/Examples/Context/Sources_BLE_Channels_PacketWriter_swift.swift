extension Characteristic where Value == [UInt8] {
    fileprivate static var samples: Self { Characteristic(BluetoothUUID(0xFF02)) }
}

private struct Firmware {
    func blocks(of length: Int) -> [[UInt8]] { given() }
}
private let firmware: Firmware = given()
