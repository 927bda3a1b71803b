private struct Order: ValueCodable {
    var number: UInt16
    init(from reader: inout ValueReader) throws(BLEError) { number = try reader.uint16() }
    func encode(into writer: inout ValueWriter) { writer.uint16(number) }
}
private typealias Receipt = Order
extension Characteristic where Value == [UInt8] {
    fileprivate static var orders: Self { Characteristic(BluetoothUUID(0xFF02)) }
}
