internal import BLE

/// Data format 5 (docs.ruuvi.com, communication/bluetooth-advertisements/data-format-5-rawv2).
extension RuuviTag {
    init(rawV2 reader: inout BigEndianReader) {
        func known<Number: FixedWidthInteger>(_ value: Number, unless unknown: Number) -> Int? {
            value == unknown ? nil : Int(value)
        }
        self.init(format: .rawV2)
        temperatureCelsius = known(reader.next(Int16.self), unless: .min).map { Double($0) / 200 }
        humidityPercent = known(reader.next(UInt16.self), unless: .max).map { Double($0) / 400 }
        pressurePascals = known(reader.next(UInt16.self), unless: .max).map { $0 + 50_000 }
        accelerationMilligravities.x = known(reader.next(Int16.self), unless: .min)
        accelerationMilligravities.y = known(reader.next(Int16.self), unless: .min)
        accelerationMilligravities.z = known(reader.next(Int16.self), unless: .min)
        let power = reader.next(UInt16.self)
        batteryMillivolts = known(power >> 5, unless: 0x7FF).map { $0 + 1600 }
        txPower = known(power & 0x1F, unless: 0x1F).map { 2 * $0 - 40 }
        movementCount = known(reader.next(UInt8.self), unless: .max)
        sequenceNumber = known(reader.next(UInt16.self), unless: .max)
        let bytes = reader.bytes(6)
        address = bytes.allSatisfy { $0 == 0xFF } ? nil : bytes
    }

    func encodeRawV2() throws(AdvertisementFormatError) -> [UInt8] {
        func int16(_ value: Int?, _ field: String) throws(AdvertisementFormatError) -> [UInt8] {
            guard let value else { return Int16.min.bigEndianBytes }
            return Int16(try Self.check(value, -32767...32767, field)).bigEndianBytes
        }
        func uint16(_ value: Int?, _ field: String) throws(AdvertisementFormatError) -> [UInt8] {
            guard let value else { return UInt16.max.bigEndianBytes }
            return UInt16(try Self.check(value, 0...65534, field)).bigEndianBytes
        }
        var bytes: [UInt8] = []
        var scaled: Int?
        if let temperatureCelsius { scaled = try Self.check(temperatureCelsius, 200, -32767...32767, "temperature") }
        bytes += try int16(scaled, "temperature")
        scaled = nil
        if let humidityPercent { scaled = try Self.check(humidityPercent, 400, 0...65534, "humidity") }
        bytes += try uint16(scaled, "humidity")
        if let pressurePascals { _ = try Self.check(pressurePascals, 50_000...115_534, "pressure") }
        bytes += try uint16(pressurePascals.map { $0 - 50_000 }, "pressure")
        for axis in [accelerationMilligravities.x, accelerationMilligravities.y, accelerationMilligravities.z] {
            bytes += try int16(axis, "acceleration")
        }
        var power: UInt16 = 0xFFFF
        if let batteryMillivolts {
            power = UInt16(try Self.check(batteryMillivolts, 1600...3646, "voltage") - 1600) << 5 | 0x1F
        }
        if let txPower {
            guard txPower.isMultiple(of: 2) else { throw Self.error(.invalidValue(field: "power")) }
            power = power & 0xFFE0 | UInt16((try Self.check(txPower, -40...20, "power") + 40) / 2)
        }
        bytes += power.bigEndianBytes
        bytes.append(
            UInt8(try Self.check(movementCount ?? 255, 0...(movementCount == nil ? 255 : 254), "movement count")))
        bytes += try uint16(sequenceNumber, "sequence number")
        let address = address ?? [UInt8](repeating: 0xFF, count: 6)
        guard address.count == 6, self.address == nil || address.contains(where: { $0 != 0xFF }) else {
            throw Self.error(.invalidValue(field: "address"))
        }
        return bytes + address
    }
}
