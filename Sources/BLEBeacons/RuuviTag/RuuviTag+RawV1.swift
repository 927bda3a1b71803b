internal import BLE

/// Data format 3 (docs.ruuvi.com, communication/bluetooth-advertisements/data-format-3-rawv1), which cannot represent
/// missing values.
extension RuuviTag {
    init(rawV1 reader: inout BigEndianReader) throws(AdvertisementFormatError) {
        self.init(format: .rawV1)
        humidityPercent = Double(reader.next(UInt8.self)) / 2
        // The number is a sign and 7 bits, not two's complement.
        let whole = reader.next(UInt8.self)
        let hundredths = Int(reader.next(UInt8.self))
        guard hundredths < 100 else { throw Self.error(.invalidValue(field: "temperature")) }
        let magnitude = Double(Int(whole & 0x7F) * 100 + hundredths) / 100
        temperatureCelsius = whole & 0x80 == 0 ? magnitude : -magnitude
        pressurePascals = Int(reader.next(UInt16.self)) + 50_000
        accelerationMilligravities = Acceleration(
            x: try Self.axis(reader.next()), y: try Self.axis(reader.next()), z: try Self.axis(reader.next()))
        batteryMillivolts = Int(reader.next(UInt16.self))
    }

    private static func axis(_ value: Int16) throws(AdvertisementFormatError) -> Int {
        try check(Int(value), -32767...32767, "acceleration")
    }

    func encodeRawV1() throws(AdvertisementFormatError) -> [UInt8] {
        func value<Value>(_ value: Value?, _ field: String) throws(AdvertisementFormatError) -> Value {
            guard let value else { throw Self.error(.invalidValue(field: field)) }
            return value
        }
        guard txPower == nil, movementCount == nil, sequenceNumber == nil, address == nil else {
            throw Self.error(.invalidValue(field: "field that format 3 does not have"))
        }
        let humidityPercent = try Self.check(value(humidityPercent, "humidity"), 2, 0...255, "humidity")
        let celsius = try value(temperatureCelsius, "temperature")
        let temperatureCelsius = try Self.check(celsius, 100, -12_799...12_799, "temperature").magnitude
        let pressurePascals = try Self.check(value(pressurePascals, "pressure"), 50_000...115_535, "pressure")
        var bytes = [
            UInt8(humidityPercent), UInt8(temperatureCelsius / 100) | (celsius.sign == .minus ? 0x80 : 0),
            UInt8(temperatureCelsius % 100),
        ]
        bytes += UInt16(pressurePascals - 50_000).bigEndianBytes
        for axis in [accelerationMilligravities.x, accelerationMilligravities.y, accelerationMilligravities.z] {
            let axis = try Self.check(value(axis, "acceleration"), -32767...32767, "acceleration")
            bytes += Int16(axis).bigEndianBytes
        }
        return bytes + UInt16(try Self.check(value(batteryMillivolts, "voltage"), 0...65535, "voltage")).bigEndianBytes
    }
}
