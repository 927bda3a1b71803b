public import BLE

/// A format of advertising data that can be told from an advertisement.
///
/// ```swift
/// for try await found in central.discoveries() {
///     if let tag = try? RuuviTag.decode(found.advertisement) {
///         print(found.peripheral.id, tag.temperature ?? .nan)
///     }
/// }
/// ```
///
/// `discoveries` reports each peripheral once; to follow what it says, decode the updates of `discoveryEvents`. A format of your
/// own is one function:
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
    /// What `advertisement` says in this format; nil when it says nothing in it. Throws when it does, but not by the rules.
    static func decode(_ advertisement: Advertisement) throws(AdvertisementFormatError) -> Self?
}

/// A format of advertising data that can be advertised.
public protocol AdvertisementEncodable: Sendable {
    /// Adds this to `advertisement`, in place of what that says in this format. Throws when a value is out of the format's range.
    func encode(into advertisement: inout Advertisement) throws(AdvertisementFormatError)
}

extension AdvertisementEncodable {
    /// An advertisement that says this and nothing else. Throws what ``encode(into:)`` throws.
    public func advertisement() throws(AdvertisementFormatError) -> Advertisement {
        var advertisement = Advertisement()
        try encode(into: &advertisement)
        return advertisement
    }
}

/// Why advertising data is not as its format wants it.
public struct AdvertisementFormatError: Error, Hashable, Sendable {
    /// What is not as it should be.
    public enum Reason: Hashable, Sendable {
        /// The data, or a part of it, cannot have so many bytes.
        case invalidLength(Int)
        /// There is no such version, data format or type of frame.
        case unsupportedVersion(Int)
        /// The field holds a value that is reserved or out of range.
        case invalidValue(field: String)
        /// The field is not text.
        case invalidText(field: String)
    }

    /// The format's name.
    public let format: String
    /// What is wrong.
    public let reason: Reason

    /// An error of the format with that name.
    public init(_ format: String, _ reason: Reason) {
        self.format = format
        self.reason = reason
    }
}

extension AdvertisementFormatError: CustomStringConvertible {
    /// One line: what is wrong, and what helps.
    public var description: String {
        switch reason {
        case .invalidLength(let count): "\(format): data of \(count) bytes is cut or too long — check the sender"
        case .unsupportedVersion(let version): "\(format): version \(version) is not known — look for a newer decoder"
        case .invalidValue(let field): "\(format): the \(field) is reserved or out of range — check the sender"
        case .invalidText(let field): "\(format): the \(field) is not text — check the sender"
        }
    }
}
