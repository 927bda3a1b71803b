extension CharacteristicKey {
    fileprivate static let samples = CharacteristicKey(characteristic: BluetoothUUID(0xFF02))
}

private struct Firmware {
    func blocks(of length: Int) -> [[UInt8]] { given() }
}
private let firmware: Firmware = given()
