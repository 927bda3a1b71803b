/// A format of advertising data that can be decoded from an advertisement.
///
/// ```swift
/// for try await found in central.discoveries() {
///     if let tag = try? RuuviTag.decode(found.advertisement) {
///         print(found.peripheral.id, tag.temperatureCelsius ?? .nan)
///     }
/// }
/// ```
///
/// `discoveries` reports each peripheral once. To receive later advertisements, decode the updates of
/// `discoveryEvents`. A custom format is a single function:
///
/// ```swift
/// struct DoorState: AdvertisementDecodable {
///     var isOpen: Bool
///
///     static func decode(_ advertisement: Advertisement) throws(AdvertisementFormatError) -> DoorState? {
///         guard let data = advertisement.manufacturerData[0xFFFF] else { return nil }
///         guard data.count == 1 else { throw AdvertisementFormatError("door", .invalidLength(data.count)) }
///         return DoorState(isOpen: data[0] == 1)
///     }
/// }
/// ```
public protocol AdvertisementDecodable: Sendable {
    /// Decodes the data of this format in `advertisement`. Returns nil if there is none. Throws if it is invalid.
    static func decode(_ advertisement: Advertisement) throws(AdvertisementFormatError) -> Self?

    /// The name of the format, and the data that has it. By default, the name of the type.
    static var format: AdvertisementFormat.Description { get }
    /// What sensors measured, with units. Empty by default.
    var readings: [SensorReading] { get }
}

extension AdvertisementDecodable {
    /// The name of the type.
    public static var format: AdvertisementFormat.Description { AdvertisementFormat.Description("\(Self.self)") }
    /// No reading.
    public var readings: [SensorReading] { [] }
}

/// A format of advertising data that can be advertised.
public protocol AdvertisementEncodable: Sendable {
    /// Adds the value to `advertisement`, replacing data of the same format. Throws if it is out of the format's range.
    func encode(into advertisement: inout Advertisement) throws(AdvertisementFormatError)
}

extension AdvertisementEncodable {
    /// Returns an advertisement that contains only this value. Throws the errors of ``encode(into:)``.
    public func advertisement() throws(AdvertisementFormatError) -> Advertisement {
        var advertisement = Advertisement()
        try encode(into: &advertisement)
        return advertisement
    }
}

/// An error in decoding or encoding advertising data.
public struct AdvertisementFormatError: Error, Hashable, Sendable {
    /// The reason for an error.
    public enum Reason: Hashable, Sendable {
        /// The data, or a part of it, has an invalid length, in bytes.
        case invalidLength(Int)
        /// The version, data format or frame type is unknown.
        case unsupportedVersion(Int)
        /// The value of the field is reserved or out of range.
        case invalidValue(field: String)
        /// The field is not valid text.
        case invalidText(field: String)
    }

    /// The format's name.
    public let format: String
    /// The reason for the error.
    public let reason: Reason

    /// Creates an error of the format with the given name.
    public init(_ format: String, _ reason: Reason) {
        self.format = format
        self.reason = reason
    }
}

extension AdvertisementFormatError: CustomStringConvertible {
    /// A single line with the problem and a suggested remedy.
    public var description: String {
        switch reason {
        case .invalidLength(let count): "\(format): data of \(count) bytes is truncated or too long — check the sender"
        case .unsupportedVersion(let version): "\(format): version \(version) is unknown — look for a newer decoder"
        case .invalidValue(let field): "\(format): the \(field) is reserved or out of range — check the sender"
        case .invalidText(let field): "\(format): the \(field) is not text — check the sender"
        }
    }
}
