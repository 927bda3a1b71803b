extension CodingUserInfoKey {
    /// The central of the peripherals that a decoder reads:
    ///
    /// ```swift
    /// let decoder = JSONDecoder()
    /// decoder.userInfo[.central] = central
    /// let found = try decoder.decode([Discovery].self, from: data)
    /// ```
    public static let central = CodingUserInfoKey(rawValue: "BLE.central")!
}

/// Stored and sent as its id. Reading requires the central in the decoder's `userInfo`; see
/// ``Swift/CodingUserInfoKey/central``. Where there is none, read a ``Peripheral/ID``.
extension Peripheral: Codable {
    /// Reads a peripheral.
    public init(from decoder: any Decoder) throws {
        guard let central = decoder.userInfo[.central] as? Central else {
            throw DecodingError.valueNotFound(
                Central.self,
                DecodingError.Context(
                    codingPath: decoder.codingPath,
                    debugDescription: "a peripheral needs a central: decoder.userInfo[.central] = central"))
        }
        self = central.peripheral(try decoder.singleValueContainer().decode(ID.self))
    }

    /// Writes the id.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(id)
    }
}
