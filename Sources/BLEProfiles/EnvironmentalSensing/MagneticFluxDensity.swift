public import BLE

/// The magnetic flux density along two perpendicular axes (GATT Specification Supplement, Magnetic Flux Density - 2D),
/// in microteslas, with a resolution of 0.1 µT.
public struct MagneticFluxDensity2D: Hashable, Codable, ValueCodable {
    /// Along the x axis, -3276.8 to 3276.7.
    public var xMicroteslas: Double
    /// Along the y axis, -3276.8 to 3276.7.
    public var yMicroteslas: Double

    /// Creates a flux density.
    public init(xMicroteslas: Double, yMicroteslas: Double) {
        self.xMicroteslas = xMicroteslas
        self.yMicroteslas = yMicroteslas
    }

    /// Two numbers of two bytes.
    public init(from reader: inout ValueReader) throws(BLEError) {
        xMicroteslas = Double(try reader.int16()) / 10
        yMicroteslas = Double(try reader.int16()) / 10
    }

    /// Two numbers of two bytes.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        try writer.rounded(xMicroteslas * 10, .int16)
        try writer.rounded(yMicroteslas * 10, .int16)
    }
}

/// The magnetic flux density along three perpendicular axes (GATT Specification Supplement, Magnetic Flux Density -
/// 3D), in microteslas, with a resolution of 0.1 µT.
public struct MagneticFluxDensity3D: Hashable, Codable, ValueCodable {
    /// Along the x axis, -3276.8 to 3276.7.
    public var xMicroteslas: Double
    /// Along the y axis, -3276.8 to 3276.7.
    public var yMicroteslas: Double
    /// Along the z axis, -3276.8 to 3276.7.
    public var zMicroteslas: Double

    /// Creates a flux density.
    public init(xMicroteslas: Double, yMicroteslas: Double, zMicroteslas: Double) {
        self.xMicroteslas = xMicroteslas
        self.yMicroteslas = yMicroteslas
        self.zMicroteslas = zMicroteslas
    }

    /// Three numbers of two bytes.
    public init(from reader: inout ValueReader) throws(BLEError) {
        xMicroteslas = Double(try reader.int16()) / 10
        yMicroteslas = Double(try reader.int16()) / 10
        zMicroteslas = Double(try reader.int16()) / 10
    }

    /// Three numbers of two bytes.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        try writer.rounded(xMicroteslas * 10, .int16)
        try writer.rounded(yMicroteslas * 10, .int16)
        try writer.rounded(zMicroteslas * 10, .int16)
    }
}
