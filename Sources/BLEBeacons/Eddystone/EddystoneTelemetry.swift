internal import BLE

/// The state of an Eddystone beacon (github.com/google/eddystone, eddystone-tlm/tlm-plain.md).
public struct EddystoneTelemetry: Hashable, Codable, Sendable {
    /// The battery's voltage in mV, 1 to 65535. Nil if not available.
    public var batteryMillivolts: Int?
    /// The temperature in °C, above −128 and below 128, with a resolution of 1/256. Nil if not available.
    public var temperatureCelsius: Double?
    /// The number of advertisements sent since the beacon was switched on.
    public var advertisementCount: UInt32
    /// The time since the beacon was switched on, in tenths of a second.
    public var uptimeDeciseconds: UInt32

    /// Creates telemetry.
    public init(
        batteryMillivolts: Int? = nil, temperatureCelsius: Double? = nil, advertisementCount: UInt32,
        uptimeDeciseconds: UInt32
    ) {
        self.batteryMillivolts = batteryMillivolts
        self.temperatureCelsius = temperatureCelsius
        self.advertisementCount = advertisementCount
        self.uptimeDeciseconds = uptimeDeciseconds
    }

    /// The time since the beacon was switched on.
    public var uptime: Duration { .milliseconds(100 * Int64(uptimeDeciseconds)) }

    init(_ reader: inout BigEndianReader) {
        let millivolts = reader.next(UInt16.self)
        batteryMillivolts = millivolts == 0 ? nil : Int(millivolts)
        let fixed = reader.next(Int16.self)
        temperatureCelsius = fixed == .min ? nil : Double(fixed) / 256
        advertisementCount = reader.next()
        uptimeDeciseconds = reader.next()
    }

    func encode() throws(AdvertisementFormatError) -> [UInt8] {
        guard let millivolts = UInt16(exactly: batteryMillivolts ?? 0), batteryMillivolts != 0 else {
            throw Eddystone.error(.invalidValue(field: "battery voltage"))
        }
        var fixed = Int16.min
        if let temperatureCelsius {
            guard let scaled = temperatureCelsius.scaled(256, -32767...32767) else {
                throw Eddystone.error(.invalidValue(field: "temperature"))
            }
            fixed = Int16(scaled)
        }
        return millivolts.bigEndianBytes + fixed.bigEndianBytes + advertisementCount.bigEndianBytes
            + uptimeDeciseconds.bigEndianBytes
    }
}
