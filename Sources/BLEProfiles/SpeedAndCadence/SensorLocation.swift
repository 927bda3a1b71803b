public import BLE

/// The location of a cycling or running sensor (GATT Specification Supplement, Sensor Location). Other numbers are
/// reserved.
public struct SensorLocation: RawRepresentable, Hashable, Codable, ValueCodable {
    /// The number.
    public let rawValue: UInt8
    /// Creates a value with any number.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Another location.
    public static let other = SensorLocation(rawValue: 0)
    /// On top of a shoe.
    public static let topOfShoe = SensorLocation(rawValue: 1)
    /// In a shoe.
    public static let inShoe = SensorLocation(rawValue: 2)
    /// On the hip.
    public static let hip = SensorLocation(rawValue: 3)
    /// On the front wheel.
    public static let frontWheel = SensorLocation(rawValue: 4)
    /// On the left crank.
    public static let leftCrank = SensorLocation(rawValue: 5)
    /// On the right crank.
    public static let rightCrank = SensorLocation(rawValue: 6)
    /// On the left pedal.
    public static let leftPedal = SensorLocation(rawValue: 7)
    /// On the right pedal.
    public static let rightPedal = SensorLocation(rawValue: 8)
    /// On the front hub.
    public static let frontHub = SensorLocation(rawValue: 9)
    /// On the rear dropout.
    public static let rearDropout = SensorLocation(rawValue: 10)
    /// On the chainstay.
    public static let chainstay = SensorLocation(rawValue: 11)
    /// On the rear wheel.
    public static let rearWheel = SensorLocation(rawValue: 12)
    /// On the rear hub.
    public static let rearHub = SensorLocation(rawValue: 13)
    /// On the chest.
    public static let chest = SensorLocation(rawValue: 14)
    /// On the spider.
    public static let spider = SensorLocation(rawValue: 15)
    /// On the chain ring.
    public static let chainRing = SensorLocation(rawValue: 16)
}

extension SensorLocation: NamedConstants {
    static let names = consecutive(
        "other", "topOfShoe", "inShoe", "hip", "frontWheel", "leftCrank", "rightCrank", "leftPedal", "rightPedal",
        "frontHub", "rearDropout", "chainstay", "rearWheel", "rearHub", "chest", "spider", "chainRing")
}

extension Characteristic where Value == SensorLocation {
    /// The location of the sensor, in the Cycling Speed and Cadence, Running Speed and Cadence, or Cycling Power
    /// service.
    public static var sensorLocation: Self { Characteristic(BluetoothUUID(0x2A5D)) }
}
